// What a user of recall does over HTTP: brings conversations in, waits for their vectors, asks.

import { contentOf, type Answered, type Conversation } from './locomo.ts'

/** Turns in one call. */
const BATCH = 200
/** How often vectors are asked after, ms. */
const GLANCE_MS = 200
/** Without a new vector for so long, something is broken. */
const PATIENCE_MS = 60_000
/** Hits that are asked for: the most that is scored. */
const HITS = 20

type Failed = { code?: string; message?: string }
type Told = (done: number, total: number) => void

/** What came of all questions; of how many hits, how many had a vector. */
export type Answers = { answered: Answered[]; hits: number; withVector: number }

/** A conversation in the server: its conversation, and which turn of the file each turn there is. */
export type Imported = { conversation: Conversation; conversationId: string; ids: Map<string, string> }

export function createClient(url: string, tenant: string) {
  const headers = { 'content-type': 'application/json', 'x-tenant': tenant, 'x-actor': 'bench' }

  /** The field that was asked for. @throws Error with what the server says is wrong */
  async function ask<T>(field: string, query: string, variables: object = {}): Promise<T> {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query, variables }) })
    const { data, errors } = (await response.json()) as {
      data?: Record<string, T & Failed>
      errors?: { message: string }[]
    }
    const answer = data?.[field]
    const failure = errors?.[0]?.message ?? (answer?.code && `${answer.code}: ${answer.message}`)
    if (failure || !answer) throw new Error(`${field}: ${failure ?? `status ${response.status}`}`)
    return answer
  }

  async function importOne(conversation: Conversation, told: (turns: number) => void): Promise<Imported> {
    const { name, speakers, turns } = conversation
    const { id: conversationId } = await ask<{ id: string }>(
      'createConversation',
      `mutation ($input: CreateConversationInput!) {
      createConversation(input: $input) { ... on Conversation { id } ... on Error { code message } }
    }`,
      { input: { title: name, participants: speakers.map((actor) => ({ actor, displayName: actor })) } },
    )
    const ids = new Map<string, string>()
    for (let first = 0; first < turns.length; first += BATCH) {
      const batch = turns.slice(first, first + BATCH)
      const written = await ask<{ turns: { id: string }[] }>(
        'appendTurns',
        `mutation ($input: AppendTurnsInput!) {
        appendTurns(input: $input) { ... on AppendTurnsPayload { turns { id } } ... on Error { code message } }
      }`,
        {
          input: {
            conversationId,
            turns: batch.map((turn) => ({
              actor: turn.speaker,
              role: 'USER',
              content: contentOf(turn),
              createdAt: turn.at,
              metadata: { id: turn.id },
            })),
          },
        },
      )
      written.turns.forEach(({ id }, place) => ids.set(id, batch[place]!.id))
      told(batch.length)
    }
    return { conversation, conversationId, ids }
  }

  return {
    async import(conversations: Conversation[], told: Told): Promise<Imported[]> {
      const total = conversations.reduce((sum, { turns }) => sum + turns.length, 0)
      let done = 0
      const imported: Imported[] = []
      for (const conversation of conversations) {
        imported.push(await importOne(conversation, (turns) => told((done += turns), total)))
      }
      return imported
    },

    /** Resolves with the embedder's name once every turn there is has a vector. */
    async vectors(told: Told): Promise<string> {
      let least = Infinity
      let since = performance.now()
      for (;;) {
        const { embedder, done, remaining } = await ask<{ embedder: string; done: number; remaining: number }>(
          'embedding',
          '{ embedding { embedder done remaining } }',
        )
        told(done, done + remaining)
        if (remaining === 0) return embedder
        if (remaining < least) [least, since] = [remaining, performance.now()]
        if (performance.now() - since > PATIENCE_MS) {
          throw new Error(`${embedder} has made no vector for ${PATIENCE_MS / 1000} s; ${remaining} turns lack theirs.`)
        }
        await new Promise((resolve) => setTimeout(resolve, GLANCE_MS))
      }
    },

    /** Each question once, one after the other. */
    async answers(imported: Imported[], told: Told): Promise<Answers> {
      const total = imported.reduce((sum, { conversation }) => sum + conversation.questions.length, 0)
      const answered: Answered[] = []
      let [hits, withVector] = [0, 0]
      for (const { conversation, conversationId, ids } of imported) {
        for (const { question, category, evidence } of conversation.questions) {
          const start = performance.now()
          const found = await ask<{ hits: { similarity: number | null; memory: { id: string } }[] }>(
            'recall',
            `query ($input: RecallInput!) { recall(input: $input) {
              ... on Recall { hits { similarity memory { ... on Turn { id } } } } ... on Error { code message }
            } }`,
            { input: { query: question, conversationId, scope: 'CONVERSATION', k: HITS } },
          )
          const ms = performance.now() - start
          hits += found.hits.length
          withVector += found.hits.filter(({ similarity }) => similarity !== null).length
          answered.push({
            file: conversation.name,
            category,
            evidence,
            ms,
            found: found.hits.map(({ memory }) => ids.get(memory.id)!),
          })
          told(answered.length, total)
        }
      }
      return { answered, hits, withVector }
    },

    async remove(imported: Imported[]): Promise<void> {
      for (const { conversationId } of imported) {
        await ask(
          'deleteConversation',
          `mutation ($id: ID!) {
          deleteConversation(id: $id) { ... on ErasureReceipt { turns } ... on Error { code message } }
        }`,
          { id: conversationId },
        )
      }
    },
  }
}
