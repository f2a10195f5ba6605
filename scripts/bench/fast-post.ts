// Measures the fast path of POST requests (src/server/http/doors/graphql.ts): a server with it against one without it. The
// two servers are separate processes with otherwise equal settings on the same database, and are measured in alternating
// rounds.

import { format, interleave, median, type Report } from './figures.ts'
import type { Load, LoadResult } from './http-load.ts'
import { APPEND, fill, graphql, PAGE, type Requests } from './http-requests.ts'
import { startServer, startWorker } from './process.ts'
import { TEXT } from './raw-append.ts'
import { withDatabase, type Bench } from './services.ts'

const CONNECTIONS = 16
const ROUNDS = 9
const ROUND_MS = 1_500
/** Minimum ratio that justifies the code of a fast path. */
const MIN_GAIN = 1.5

const VIEWER = 'query Viewer { viewer { tenant actor } }'
const ONE = `query One($conversationId: ID!) { conversation(id: $conversationId) { id title turnCount lastSeq } }`

type Compared = { label: string; requests: Requests; expectedText: string; isTarget: boolean }

/** Compares our server with FAST_POST on and off: requests per second, and the server's CPU time per request. */
async function compare(
  { services: { databaseUrl, redisUrl }, progress }: Bench,
  requestsOf: (read: string[], written: string[]) => Compared[],
): Promise<Report> {
  return withDatabase(databaseUrl, async (url) => {
    const { read, written } = await fill(url, redisUrl, CONNECTIONS)
    const load = startWorker<Load, LoadResult>('./http-load.ts')
    const started: { stop(): Promise<void> }[] = [load]
    const start = async (flag: '0' | '1') => {
      const env = { DATABASE_URL: url, REDIS_URL: redisUrl, LOG_LEVEL: 'info', FAST_POST: flag }
      const server = await startServer('src/bin.ts', env)
      started.push(server)
      return server
    }
    try {
      const servers = { with: await start('1'), without: await start('0') }
      const figures: Report['figures'] = []
      for (const { label, requests, expectedText, isTarget } of requestsOf(read, written)) {
        const cpu: Record<keyof typeof servers, number[]> = { with: [], without: [] }
        const round = (name: keyof typeof servers) => async () => {
          const { port, cpuMs } = servers[name]
          const before = await cpuMs()
          const result = await load.ask({ ...requests, port, connections: CONNECTIONS, ms: ROUND_MS, expectedText })
          cpu[name].push(((await cpuMs()) - before) / result.requests)
          return result.perSecond
        }
        for (const name of ['with', 'without'] as const) await round(name)()
        cpu.with.length = 0
        cpu.without.length = 0
        const rates = await interleave(ROUNDS, { with: round('with'), without: round('without') }, (message) =>
          progress(`${label}: ${message}/s`),
        )
        const against = `the same server with FAST_POST=0`
        const target = isTarget ? MIN_GAIN : null
        const costs = { ours: median(cpu.with), theirs: median(cpu.without) }
        progress(`${label}: ${format(costs.ours)} ms per request with, ${format(costs.theirs)} ms without`)
        figures.push(
          { label, ours: rates.with, theirs: rates.without, target, against, unit: '/s', better: 'larger' },
          { label: `${label}: server CPU`, ...costs, target, against, unit: 'ms', better: 'smaller' },
        )
      }
      return {
        title: `FAST_POST: our server with FAST_POST=1 against FAST_POST=0`,
        figures,
        notes: [
          `${CONNECTIONS} keep-alive connections, medians of ${ROUNDS} interleaved rounds of ${ROUND_MS / 1_000} s.`,
        ],
      }
    } finally {
      await Promise.all(started.map((each) => each.stop()))
    }
  })
}

const idsOf = (conversations: string[]) => conversations.map((conversationId) => ({ conversationId }))

/** `npm run bench -- fast-post`: the gain of fast POST. */
export const fastPost = (bench: Bench) =>
  compare(bench, (read, written) => [
    { label: 'viewer', requests: graphql(VIEWER, [{}]), expectedText: '"actor"', isTarget: false },
    {
      label: 'one conversation, 4 fields',
      requests: graphql(ONE, idsOf(read)),
      expectedText: '"title"',
      isTarget: true,
    },
    {
      label: 'appendTurn, id and seq',
      requests: graphql(
        APPEND,
        written.map((conversationId) => ({ conversationId, text: TEXT })),
      ),
      expectedText: '"seq"',
      isTarget: true,
    },
    { label: 'a page of 50 turns', requests: graphql(PAGE, idsOf(read)), expectedText: '"seq"', isTarget: true },
  ])
