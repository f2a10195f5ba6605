// Fan-out to many subscribers of one conversation: our server against plain graphql-ws with yoga's pub/sub. Both
// receive the same mutations over HTTP and the same subscription. Our server stores each event in Postgres and
// notifies through Redis; the other server only publishes it in memory.

import { setTimeout as sleep } from 'node:timers/promises'
import { addParticipant } from '../../src/domain/conversation/participant/participant.ts'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { now, type Arrivals, type Command, type Reply, type Latencies } from './fan-out-subscribers.ts'
import { format, interleave, median, type Report } from './figures.ts'
import { openConnection, type Connection } from './http-client.ts'
import { startServer, startWorker, type ServerProcess, type Worker } from './process.ts'
import { TEXT } from './raw-append.ts'
import { openDeps, withDatabase, type Bench } from './services.ts'
import { sql } from '../../test/support/sql.ts'

export const SUBSCRIBERS = 1_000
const ROUNDS = 5
const BURST_ROUNDS = 3
/** Number of single turns in a round; one is appended every PAUSE_MS. */
const SINGLES = 60
const PAUSE_MS = 100
/** Number of deltas in a burst. Each open turn has one writer, which awaits each acknowledgement. */
export const DELTAS = 256
const WRITERS = 64
const TIMEOUT_MS = 60_000
/** Maximum number of single turns that are not acknowledged yet. */
const WAITING = 10

const SUBSCRIPTION = `subscription Conversation($conversationId: ID!) {
  conversationEvents(conversationId: $conversationId, types: [TURN_APPENDED, TURN_DELTA]) {
    __typename seq
    ... on TurnAppended { turn { id seq actor role text createdAt } }
    ... on TurnDelta { turnId start end text }
  }
}`
const APPEND = `mutation Append($conversationId: ID!, $text: String!) {
  appendTurn(input: { conversationId: $conversationId, as: "speaker", turn: { role: USER, content: $text } }) {
    ... on AppendTurnPayload { turn { id seq } }
  }
}`
const WRITER = 'the-writer-of-the-benchmark'
const OPEN = `mutation Open($conversationId: ID!) {
  openTurn(
    input: { writerToken: "${WRITER}", conversationId: $conversationId, as: "speaker", turn: { role: ASSISTANT } }
  ) { ... on OpenTurnPayload { turn { id } } }
}`
const DELTA = `mutation Delta($turn: ID!, $text: String!, $start: Int!) {
  appendDelta(input: { writerToken: "${WRITER}", turnId: $turn, text: $text, start: $start }) {
    ... on AppendDeltaPayload { end }
  }
}`

/** A server under test: its conversation, the process of all subscribers, and the open turns. */
export type FanOutSide = {
  server: ServerProcess
  conversationId: string
  subscribers: Worker<Command, Reply>
  /** Number of sockets. */
  sockets: number
  /** Open turns, and the offset at which the next delta of each starts. */
  turns: { id: string; end: number }[]
}

async function mutate<T>(connection: Connection, query: string, variables: object): Promise<T> {
  const { status, body } = await connection.post('/graphql', JSON.stringify({ query, variables }))
  const { data } = JSON.parse(body.toString()) as { data?: Record<string, T> }
  const result = data && Object.values(data)[0]
  if (status !== 200 || !result || Object.keys(result).length === 0) throw new Error(`${status} ${body}`)
  return result
}

async function withConnections<T>(
  { server }: FanOutSide,
  count: number,
  use: (open: Connection[]) => Promise<T>,
): Promise<T> {
  const connections = await Promise.all(Array.from({ length: count }, () => openConnection(server.port)))
  try {
    return await use(connections)
  } finally {
    for (const connection of connections) connection.close()
  }
}

const arrived = async ({ subscribers }: FanOutSide) =>
  (await subscribers.ask({ do: 'await', ms: TIMEOUT_MS })) as Arrivals

