// The clients of a run, which record their requests and the answers: writers and streaming writers, which repeat
// unanswered calls; readers of history; and subscribers over WebSocket and Server-Sent Events, which resume.

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient as createSseClient } from 'graphql-sse'
import { createClient as createSocketClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import type { Random } from '../attacks/random.ts'
import type { Member } from './cluster.ts'
import type { Append, Event, Operation, SeenTurn, Stream, Subscription } from './history.ts'

export const ACTORS = ['ada', 'bob', 'cleo', 'dan']
/** Time after which a client considers a request unanswered, ms. */
const REQUEST_MS = 5_000

/**
 * Returns a random text that redaction leaves unchanged: it has no digits, and no letters that could form "pin" or
 * another word after which redaction removes a value.
 */
const word = () => randomUUID().replaceAll(/\d/g, (digit) => 'ghjkmqrvxz'[Number(digit)]!)

export type Conversation = { id: string; tenant: string }

export type Run = {
  members: readonly Member[]
  conversations: readonly Conversation[]
  random: Random
  /** The headers, or fields of connection_init, that authenticate the actor. */
  credentials(tenant: string, actor: string): Record<string, string>
  operations: Operation[]
  /** Whether clients must start no further operations. */
  isOver(): boolean
  /** Whether clients must stop repeating unanswered operations, because the time to recover is over. */
  isPastRecovery(): boolean
}

/** Sends an operation with one field. Throws unless it is answered without errors. */
export async function send<T>(
  { members, random, credentials }: Pick<Run, 'members' | 'random' | 'credentials'>,
  { tenant }: { tenant: string },
  actor: string,
  query: string,
  variables: object,
): Promise<T> {
  const response = await fetch(`http://${random.pick(members).url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...credentials(tenant, actor) },
    body: JSON.stringify({ query, variables }),
    signal: AbortSignal.timeout(REQUEST_MS),
  })
  const { data, errors } = (await response.json()) as { data?: { r: T } | null; errors?: unknown }
  if (!data || errors) throw new Error(JSON.stringify(errors))
  return data.r
}

/** Repeats `call` until it is answered. Returns null if the client gives up after a failure. */
async function answerTo<T>(call: () => Promise<T>, givesUp: () => boolean): Promise<T | null> {
  for (;;) {
    try {
      return await call()
    } catch {
      if (givesUp()) return null
      await sleep(50)
    }
  }
}

const APPEND = `mutation ($input: AppendTurnInput!) {
  r: appendTurn(input: $input) { ... on AppendTurnPayload { turn { id seq } } ... on UserError { code message } }
}`
type Answer = { turn?: { id: string; seq: number }; code?: string; message?: string }

/**
 * Appends one turn and records it.
 * - `refusable`: sends an outdated expectedLastSeq, so that the server refuses the turn.
 * - `twice`: a second request with the same clientId is sent at the same time.
 */
export async function append(
  run: Run,
  conversation: Conversation,
  {
    audience = null,
    refusable = false,
    twice = false,
    givesUp = () => false,
  }: Partial<{ audience: string[] | null; refusable: boolean; twice: boolean; givesUp: () => boolean }> = {},
): Promise<Append> {
  const actor = run.random.pick(ACTORS)
  const operation: Append = {
    type: 'append',
    conversation: conversation.id,
    actor,
    text: `${actor} says ${word()}`,
    clientId: randomUUID(),
    audience,
    invokedAt: performance.now(),
    endedAt: null,
    outcome: 'unknown',
  }
  run.operations.push(operation)
  const turn = { role: 'USER', content: operation.text, clientId: operation.clientId, ...(audience && { audience }) }
  const input = { conversationId: conversation.id, turn, ...(refusable && { expectedLastSeq: 1 }) }
  const request = () => send<Answer>(run, conversation, actor, APPEND, { input })
  if (twice) void request().catch(() => {})
  const answer = await answerTo(request, () => run.isPastRecovery() || givesUp())
  operation.endedAt = performance.now()
  if (answer?.turn) Object.assign(operation, { outcome: 'ok', turnId: answer.turn.id, seq: answer.turn.seq })
  else if (answer) operation.outcome = 'failed'
  return operation
}

/** Appends turns to random conversations until the run is over. */
export async function write(run: Run): Promise<void> {
  const { random } = run
  while (!run.isOver()) {
    await append(run, random.pick(run.conversations), {
      audience: random.chance(0.1) ? [random.pick(ACTORS)] : null,
      refusable: random.chance(0.02),
      twice: random.chance(0.05),
      givesUp: () => random.chance(0.05),
    })
    await sleep(random.below(40))
  }
}

const OPEN = `mutation ($input: OpenTurnInput!) {
  r: openTurn(input: $input) { ... on OpenTurnPayload { turn { id seq } } ... on UserError { code message } }
}`
const DELTA = `mutation ($input: AppendDeltaInput!) {
  r: appendDelta(input: $input) { ... on AppendDeltaPayload { end } ... on UserError { code message } }
}`
const COMMIT = `mutation ($input: CommitTurnInput!) {
  r: commitTurn(input: $input) { ... on CommitTurnPayload { turn { id } } ... on UserError { code message } }
}`
const ABORT = `mutation ($input: AbortTurnInput!) {
  r: abortTurn(input: $input) { ... on AbortTurnPayload { turn { id } } ... on UserError { code message } }
}`

/** Writes one streaming turn: commits it, aborts it, or stops, so that its lease expires. */
async function stream(run: Run, conversation: Conversation): Promise<void> {
  const { random } = run
  const actor = random.pick(ACTORS)
  const writerToken = randomUUID()
  const operation: Stream = {
    type: 'stream',
    conversation: conversation.id,
    actor,
    text: '',
    clientId: randomUUID(),
    invokedAt: performance.now(),
    endedAt: null,
    outcome: 'unknown',
    acknowledged: 0,
    end: 'unknown',
  }
  run.operations.push(operation)
  const call = (query: string, input: object) =>
    answerTo(
      () => send<Answer & { end?: number }>(run, conversation, actor, query, { input: { writerToken, ...input } }),
      run.isPastRecovery,
    )
  const turn = { role: 'ASSISTANT', clientId: operation.clientId }
  const opened = await call(OPEN, { conversationId: conversation.id, turn })
  operation.endedAt = performance.now()
  if (!opened) return
  if (!opened.turn) return void (operation.outcome = 'failed')
  Object.assign(operation, { outcome: 'ok', turnId: opened.turn.id, seq: opened.turn.seq })
  const turnId = opened.turn.id
  for (let left = 5 + random.below(30); left > 0; left--) {
    const text = `${word().slice(0, 4 + random.below(20))} `
    const start = operation.text.length
    operation.text += text
    const answer = await call(DELTA, { turnId, text, start })
    if (answer?.end === undefined) return // The lease of the turn expired during a fault.
    operation.acknowledged = answer.end
    await sleep(random.below(30))
  }
  if (random.chance(0.1)) return
  const aborts = random.chance(0.15)
  const ended = await call(aborts ? ABORT : COMMIT, { turnId })
  if (ended?.turn) operation.end = aborts ? 'aborted' : 'committed'
}

/** Writes streaming turns in random conversations until the run is over. */
export async function writeStreams(run: Run): Promise<void> {
  while (!run.isOver()) {
    await stream(run, run.random.pick(run.conversations))
    await sleep(run.random.below(200))
  }
}

const READ = `query ($id: ID!, $last: Int!) {
  r: conversation(id: $id) { turns(last: $last) { nodes { id seq text } pageInfo { hasPreviousPage } } }
}`
type Page = { turns: { nodes: { id: string; seq: number; text: string }[]; pageInfo: { hasPreviousPage: boolean } } }

/** Reads pages of random conversations until the run is over. */
export async function read(run: Run): Promise<void> {
  const { random } = run
  while (!run.isOver()) {
    const conversation = random.pick(run.conversations)
    const viewer = random.pick(ACTORS)
    const invokedAt = performance.now()
    const variables = { id: conversation.id, last: 1 + random.below(50) }
    const page = await send<Page>(run, conversation, viewer, READ, variables).catch(() => null)
    if (page) {
      const turns: SeenTurn[] = page.turns.nodes.map(({ id, ...turn }) => ({ turnId: id, ...turn }))
      run.operations.push({
        type: 'read',
        conversation: conversation.id,
        viewer,
        invokedAt,
        endedAt: performance.now(),
        after: page.turns.pageInfo.hasPreviousPage ? turns[0]!.seq - 1 : 0,
        turns,
        complete: true,
      })
    }
    await sleep(50 + random.below(100))
  }
}

const FOLLOW = `subscription ($id: ID!, $after: Int!) {
  conversationEvents(conversationId: $id, afterSeq: $after) {
    type: __typename
    seq
    ... on TurnAppended { turn { id text status } }
    ... on TurnOpened { turn { id text status } }
    ... on TurnCommitted { turn { id text status } }
    ... on TurnAborted { turn { id text status } }
    ... on TurnDelta { turnId start end text }
  }
}`
type Received = {
  conversationEvents: { type: string; seq: number | null; turn?: { id: string; text: string; status: string } }
}

const toEvent = ({ turn, ...event }: Received['conversationEvents']): Event =>
  event.seq === null
    ? (event as Event)
    : {
        seq: event.seq,
        type: event.type,
        turn: turn ? { turnId: turn.id, text: turn.text, status: turn.status } : null,
      }

export type Subscriber = { subscription: Subscription; last(): number; stop(): void }

/** Follows a conversation from its first entry. After each disconnection, resumes on the next server. */
export function subscribe(
  { members, credentials }: Run,
  conversation: Conversation,
  viewer: string,
  transport: 'socket' | 'stream',
  first: number,
): Subscriber {
  const subscription: Subscription = {
    type: 'subscription',
    name: `${viewer} by ${transport}`,
    conversation: conversation.id,
    viewer,
    sessions: [],
  }
  let last = 0
  let stopped = false
  let dispose: () => unknown = () => {}
  void (async () => {
    for (let attempt = first; !stopped; attempt++) {
      const { url } = members[attempt % members.length]!
      const headers = credentials(conversation.tenant, viewer)
      const client =
        transport === 'socket'
          ? createSocketClient({
              url: `ws://${url}/graphql`,
              webSocketImpl: WebSocket,
              retryAttempts: 0,
              connectionParams: headers,
              connectionAckWaitTimeout: REQUEST_MS,
              onNonLazyError: () => {},
            })
          : createSseClient({ url: `http://${url}/graphql`, headers, retryAttempts: 0 })
      dispose = () => client.dispose()
      const session = { after: last, events: [] as Event[] }
      subscription.sessions.push(session)
      const payload = { query: FOLLOW, variables: { id: conversation.id, after: last } }
      try {
        for await (const { data } of client.iterate<Received>(payload)) {
          if (!data) break
          const event = toEvent(data.conversationEvents)
          last = event.seq ?? last
          session.events.push(event)
        }
      } catch {
        // The server is down or the connection was cut.
      }
      await Promise.resolve(client.dispose()).catch(() => {})
      await sleep(50)
    }
  })()
  return {
    subscription,
    last: () => last,
    stop() {
      stopped = true
      void Promise.resolve(dispose()).catch(() => {})
    },
  }
}
