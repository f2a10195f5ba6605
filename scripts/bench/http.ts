// Requests per second over HTTP: our server against a baseline, a bare node:http + `pg` server that runs one statement
// and sends the bytes. Both servers and the load generator run in processes of their own.

import { format, interleave, type Figure, type Report } from './figures.ts'
import { openConnection } from './http-client.ts'
import type { Load, LoadResult } from './http-load.ts'
import { APPEND, fill, graphql, LIST, PAGE, TURNS, type Requests } from './http-requests.ts'
import { startServer, startWorker, type ServerProcess } from './process.ts'
import { TEXT } from './raw-append.ts'
import { SERVER_QUIET_MS, settle, withDatabase, type Bench } from './services.ts'

const CONNECTIONS = 16
const ROUNDS = 5
const ROUND_MS = 1_500

/** Requests to the baseline server, one for each body. */
export const bare = (path: string, bodies: object[]): Requests => ({
  path,
  bodies: bodies.map((body) => JSON.stringify(body)),
})

/** Throws unless both servers send the same response to their first request. Returns its size in bytes. */
export async function compareResponses(...sides: [ServerProcess, Requests][]): Promise<number> {
  const [one, other] = await Promise.all(
    sides.map(async ([{ port }, { path, bodies }]) => {
      const connection = await openConnection(port)
      const { body } = await connection.post(path, bodies[0]!)
      connection.close()
      return body.toString()
    }),
  )
  if (one !== other) throw new Error(`the responses differ:\n${one!.slice(0, 600)}\n${other!.slice(0, 600)}`)
  return Buffer.byteLength(one!)
}

export async function http({ services: { databaseUrl, redisUrl }, progress }: Bench): Promise<Report> {
  return withDatabase(databaseUrl, async (url) => {
    const { read, written } = await fill(url, redisUrl, 2 * CONNECTIONS)
    const env = { DATABASE_URL: url, REDIS_URL: redisUrl, LOG_LEVEL: 'info' }
    const load = startWorker<Load, LoadResult>('./http-load.ts')
    const started: { stop(): Promise<void> }[] = [load]
    const start = async (path: string) => {
      const server = await startServer(path, env)
      started.push(server)
      return server
    }
    try {
      const ours = await start('src/bin.ts')
      await settle(url, SERVER_QUIET_MS)
      const limit = await start('scripts/bench/http-limit.ts')
      const notes = [
        `${CONNECTIONS} keep-alive connections, medians of ${ROUNDS} interleaved rounds of ${ROUND_MS / 1_000} s.`,
      ]
      const measure = async (label: string, contestants: Record<string, [ServerProcess, Requests]>) => {
        const cpu: Record<string, string> = {}
        const runs: Record<string, () => Promise<number>> = {}
        for (const [name, [server, sent]] of Object.entries(contestants))
          runs[name] = async () => {
            const before = await server.cpuMs()
            const { perSecond, requests } = await load.ask({
              ...sent,
              port: server.port,
              connections: CONNECTIONS,
              ms: ROUND_MS,
              expectedText: '"seq"',
            })
            cpu[name] = `${name} ${format(((await server.cpuMs()) - before) / requests)} ms`
            return perSecond
          }
        for (const warmUp of Object.values(runs)) await warmUp()
        const medians = await interleave(ROUNDS, runs, (message) => progress(`${label}: ${message}/s`))
        notes.push(`${label}: server CPU per request in the last round: ${Object.values(cpu).join(', ')}.`)
        return medians
      }
      const figure = (
        label: string,
        ours: number | undefined,
        theirs: number | undefined,
        target: number | null,
        against: string,
      ): Figure => ({ label, ours: ours!, theirs: theirs!, target, against, unit: '/s', better: 'larger' })

      const appendVariables = (from: number) =>
        written.slice(from, from + CONNECTIONS).map((conversationId) => ({ conversationId, text: TEXT }))
      const appends = await measure('append', {
        ours: [ours, graphql(APPEND, appendVariables(0))],
        limit: [limit, bare('/append', appendVariables(0))],
        plain: [limit, bare('/plain', appendVariables(CONNECTIONS))],
      })

      const variables = read.map((conversationId) => ({ conversationId }))
      const page = { ours: graphql(PAGE, variables), limit: bare('/page', variables) }
      const pageBytes = await compareResponses([ours, page.ours], [limit, page.limit])
      const pages = await measure('page', { ours: [ours, page.ours], limit: [limit, page.limit] })

      const list = { ours: graphql(LIST, [{}]), limit: bare('/list', [{}]) }
      const listBytes = await compareResponses([ours, list.ours], [limit, list.limit])
      const lists = await measure('list', { ours: [ours, list.ours], limit: [limit, list.limit] })

      notes.push(
        `Both servers sent the same bytes: ${pageBytes} for a page, ${listBytes} for a list. `
          + `Appends go to ${CONNECTIONS} conversations; the conversations that are read have ${TURNS} turns each.`,
      )
      return {
        title: 'http: our server against a bare node:http + pg server',
        notes,
        figures: [
          figure('appendTurn, id and seq', appends.ours, appends.limit, 0.45, 'append_turns, the same statement'),
          figure('appendTurn, id and seq', appends.ours, appends.plain, null, 'one plain statement'),
          figure('a page of 50 turns', pages.ours, pages.limit, 0.3, 'the same bytes from one statement'),
          figure('50 conversations × last 20 turns', lists.ours, lists.limit, 0.4, 'the same bytes from one statement'),
        ],
      }
    } finally {
      await Promise.all(started.map((each) => each.stop()))
    }
  })
}