/** Appends a turn, and waits until every subscriber has received it. */
async function deliverTurn(side: FanOutSide): Promise<Arrivals> {
  await side.subscribers.ask({ do: 'expect', frames: 1 })
  await withConnections(side, 1, ([connection]) =>
    mutate(connection!, APPEND, { conversationId: side.conversationId, text: TEXT }),
  )
  return arrived(side)
}

/** Connects all subscribers, and checks that each of them receives a turn. */
export async function connectSubscribers(
  server: ServerProcess,
  conversationId: string,
  progress: Bench['progress'],
  sockets = SUBSCRIBERS,
): Promise<FanOutSide> {
  const subscribers = startWorker<Command, Reply>('./fan-out-subscribers.ts')
  const side: FanOutSide = { server, conversationId, subscribers, sockets, turns: [] }
  await subscribers.ask({
    do: 'open',
    port: server.port,
    query: SUBSCRIPTION,
    variables: { conversationId },
    count: sockets,
    actors: SUBSCRIBERS,
  })
  await sleep(1_000)
  const { minFrames, frames } = await deliverTurn(side)
  if (minFrames < 1 || !frames[0]?.includes('"TurnAppended"'))
    throw new Error(`some subscribers received nothing: ${frames[0]}`)
  progress(`${sockets} subscribers are connected`)
  return side
}

/**
 * Throws unless each socket received `expected` frames, each frame has the same size on all sockets, and the first
 * socket's frames pass `isValid`.
 */
function check(
  { minFrames, maxFrames, hasEqualSizes, frames }: Arrivals,
  expected: number,
  isValid: (message: Message) => boolean,
): void {
  const invalid = frames.find((frame) => !isValid(JSON.parse(frame) as Message))
  if (minFrames === expected && maxFrames === expected && hasEqualSizes && invalid === undefined) return
  const difference = invalid ?? `${minFrames} to ${maxFrames} arrived, of equal size: ${hasEqualSizes}`
  throw new Error(`each socket must receive ${expected} valid frames: ${difference}`)
}
type Message = { type: string; payload: { data?: { conversationEvents: Record<string, unknown> } } }

/** `cpu`: the server's CPU time per delivery, µs. */
export type SingleTurnResult = Latencies & { cpu: number }

/**
 * Appends SINGLES turns, one every `pauseMs`. Returns the latencies from request to arrival, ms, and the server's CPU
 * time per delivery, µs.
 */
export async function measureSingleTurns(side: FanOutSide, pauseMs = PAUSE_MS): Promise<SingleTurnResult> {
  const { server, subscribers, conversationId } = side
  await subscribers.ask({ do: 'expect', frames: SINGLES })
  const since: number[] = []
  const cpu = await server.cpuMs()
  const pending: Promise<unknown>[] = Array.from({ length: WAITING }, () => Promise.resolve())
  const begin = now()
  for (let index = 0; index < SINGLES; index++) {
    await sleep(Math.max(0, begin + index * pauseMs - now()))
    since.push(now())
    // Unacknowledged turns delay the next one, and the delay counts as latency. Each turn has its own connection,
    // because servers close a connection that is idle for 5 s.
    const slot = index % WAITING
    pending[slot] = pending[slot]!.then(() =>
      withConnections(side, 1, ([connection]) => mutate(connection!, APPEND, { conversationId, text: TEXT })),
    )
    // Promise.all throws the failure at the end.
    pending[slot].catch(() => {})
  }
  await Promise.all(pending)
  check(
    await arrived(side),
    SINGLES,
    ({ type, payload }) => type === 'next' && (payload.data!.conversationEvents.turn as { text: string }).text === TEXT,
  )
  const used = (await server.cpuMs()) - cpu
  const latencies = (await subscribers.ask({ do: 'latencies', since })) as Latencies
  return { ...latencies, cpu: (used * 1_000) / (SINGLES * side.sockets) }
}

/** `rate`: deltas delivered per second, from the first request to the last arrival; `cpu`: as in SingleTurnResult. */
export type BurstResult = { rate: number; cpu: number }

