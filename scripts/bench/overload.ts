// The served rate at 1, 2 and 3 times the capacity: requests arrive at a fixed rate, whether or not earlier ones are
// answered. Prints the time of the served requests and the memory of the server.

import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { format, median, type Figure, type Report } from './figures.ts'
import type { Load, LoadResult } from './http-load.ts'
import { APPEND, fill, graphql, PAGE } from './http-requests.ts'
import type { OpenLoad, OpenLoadResult } from './overload-load.ts'
import { startServer, startWorker, type ServerProcess } from './process.ts'
import { TEXT } from './raw-append.ts'
import { withDatabase, type Bench } from './services.ts'

/** Number of connections that measure the capacity, one request at a time each: enough to keep every queue busy. */
const CONNECTIONS = 64
const CAPACITY_MS = 3_000
const WARM_UP_MS = 3_000
const ROUND_MS = 5_000
const ROUNDS = 3
/** Pause after an overload, ms, in which the server raises its limit of concurrent requests again. */
const REST_MS = 6_000
const FACTORS = [1, 2, 3]
/** Minimum served rate at 3 times the capacity, as a share of the highest served rate. */
const TARGET = 0.9

const RECALL = `query Recall($conversationId: ID!, $query: String!) {
  recall(input: { conversationId: $conversationId, query: $query }) { ... on Recall { hits { score } } }
}`

/** Memory of the process, in MB. */
async function rssOf({ pid }: ServerProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]) / 1024
}

/** Runs the work, and returns the maximum memory of the server meanwhile, in MB. */
async function watchMemory<T>(server: ServerProcess, work: Promise<T>): Promise<{ result: T; peak: number }> {
  let peak = 0
  let isDone = false
  const watching = (async () => {
    while (!isDone) {
      peak = Math.max(peak, await rssOf(server))
      await sleep(200)
    }
  })()
  const result = await work.finally(() => (isDone = true))
  await watching
  return { result, peak }
}

export async function overload({ services: { databaseUrl, redisUrl }, progress }: Bench): Promise<Report> {
  return withDatabase(databaseUrl, async (url) => {
    const { read, written } = await fill(url, redisUrl, 64)
    const appends = graphql(
      APPEND,
      written.map((conversationId) => ({ conversationId, text: TEXT })),
    ).bodies
    const pages = graphql(
      PAGE,
      read.map((conversationId) => ({ conversationId })),
    ).bodies
    const recalls = graphql(
      RECALL,
      read.map((conversationId) => ({ conversationId, query: 'When was the review of the launch done?' })),
    ).bodies
    const mixed = appends.flatMap((body, at) => [body, pages[at % pages.length]!, body, recalls[at % recalls.length]!])
    const figures: Figure[] = []
    const notes = [
      `Capacity: the rate of ${CONNECTIONS} connections that each send one request after the other. Each rate: the median `
        + `of ${ROUNDS} rounds of ${ROUND_MS / 1000} s after ${WARM_UP_MS / 1000} s of the same load. The load generator and `
        + 'Postgres share the processors with the server.',
    ]
    const server = await startServer('src/bin.ts', { DATABASE_URL: url, REDIS_URL: redisUrl, LOG_LEVEL: 'info' })
    const closed = startWorker<Load, LoadResult>('./http-load.ts')
    const open = startWorker<OpenLoad, OpenLoadResult>('./overload-load.ts')
    try {
      for (const [name, bodies] of Object.entries({
        'appends, a page and a recall': mixed,
        'appends alone': appends,
      })) {
        const closedLoad = {
          port: server.port,
          path: '/graphql',
          bodies,
          connections: CONNECTIONS,
          expectedText: '"data"',
        }
        await closed.ask({ ...closedLoad, ms: 2 * CAPACITY_MS })
        const capacity = (await closed.ask({ ...closedLoad, ms: CAPACITY_MS })).perSecond
        progress(`${name}: capacity ${format(capacity)}/s`)
        const served: Record<number, number[]> = {}
        for (let round = 0; round < ROUNDS; round++) {
          for (const factor of round % 2 ? FACTORS.toReversed() : FACTORS) {
            const load = { port: server.port, bodies, perSecond: capacity * factor, warmUpMs: WARM_UP_MS, ms: ROUND_MS }
            const { result, peak } = await watchMemory(server, open.ask(load))
            ;(served[factor] ??= []).push(result.served)
            const line =
              `${name}, ${factor} × capacity: sent ${format(result.sent)}/s, served ${format(result.served)}/s, refused `
              + `${format(result.refused)}/s, p50 ${format(result.p50)} ms, p99 ${format(result.p99)} ms, memory of the `
              + `server ${format(peak)} MB, not sent ${result.unsent}, failed ${result.failed}`
            progress(line)
            if (round === ROUNDS - 1) notes.push(`${line}.`)
            if (result.failed > 0) throw new Error(result.failure!)
            await sleep(REST_MS)
          }
        }
        const best = Math.max(capacity, ...FACTORS.map((factor) => median(served[factor]!)))
        for (const factor of FACTORS) {
          figures.push({
            label: `${name}, ${factor} × capacity`,
            ours: median(served[factor]!),
            theirs: best,
            against: 'the best rate',
            unit: '/s',
            better: 'larger',
            target: factor === 1 ? null : TARGET,
          })
        }
      }
    } finally {
      await Promise.all([server, closed, open].map((each) => each.stop()))
    }
    return { title: 'overload: the served rate beyond the capacity', figures, notes }
  })
}
