// Four server processes on one Postgres and Redis against one: appends, their delivery to subscribers, and recalls,
// with the same number of connections and subscribers. Throws unless every acknowledged append is in the journal once,
// with its text and seq, and was delivered once to each of its subscribers.

import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, type Client } from 'graphql-ws'
import pg from 'pg'
import { WebSocket } from 'ws'
import { format, median, type Report } from './figures.ts'
import type { Load, LoadResult } from './http-load.ts'
import { fill, graphql } from './http-requests.ts'
import { startServer, startWorker, type ServerProcess, type Worker } from './process.ts'
import type { AcknowledgedTurn, Appends } from './processes-load.ts'
import { withDatabase, type Bench } from './services.ts'

const PROCESSES = 4
/** Number of connections of all writers or all readers together. */
const CONNECTIONS = 32
/** Number of conversations that are appended to, and of the subscribers of each. */
const CONVERSATIONS = 32
const SUBSCRIBERS = 4
const ROUNDS = 3
const ROUND_MS = 4_000
const DELIVERY_MS = 30_000
/** The kernel's unit of processor time, ms. */
const TICK_MS = 10

const SUBSCRIPTION = `subscription Events($conversationId: ID!, $afterSeq: Int!) {
  conversationEvents(conversationId: $conversationId, afterSeq: $afterSeq) { ... on TurnAppended { turn { seq } } }
}`
const RECALL = `query Recall($conversationId: ID!, $query: String!) {
  recall(input: { conversationId: $conversationId, query: $query }) { ... on Recall { hits { score } } }
}`

type Delivered = { data?: { conversationEvents?: { turn?: { seq: number } } }; errors?: readonly unknown[] }

/** Subscribes to each conversation, SUBSCRIBERS times, spread over the servers. */
function subscribe(servers: readonly ServerProcess[], conversations: readonly string[]) {
  /** Deliveries of each turn, by conversation and seq. */
  const deliveries = new Map<string, number>()
  const failures: unknown[] = []
  let lastArrival = 0
  const clients: Client[] = []
  for (let number = 0; number < SUBSCRIBERS; number++) {
    const { port } = servers[number % servers.length]!
    const client = createClient({ url: `ws://127.0.0.1:${port}/graphql`, webSocketImpl: WebSocket, lazy: false })
    clients.push(client)
    for (const conversationId of conversations) {
      client.subscribe<Delivered['data']>(
        { query: SUBSCRIPTION, variables: { conversationId, afterSeq: 0 } },
        {
          next({ data, errors }) {
            if (errors) failures.push(errors)
            const seq = data?.conversationEvents?.turn?.seq
            if (seq === undefined) return
            const key = `${conversationId} ${seq}`
            deliveries.set(key, (deliveries.get(key) ?? 0) + 1)
            lastArrival = performance.now()
          },
          error: (error) => failures.push(error),
          complete() {},
        },
      )
    }
  }
  return {
    lastArrival: () => lastArrival,
    /** Resolves when each turn was delivered to all subscribers. Throws if a delivery is missing or repeated. */
    async awaitAll(turns: readonly AcknowledgedTurn[]): Promise<void> {
      const isComplete = () =>
        turns.every(({ conversationId, seq }) => deliveries.get(`${conversationId} ${seq}`) === SUBSCRIBERS)
      for (const until = performance.now() + DELIVERY_MS; !isComplete() && performance.now() < until;) await sleep(50)
      if (failures.length > 0) throw new Error(`a subscription failed: ${JSON.stringify(failures[0])}`)
      const wrong = turns.filter((turn) => deliveries.get(`${turn.conversationId} ${turn.seq}`) !== SUBSCRIBERS)
      if (wrong.length > 0) throw new Error(`${wrong.length} turns were not delivered once to each subscriber`)
    },
    close: () => Promise.all(clients.map(async (client) => client.dispose())),
  }
}

/** Throws unless each acknowledged turn is stored once, and no other turn is stored. */
async function checkStored(client: pg.Client, turns: readonly AcknowledgedTurn[]): Promise<void> {
  const { rows } = await client.query<AcknowledgedTurn>(
    `SELECT e.conversation_id AS "conversationId", e.seq, t.id, t.text FROM entry e JOIN turn t ON t.id = e.turn_id
     WHERE e.kind = 'APPENDED' AND e.conversation_id = ANY ($1)`,
    [[...new Set(turns.map(({ conversationId }) => conversationId))]],
  )
  const textOf = (turn: AcknowledgedTurn) => [turn.conversationId, turn.seq, turn.id, turn.text].join(' ')
  const stored = new Set(rows.map(textOf))
  const lost = turns.filter((turn) => !stored.has(textOf(turn)))
  if (lost.length > 0) throw new Error(`${lost.length} acknowledged turns are lost`)
  if (rows.length !== turns.length) throw new Error(`${rows.length - turns.length} stored turns were not acknowledged`)
}

/** Returns the processor time of each connection to the database, ms, by process id. */
async function databaseCpu(client: pg.Client): Promise<Map<number, number>> {
  const { rows } = await client.query<{ pid: number }>(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database()',
  )
  const times = new Map<number, number>()
  for (const { pid } of rows) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
    const fields = stat?.split(') ')[1]!.split(' ')
    if (fields) times.set(pid, (Number(fields[11]) + Number(fields[12])) * TICK_MS)
  }
  return times
}

type Used = { node: number; postgres: number }

