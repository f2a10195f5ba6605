// Rows over HTTP: our server against a bare node:http + `pg` server. The servers and the load generator run in
// processes of their own.

import { bare, compareResponses } from '../http.ts'
import type { Load, LoadResult } from '../http-load.ts'
import { APPEND, createConversations, fill, graphql, LIST, PAGE, type Requests } from '../http-requests.ts'
import { startServer, startWorker, untilIdle, type ServerProcess } from '../process.ts'
import { TEXT } from '../raw-append.ts'
import { HTTP_WARM_UP_MS, measure, type Measured, type Row } from '../row.ts'
import { SERVER_QUIET_MS, settle, withDatabase, type Bench } from '../services.ts'

const CONNECTIONS = 16
const ROUND_MS = 1_500

type Asked = Pick<Row, 'label' | 'against' | 'asked'>
type Side = { server: ServerProcess; sent: Requests }

export async function rowsOfHttp({ services: { databaseUrl, redisUrl }, progress }: Bench): Promise<Measured[]> {
  return withDatabase(databaseUrl, (url) =>
    withDatabase(databaseUrl, async (appendUrl) => {
      const { read, written } = await fill(url, redisUrl, CONNECTIONS)
      const limitWritten = await createConversations(appendUrl, redisUrl, CONNECTIONS)
      progress('both databases are filled')
      const load = startWorker<Load, LoadResult>('./http-load.ts')
      const started: { stop(): Promise<void> }[] = [load]
      const start = async (path: string, database: string) => {
        const server = await startServer(path, { DATABASE_URL: database, REDIS_URL: redisUrl, LOG_LEVEL: 'info' })
        started.push(server)
        return server
      }
      try {
        const server = await start('src/bin.ts', url)
        await settle(url, SERVER_QUIET_MS)
        const limit = await start('scripts/bench/http-limit.ts', url)
        const appendLimit = await start('scripts/bench/http-limit.ts', appendUrl)
        const rate =
          ({ server: { port }, sent }: Side) =>
          async () => {
            await untilIdle(server)
            const options = { port, connections: CONNECTIONS, ms: ROUND_MS, expectedText: '"seq"' }
            return (await load.ask({ ...sent, ...options })).perSecond
          }
        const row = ({ label, ...asked }: Asked, ours: Requests, theirs: Side, isRead: boolean): Row => ({
          ...{ label: `HTTP ${label}, ${CONNECTIONS} connections`, ...asked, unit: '/s', warmUpMs: HTTP_WARM_UP_MS },
          ...(isRead && {
            check: async () => void (await compareResponses([server, ours], [theirs.server, theirs.sent])),
          }),
          ours: rate({ server, sent: ours }),
          theirs: rate(theirs),
        })
        const appends = (ids: readonly string[]) => ids.map((conversationId) => ({ conversationId, text: TEXT }))
        const pages = read.map((conversationId) => ({ conversationId }))
        const rows = [
          row(
            { label: 'page of 50', against: 'bare http + pg', asked: null },
            graphql(PAGE, pages),
            { server: limit, sent: bare('/page', pages) },
            true,
          ),
          row(
            { label: '50 conversations × 20 turns', against: 'SQL that builds the JSON', asked: 0.7 },
            graphql(LIST, [{}]),
            { server: limit, sent: bare('/list', [{}]) },
            true,
          ),
          row(
            { label: 'append', against: 'bare http + pg', asked: null },
            graphql(APPEND, appends(written)),
            { server: appendLimit, sent: bare('/plain', appends(limitWritten)) },
            false,
          ),
        ]
        const measured: Measured[] = []
        for (const each of rows) measured.push(await measure(each, progress))
        return measured
      } finally {
        await Promise.all(started.map((each) => each.stop()))
      }
    }),
  )
}
