// Bytes per turn on disk, by table, for the rows and for the indexes. The turns, with their terms and vectors, are
// written as the server writes them. docs/scale.md computes the size of larger databases from these figures.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { appendTurns } from '../../src/domain/turn/append/append.ts'
import { format, type Report } from './figures.ts'
import { textOf } from './http-requests.ts'
import { openDeps, withDatabase, type Bench } from './services.ts'

const CONVERSATIONS = 100
const TURNS = 200
const BATCH = 20
const viewer = { tenant: 'default', actor: 'ada' }
/** Tables with a smaller share of the bytes are not printed, and count only in the sum. */
const MIN_SHARE = 0.01

export async function storage({ services: { databaseUrl, redisUrl }, progress }: Bench): Promise<Report> {
  return withDatabase(databaseUrl, async (url) => {
    const { deps, close } = await openDeps(url, redisUrl)
    const client = new pg.Client(url)
    try {
      await client.connect()
      const ids: string[] = []
      for (let number = 0; number < CONVERSATIONS; number++) {
        const participants = [{ actor: 'ada' }, { actor: 'scout', kind: 'AGENT' as const }]
        ids.push((await createConversation(deps, viewer, { participants })).conversation.id)
      }
      let bytes = 0
      for (let from = 0; from < TURNS; from += BATCH) {
        for (const [position, conversationId] of ids.entries()) {
          const turns = Array.from({ length: BATCH }, (_, at) => ({
            ...(at % 2 ? { actor: 'scout', role: 'ASSISTANT' as const } : { actor: 'ada', role: 'USER' as const }),
            content: textOf(position * TURNS + from + at),
          }))
          for (const { content } of turns) bytes += Buffer.byteLength(content)
          await appendTurns(deps, viewer, { conversationId, turns })
        }
        progress(`${(from + BATCH) * CONVERSATIONS} turns`)
      }
      const count = CONVERSATIONS * TURNS
      for (;;) {
        const { remaining } = await deps.embedding.progress()
        if (remaining === 0) break
        progress(`${remaining} turns have no vector yet`)
        await sleep(2_000)
      }
      await client.query('VACUUM ANALYZE')
      const { rows } = await client.query<{ name: string; rows: number; indexes: number }>(
        `SELECT relname AS name, pg_table_size(oid)::float8 AS rows, pg_indexes_size(oid)::float8 AS indexes FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') ORDER BY pg_total_relation_size(oid) DESC`,
      )
      const total = rows.reduce((sum, each) => sum + each.rows + each.indexes, 0)
      const large = rows.filter((each) => each.rows + each.indexes >= MIN_SHARE * total)
      const figure = (label: string, ours: number) => ({
        label,
        ours: ours / count,
        theirs: bytes / count,
        against: 'the text alone',
        unit: 'bytes per turn',
        better: 'smaller' as const,
        target: null,
      })
      return {
        title: 'storage: bytes per turn on disk',
        figures: [
          figure('all tables and indexes', total),
          ...large.map((each) => figure(each.name, each.rows + each.indexes)),
        ],
        notes: [
          `${format(count)} turns of about ${format(bytes / count)} characters in ${CONVERSATIONS} conversations, with the `
            + `vectors of the embedder ${deps.embedder.name}. Tables below ${MIN_SHARE * 100} % are in the sum only.`,
          ...large.map(
            ({ name, rows: own, indexes }) =>
              `${name}: rows ${format(own / count)}, indexes ${format(indexes / count)} bytes per turn.`,
          ),
        ],
      }
    } finally {
      await client.end().catch(() => {})
      await close()
    }
  })
}