/** Runs the work, and returns the processor time that the servers and the database used, ms. */
async function withCpu<T>(servers: ServerProcess[], client: pg.Client, work: () => Promise<T>) {
  const nodeCpu = async () => (await Promise.all(servers.map((each) => each.cpuMs()))).reduce((a, b) => a + b, 0)
  const [nodeBefore, databaseBefore] = [await nodeCpu(), await databaseCpu(client)]
  const result = await work()
  const [nodeAfter, databaseAfter] = [await nodeCpu(), await databaseCpu(client)]
  let postgres = 0
  for (const [pid, time] of databaseAfter) postgres += time - (databaseBefore.get(pid) ?? 0)
  const used: Used = { node: nodeAfter - nodeBefore, postgres }
  return { result, used }
}

type Rates = Record<'append' | 'delivery' | 'recall', number[]>

export async function processes({ services: { databaseUrl, redisUrl }, progress }: Bench): Promise<Report> {
  return withDatabase(databaseUrl, async (url) => {
    const { read, written } = await fill(url, redisUrl, CONVERSATIONS)
    const client = new pg.Client(url)
    const env = { DATABASE_URL: url, REDIS_URL: redisUrl, LOG_LEVEL: 'info' }
    const started: { stop(): Promise<void> }[] = []
    const add = <T extends { stop(): Promise<void> }>(each: T): T => {
      started.push(each)
      return each
    }
    try {
      await client.connect()
      const servers: ServerProcess[] = []
      for (let number = 0; number < PROCESSES; number++) servers.push(add(await startServer('src/bin.ts', env)))
      progress(`${PROCESSES} servers are ready`)
      const writers = servers.map(() => add(startWorker<Appends, AcknowledgedTurn[]>('./processes-load.ts')))
      const readers = servers.map(() => add(startWorker<Load, LoadResult>('./http-load.ts')))
      const sets = { one: servers.slice(0, 1), several: servers }
      const rates: Record<keyof typeof sets, Rates> = {
        one: { append: [], delivery: [], recall: [] },
        several: { append: [], delivery: [], recall: [] },
      }
      const recalls = graphql(
        RECALL,
        read.map((conversationId) => ({ conversationId, query: 'When was the review of the launch done?' })),
      )
      const turns: AcknowledgedTurn[] = []
      const notes: string[] = []
      const share = (work: string, { node, postgres }: Used, count: number) =>
        `${work}: ${format(node / count)} ms of the servers' and ${format(postgres / count)} ms of Postgres' processor time `
        + `each, of which Postgres' part is ${format((100 * postgres) / (node + postgres))} %`
      for (let round = 0; round < ROUNDS; round++) {
        const names = Object.keys(sets) as (keyof typeof sets)[]
        for (const name of round % 2 ? names.toReversed() : names) {
          const set = sets[name]
          const connections = CONNECTIONS / set.length
          const all = <Question extends object, Reply>(
            workers: Worker<Question, Reply>[],
            of: (at: number) => Question,
          ) => Promise.all(set.map((_, at) => workers[at]!.ask(of(at))))

          const subscribers = subscribe(set, written)
          await sleep(1_000)
          await subscribers.awaitAll(turns)
          const begin = performance.now()
          const appended = await withCpu(set, client, async () => {
            const acknowledged = await all(writers, (at) => ({
              port: set[at]!.port,
              conversations: written,
              connections,
              ms: ROUND_MS,
              prefix: `${name} ${round} ${at}`,
            }))
            return acknowledged.flat()
          })
          const seconds = (performance.now() - begin) / 1000
          turns.push(...appended.result)
          await subscribers.awaitAll(turns)
          await subscribers.close()
          await checkStored(client, turns)
          const count = appended.result.length
          rates[name].append.push(count / seconds)
          rates[name].delivery.push((count * SUBSCRIBERS * 1000) / (subscribers.lastArrival() - begin))

          const recalled = await withCpu(set, client, () =>
            all(readers, (at) => ({
              ...recalls,
              port: set[at]!.port,
              connections,
              ms: ROUND_MS,
              expectedText: '"score"',
            })),
          )
          rates[name].recall.push(recalled.result.reduce((sum, { perSecond }) => sum + perSecond, 0))
          const recallCount = recalled.result.reduce((sum, { requests }) => sum + requests, 0)
          progress(`round ${round + 1}/${ROUNDS}, ${set.length} processes: ${count} appends, ${recallCount} recalls`)
          if (round === ROUNDS - 1) {
            notes.push(
              `${set.length === 1 ? 'One process' : `${PROCESSES} processes`}, last round: `
                + `${share('appends with deliveries', appended.used, count)}; ${share('recalls', recalled.used, recallCount)}.`,
            )
          }
        }
      }
      notes.push(
        `${CONNECTIONS} connections in all, ${CONVERSATIONS} conversations with ${SUBSCRIBERS} subscribers each, medians of `
          + `${ROUNDS} interleaved rounds of ${ROUND_MS / 1000} s. All ${turns.length} acknowledged turns are stored once, and `
          + `were delivered once to each subscriber: 0 lost.`,
      )
      const figure = (label: string, key: keyof Rates) => ({
        label,
        ours: median(rates.several[key]),
        theirs: median(rates.one[key]),
        against: 'one process',
        unit: '/s',
        better: 'larger' as const,
        target: null,
      })
      return {
        title: `processes: ${PROCESSES} server processes against one`,
        notes,
        figures: [
          figure('appends', 'append'),
          figure('deliveries to subscribers', 'delivery'),
          figure('recalls in one conversation', 'recall'),
        ],
      }
    } finally {
      await client.end().catch(() => {})
      await Promise.all(started.map((each) => each.stop()))
    }
  })
}
