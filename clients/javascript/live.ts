// Helpers of the client programs: send requests of another actor, and wait for a condition.

import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'

// Node 20 lacks the global that browsers have.
Object.assign(globalThis, { WebSocket })

/** URL of the server's GraphQL endpoint. */
export const url = `http://${process.env.COLLOQUY}/graphql`

/** Sends an operation as an actor, over plain HTTP. Returns the value of its only field. Throws on errors. */
export async function send(actor: string, query: string, variables: object = {}): Promise<any> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-actor': actor },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = (await response.json()) as { data?: Record<string, unknown>; errors?: unknown }
  if (!data || errors) throw new Error(JSON.stringify(errors))
  return Object.values(data)[0]
}

/** Waits up to 10 s until the condition is true. */
export async function until(label: string, condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition(); waited += 20) {
    if (waited > 10_000) throw new Error(`Timed out: ${label}`)
    await sleep(20)
  }
}

/** Runs a check and reports it. The first failure ends the program. */
export async function check(label: string, run: () => unknown): Promise<void> {
  try {
    await run()
  } catch (error) {
    console.log(`failed ${label}`)
    throw error
  }
  console.log(`passed ${label}`)
}

/** Creates `count` conversations of ada and bob, each with three turns by bob. Returns their ids, newest first. */
export async function createConversations(count: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 1; n <= count; n++) {
    const { conversation } = await send(
      'bob',
      `mutation ($title: String!) {
        createConversation(input: { title: $title, participants: [{ actor: "ada" }, { actor: "bob" }] }) {
          ... on CreateConversationPayload { conversation { id } }
        }
      }`,
      { title: `Conversation ${n}` },
    )
    ids.unshift(conversation.id)
    const turns = ['one', 'two', 'three'].map((content) => ({ role: 'USER', content }))
    await send(
      'bob',
      'mutation ($input: AppendTurnsInput!) { appendTurns(input: $input) { ... on AppendTurnsPayload { lastSeq } } }',
      { input: { conversationId: conversation.id, turns } },
    )
  }
  return ids
}

export const setPresence = (actor: string, conversationId: string, state: string) =>
  send(actor, 'mutation ($input: SetPresenceInput!) { setPresence(input: $input) { __typename } }', {
    input: { conversationId, state },
  })

export const rename = (actor: string, conversationId: string, title: string) =>
  send(actor, 'mutation ($input: UpdateConversationInput!) { updateConversation(input: $input) { __typename } }', {
    input: { conversationId, title },
  })

export const say = (actor: string, conversationId: string, content: string) =>
  send(actor, 'mutation ($input: AppendTurnInput!) { appendTurn(input: $input) { __typename } }', {
    input: { conversationId, turn: { role: 'USER', content } },
  })
