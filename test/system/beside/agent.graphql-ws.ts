// An agent that answers when it is mentioned, with a bare client of graphql-ws.

import type { Client } from 'graphql-ws'
import type { Model } from './agent.client.ts'
import { ask, open, type Options } from './connection.graphql-ws.ts'

const INBOX = 'subscription { inbox { reason conversationId turn { id text } } }'
const mutation = (verb: string, payload: string) => {
  const name = verb[0]!.toUpperCase() + verb.slice(1)
  return `mutation ($input: ${name}Input!) {
    ${verb}(input: $input) { ... on ${name}Payload { ${payload} } ... on UserError { code message } }
  }`
}
const CLAIM = mutation('claimTurn', 'claim { expiresAt }')
const RENEW = mutation('renewClaim', 'claim { expiresAt }')
const RELEASE = mutation('releaseClaim', 'claim { expiresAt }')
const OPEN = mutation('openTurn', 'turn { id }')
const APPEND = mutation('appendDelta', 'end')
const COMMIT = mutation('commitTurn', 'turn { id }')
const ABORT = mutation('abortTurn', 'turn { id }')

type Turn = { id: string; text: string }

async function write(client: Client, input: object, source: AsyncIterable<string>): Promise<void> {
  const writerToken = crypto.randomUUID()
  const { turn } = await ask(client, OPEN, { input: { ...input, writerToken } })
  const writing = { turnId: turn.id, writerToken }
  let start = 0
  const beat = setInterval(() => void ask(client, APPEND, { input: { ...writing, text: '' } }).catch(() => {}), 8_000)
  try {
    for await (const text of source) {
      await ask(client, APPEND, { input: { ...writing, text, start } })
      start += text.length
    }
    await ask(client, COMMIT, { input: writing })
  } catch (error) {
    await ask(client, ABORT, { input: { ...writing, reason: 'The source of the answer failed.' } }).catch(() => {})
    throw error
  } finally {
    clearInterval(beat)
  }
}

async function answer(client: Client, model: Model, conversationId: string, { id, text }: Turn, signal: AbortSignal) {
  const claim = { turnId: id, claimToken: crypto.randomUUID() }
  try {
    await ask(client, CLAIM, { input: claim })
  } catch (error) {
    if ((error as { code?: string }).code === 'CONFLICT') return
    throw error
  }
  const lost = new AbortController()
  signal.addEventListener('abort', () => lost.abort())
  const renewal = setInterval(() => {
    ask(client, RENEW, { input: claim }).catch(() => lost.abort())
  }, 20_000)
  try {
    const turn = { role: 'ASSISTANT', replyToId: id, clientId: crypto.randomUUID() }
    const opened = { conversationId, claimToken: claim.claimToken, turn }
    await write(client, opened, model(text, lost.signal))
  } catch (error) {
    await ask(client, RELEASE, { input: claim }).catch(() => {})
    throw error
  } finally {
    clearInterval(renewal)
  }
}

export async function startAgent(options: Options, model: Model, signal: AbortSignal): Promise<void> {
  const client = open(options)
  const running = new Set<string>()
  const next = ({ data }: any) => {
    const { reason, conversationId, turn } = data.inbox
    if (reason !== 'WAKE_UP' || !turn || running.has(turn.id)) return
    running.add(turn.id)
    answer(client, model, conversationId, turn, signal)
      .catch(console.error)
      .finally(() => running.delete(turn.id))
  }
  await new Promise<void>((resolve, reject) => {
    client.subscribe({ query: INBOX }, { next, error: reject, complete: resolve })
    signal.addEventListener('abort', () => resolve())
  })
  await client.dispose()
}
