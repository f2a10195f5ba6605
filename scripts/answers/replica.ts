// One process of an agent. It subscribes to the agent's inbox, claims each delivered turn, and streams its answer in
// several deltas. It knows no other process, and abandons an answer at the first refusal or timeout: the claim or the
// lease then expires, and the inbox of one process delivers the turn again. Prints a line of JSON for each step.
//
// Arguments: the tenant, the actor, then the URLs of servers (host:port), of which it uses one at a time.

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { answerTo, CLAIM_SECONDS, type Report } from './question.ts'

const [tenant = '', actor = '', ...servers] = process.argv.slice(2)
const headers = { 'x-tenant': tenant, 'x-actor': actor }
/** Maximum number of turns that are answered at the same time. */
const PARALLEL = 4
/** Time after which a request counts as unanswered, ms. */
const REQUEST_MS = 4_000
/** Maximum number of attempts to commit an answer. A server may have committed it although its response was lost. */
const COMMITS = 3
/** Pause between deltas, ms. */
const PAUSE_MS = 10

const report = (line: Report): void => void process.stdout.write(`${JSON.stringify(line)}\n`)

/** Index of the server in use. A lost connection selects the next server. */
let current = 0

/** Sends a mutation. Returns its payload; null if it was refused. Throws if it was not answered. */
async function mutate<Payload>(name: string, input: object, selection: string): Promise<Payload | null> {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
  const query = `mutation ($input: ${type}Input!) { r: ${name}(input: $input) { ... on ${type}Payload { ${selection} } ... on UserError { code } } }`
  const response = await fetch(`http://${servers[current % servers.length]}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query, variables: { input } }),
    signal: AbortSignal.timeout(REQUEST_MS),
  })
  const { data } = (await response.json()) as { data?: { r: Payload & { code?: string } } | null }
  if (!data) throw new Error(`${name} was not executed`)
  return data.r.code === undefined ? data.r : null
}

type WakeUp = { conversationId: string; turnId: string; turn: { text: string } | null }

async function answer({ conversationId, turnId, turn: question }: WakeUp): Promise<void> {
  const claimToken = randomUUID()
  const claim = await mutate('claimTurn', { turnId, claimToken, ttlSeconds: CLAIM_SECONDS }, 'claim { scope }')
  if (claim === null) return report({ refused: turnId })
  const writerToken = randomUUID()
  const turn = { role: 'ASSISTANT', replyToId: turnId }
  const opened = await mutate<{ turn: { id: string } }>(
    'openTurn',
    { conversationId, turn, writerToken, claimToken },
    'turn { id }',
  )
  if (opened === null) return report({ lost: turnId })
  const writer = { turnId: opened.turn.id, writerToken }
  let start = 0
  for (const text of answerTo(question!.text)) {
    if ((await mutate('appendDelta', { ...writer, text, start }, 'end')) === null) return report({ lost: turnId })
    if (start === 0) report({ opened: turnId })
    start += text.length
    await sleep(PAUSE_MS)
  }
  for (let attempt = 1; ; attempt++) {
    try {
      const committed = await mutate('commitTurn', writer, 'turn { status }')
      return report(committed === null ? { lost: turnId } : { answered: turnId })
    } catch (error) {
      if (attempt === COMMITS) throw error
    }
  }
}

/** Delivered turns that this process has not tried to answer yet. */
const waiting = new Map<string, WakeUp>()
let running = 0

function next(): void {
  while (running < PARALLEL && waiting.size > 0) {
    // Processes that received the same list try its turns in different orders.
    const wakeUp = [...waiting.values()][Math.floor(Math.random() * Math.min(waiting.size, 64))]!
    waiting.delete(wakeUp.turnId)
    running += 1
    void answer(wakeUp)
      .catch(() => report({ lost: wakeUp.turnId }))
      .finally(() => {
        running -= 1
        next()
      })
  }
}

const INBOX = 'subscription { inbox(reasons: [WAKE_UP]) { conversationId turnId turn { text } } }'

for (;;) {
  const client = createClient({
    url: `ws://${servers[current % servers.length]}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: headers,
    retryAttempts: 0,
    keepAlive: 1_000,
    onNonLazyError: () => {},
  })
  try {
    for await (const { data } of client.iterate<{ inbox: WakeUp }>({ query: INBOX })) {
      if (!data?.inbox.turn) continue
      waiting.set(data.inbox.turnId, data.inbox)
      next()
    }
  } catch {
    // The server ended, or the connection was lost. A new subscription delivers the turns that wait for an answer.
  }
  await Promise.resolve(client.dispose()).catch(() => {})
  current += 1
  await sleep(100)
}