/** Appends DELTAS deltas by WRITERS concurrent writers, each of which appends one delta after the other. */
export async function measureBurst(side: FanOutSide): Promise<BurstResult> {
  const { server, subscribers, turns } = side
  // A feed checks the database when no entry was announced for 5 s, and may then send two deltas as one. The turn
  // prevents a check during the burst.
  await deliverTurn(side)
  await subscribers.ask({ do: 'expect', frames: DELTAS })
  const sent = new Map<string, string>(turns.map(({ id }) => [id, '']))
  const starts = new Map(turns.map(({ id, end }) => [id, end]))
  const cpu = await server.cpuMs()
  let remaining = DELTAS
  let begin = 0
  await withConnections(side, turns.length, (connections) => {
    begin = now()
    return Promise.all(
      turns.map(async (turn, index) => {
        while (remaining > 0) {
          const text = ` token ${remaining--}`
          await mutate(connections[index]!, DELTA, { turn: turn.id, text, start: turn.end })
          turn.end += text.length
          sent.set(turn.id, sent.get(turn.id)! + text)
        }
      }),
    )
  })
  const result = await arrived(side)
  const used = (await server.cpuMs()) - cpu
  // The received deltas of each turn are contiguous, and joined they equal the text sent.
  const received = new Map<string, string>()
  check(result, DELTAS, ({ type, payload }) => {
    const { turnId, start, end, text } = payload.data!.conversationEvents as Delta
    const before = received.get(turnId) ?? ''
    received.set(turnId, before + text)
    return type === 'next' && start === starts.get(turnId)! + before.length && end === start + text.length
  })
  for (const [turn, text] of sent)
    if ((received.get(turn) ?? '') !== text) throw new Error(`the received text of turn ${turn} is not the text sent`)
  const deliveries = DELTAS * side.sockets
  return { rate: (deliveries * 1_000) / (result.lastArrival - begin), cpu: (used * 1_000) / deliveries }
}
type Delta = { turnId: string; start: number; end: number; text: string }

export async function openTurns(side: FanOutSide): Promise<void> {
  await withConnections(side, 1, async ([connection]) => {
    for (let index = 0; index < WRITERS; index++) {
      const { turn } = await mutate<{ turn: { id: string } }>(connection!, OPEN, {
        conversationId: side.conversationId,
      })
      side.turns.push({ id: turn.id, end: 0 })
    }
  })
}

/** Creates the conversation that the subscribers follow, with one participant for each of SUBSCRIBERS. */
export async function makeConversation(databaseUrl: string, redisUrl: string): Promise<string> {
  const { deps, close } = await openDeps(databaseUrl, redisUrl)
  const viewer = { tenant: 'default', actor: 'speaker' }
  const participants = Array.from({ length: SUBSCRIBERS }, (_, index) => ({ actor: `reader-${index}` }))
  // Compaction is off, because its events would be counted as deliveries.
  const {
    conversation: { id },
  } = await createConversation(deps, viewer, { participants, compaction: { strategy: 'NEVER' }, automaticTitle: false })
  await addParticipant(deps, viewer, { conversationId: id, participant: { actor: 'speaker', kind: 'AGENT' } })
  await sql(deps.pool).query('VACUUM ANALYZE')
  await close()
  return id
}

/** A server of this repository, and variables of its environment. */
export type OtherServer = { path: string; env?: Record<string, string> }

