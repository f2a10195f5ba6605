// Requests a second over HTTP: our server against a bare node:http + `pg` server that does one statement and sends
// bytes (the limit). Each in a process of its own, so is the load, which is the same for both.

import { format, interleave, type Figure, type Report } from './figures.ts'
import { openConnection } from './http-client.ts'
import type { Load, LoadResult } from './http-load.ts'
import { APPEND, fill, graphql, LIST, PAGE, TURNS, type Asked } from './http-requests.ts'
import { startServer, startWorker, type ServerProcess } from './process.ts'
import { TEXT } from './raw-append.ts'
import { withDatabase, type Bench } from './services.ts'

const CONNECTIONS = 16
const ROUNDS = 5
const ROUND_MS = 1_500

const bare = (path: string, bodies: object[]): Asked => ({ path, bodies: bodies.map((body) => JSON.stringify(body)) })

/** Bytes of what both answer to the first of the bodies, which must be the same. */
async function compare(...sides: [ServerProcess, Asked][]): Promise<number> {
  const [one, other] = await Promise.all(
    sides.map(async ([{ port }, { path, bodies }]) => {
      const connection = await openConnection(port)
      const { body } = await connection.post(path, bodies[0]!)
      connection.close()
      return body.toString()
    }),
  )
  if (one !== other) throw new Error(`the answers differ:\n${one!.slice(0, 600)}\n${other!.slice(0, 600)}`)
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
      const limit = await start('test/bench/http-limit.ts')
      const notes = [
        `${CONNECTIONS} keep-alive connections, medians of ${ROUNDS} interleaved rounds of ${ROUND_MS / 1_000} s.`,
      ]
      const race = async (what: string, contestants: Record<string, [ServerProcess, Asked]>) => {
        const cpu: Record<string, string> = {}
        const runs: Record<string, () => Promise<number>> = {}
        for (const [name, [server, asked]] of Object.entries(contestants))
          runs[name] = async () => {
            const before = await server.cpuMs()
            const { perSecond, requests } = await load.ask({
              ...asked,
              port: server.port,
              connections: CONNECTIONS,
              ms: ROUND_MS,
              sign: '"seq"',
            })
            cpu[name] = `${name} ${format(((await server.cpuMs()) - before) / requests)} ms`
            return perSecond
          }
        for (const warmUp of Object.values(runs)) await warmUp()
        const found = await interleave(ROUNDS, runs, (message) => progress(`${what}: ${message}/s`))
        notes.push(`${what}: server CPU a request in the last round: ${Object.values(cpu).join(', ')}.`)
        return found
      }
      const figure = (
        what: string,
        ours: number | undefined,
        theirs: number | undefined,
        target: number | null,
        against: string,
      ): Figure => ({ what, ours: ours!, theirs: theirs!, target, against, unit: '/s', better: 'larger' })

      const conversationIds = (from: number) =>
        written.slice(from, from + CONNECTIONS).map((conversationId) => ({ conversationId, text: TEXT }))
      const appends = await race('append', {
        ours: [ours, graphql(APPEND, conversationIds(0))],
        limit: [limit, bare('/append', conversationIds(0))],
        plain: [limit, bare('/plain', conversationIds(CONNECTIONS))],
      })

      const asked = read.map((conversationId) => ({ conversationId }))
      const page = { ours: graphql(PAGE, asked), limit: bare('/page', asked) }
      const pageBytes = await compare([ours, page.ours], [limit, page.limit])
      const pages = await race('page', { ours: [ours, page.ours], limit: [limit, page.limit] })

      const list = { ours: graphql(LIST, [{}]), limit: bare('/list', [{}]) }
      const listBytes = await compare([ours, list.ours], [limit, list.limit])
      const lists = await race('list', { ours: [ours, list.ours], limit: [limit, list.limit] })

      notes.push(
        `Both answered the same bytes: ${pageBytes} a page, ${listBytes} a list. `
          + `Appends go to ${CONNECTIONS} conversations; those that are read have ${TURNS} turns each.`,
      )
      return {
        title: 'http: our server against a bare node:http + pg server',
        notes,
        figures: [
          figure('appendTurn, id and seq', appends.ours, appends.limit, 0.45, 'append_turns, the same statement'),
          figure('appendTurn, id and seq', appends.ours, appends.plain, null, 'counter + INSERT, nothing else'),
          figure('a page of 50 turns', pages.ours, pages.limit, 0.3, 'the same bytes from one SQL'),
          figure('50 conversations × last 20 turns', lists.ours, lists.limit, 0.2, 'the same bytes from one SQL'),
        ],
      }
    } finally {
      await Promise.all(started.map((each) => each.stop()))
    }
  })
}