/** Starts our server and the other server, connects that many subscribers to each, and runs `use`. */
export async function withSides<T>(
  { services: { databaseUrl, redisUrl }, progress }: Bench,
  sockets: number,
  other: OtherServer,
  use: (sides: { ours: FanOutSide; theirs: FanOutSide }) => Promise<T>,
): Promise<T> {
  return withDatabase(databaseUrl, async (url) => {
    const conversationId = await makeConversation(url, redisUrl)
    const started: { stop(): Promise<void> }[] = []
    const start = async ({ path, env }: OtherServer) => {
      // A long lease keeps the turns open while the other server is measured.
      const common = { DATABASE_URL: url, REDIS_URL: redisUrl, LOG_LEVEL: 'info', STREAM_LEASE_SECONDS: '3600' }
      const server = await startServer(path, { ...common, ...env })
      started.push(server)
      const side = await connectSubscribers(server, conversationId, (line) => progress(`${path}: ${line}`), sockets)
      started.push(side.subscribers)
      return side
    }
    try {
      return await use({ ours: await start({ path: 'src/bin.ts' }), theirs: await start(other) })
    } finally {
      await Promise.all(started.map((each) => each.stop()))
    }
  })
}

export async function fanOut(bench: Bench): Promise<Report> {
  const { progress } = bench
  return withSides(bench, SUBSCRIBERS, { path: 'scripts/bench/fan-out-plain.ts' }, async ({ ours, theirs }) => {
    const sides = { ours, plain: theirs }
    progress('warming up')
    for (const side of Object.values(sides)) await measureSingleTurns(side, PAUSE_MS / 2)
    const results = { ours: [] as SingleTurnResult[], plain: [] as SingleTurnResult[] }
    const cpuOf = (name: 'ours' | 'plain') => async () => {
      const result = await measureSingleTurns(sides[name])
      results[name].push(result)
      progress(`${name}: p50 ${format(result.p50)} ms, p99 ${format(result.p99)} ms`)
      return result.cpu
    }
    const cpu = await interleave(ROUNDS, { ours: cpuOf('ours'), plain: cpuOf('plain') }, (message) =>
      progress(`single turns: ${message} µs per delivery`),
    )
    const p99 = (name: 'ours' | 'plain') => median(results[name].map((each) => each.p99))

    const burstCpu = { ours: [] as number[], plain: [] as number[] }
    const rateOf = (name: 'ours' | 'plain') => async () => {
      const result = await measureBurst(sides[name])
      burstCpu[name].push(result.cpu)
      return result.rate
    }
    for (const side of Object.values(sides)) await openTurns(side)
    await sleep(1_000)
    await measureBurst(sides.ours)
    const rate = await interleave(BURST_ROUNDS, { ours: rateOf('ours'), plain: rateOf('plain') }, (message) =>
      progress(`bursts of deltas: ${message} deliveries/s`),
    )

    const against = 'graphql-ws + yoga pub/sub, in memory'
    const cost = { unit: 'µs', better: 'smaller', against } as const
    return {
      title: `fan-out: ${SUBSCRIBERS} WebSocket subscribers of one conversation`,
      figures: [
        { label: 'single turns: server CPU per delivery', ours: cpu.ours, theirs: cpu.plain, target: 3.5, ...cost },
        {
          label: 'single turns: p99 latency',
          ours: p99('ours'),
          theirs: p99('plain'),
          unit: 'ms',
          better: 'smaller',
          target: 2,
          against,
        },
        {
          label: 'bursts of deltas: deliveries',
          ours: rate.ours,
          theirs: rate.plain,
          unit: '/s',
          better: 'larger',
          target: 10,
          against,
        },
        {
          label: 'bursts of deltas: server CPU per delivery',
          ours: median(burstCpu.ours),
          theirs: median(burstCpu.plain),
          target: null,
          ...cost,
        },
      ],
      notes: [
        `Medians of ${ROUNDS} interleaved rounds, ${BURST_ROUNDS} of bursts. Single turns: ${SINGLES} per round, `
          + `${1_000 / PAUSE_MS} per second, from sending the mutation to each arrival. The CPU time is that of `
          + 'the whole server process, including appends and Redis.',
        `A burst is ${DELTAS} deltas by ${WRITERS} writers, each with an open turn of its own and awaiting each `
          + 'acknowledgement, so that no two deltas are merged; measured from the first request to the last arrival.',
        'Deliveries are frames on sockets. Every socket received exactly one frame per event, of the same size; the '
          + 'frames of the first socket were checked against the text sent.',
      ],
    }
  })
}
