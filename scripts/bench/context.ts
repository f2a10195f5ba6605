// Time of buildContext in one process on Postgres: for a large conversation against a small one, and for the small one
// against the same reads as plain prepared statements, without token counts, selection or access checks.

import pg from 'pg'
import type { Deps } from '../../src/domain/deps.ts'
import { buildContext, type BuildContextInput } from '../../src/domain/memory/context/build.ts'
import { recall } from '../../src/domain/memory/recall/recall.ts'
import { CALLS, makeConversation, question, timed, viewer, waitForVectors } from './conversation.ts'
import { format, interleave, type Figure, type Report } from './figures.ts'
import { openDeps, withDatabase, type Bench } from './services.ts'
import { sql } from '../../test/support/sql.ts'

const SMALL = 1_000
const LARGE = 100_000
const ROUNDS = 5
const RECENT = 20
const K = 10

/** Records the statements that a call sends to the database, in order. */
async function statementsOf(deps: Deps, call: () => Promise<unknown>): Promise<unknown[]> {
  const { pool } = deps
  const query = pool.query
  const sent: unknown[] = []
  pool.query = ((...args: unknown[]) => {
    sent.push(args[0])
    return (query as (...all: unknown[]) => unknown).apply(pool, args)
  }) as typeof query
  try {
    await call()
  } finally {
    pool.query = query
  }
  return sent
}

/** The minimal reads of a context with recall: the conversation, its newest turns, and the nearest vectors. */
function rawReads(pool: pg.Pool, deps: Deps, conversationId: string) {
  const columns = 't.id, t.seq, t.root_seq, t.actor, t.role, t.status, t.text, t.parts, t.token_count, t.created_at'
  const embedder = deps.embedding.serving()
  return {
    conversation: () =>
      pool.query({
        name: 'raw-conversation',
        text: 'SELECT * FROM conversation WHERE id = $1',
        values: [conversationId],
      }),
    recent: () =>
      pool.query({
        name: 'raw-recent',
        values: [conversationId, RECENT],
        text: `SELECT ${columns} FROM turn t WHERE t.conversation_id = $1 AND t.superseded_by IS NULL
             ORDER BY t.root_seq DESC, t.seq DESC LIMIT $2`,
      }),
    async nearest(query: string) {
      const [vector] = await embedder.embed([query])
      return pool.query({
        name: 'raw-nearest',
        values: [conversationId, embedder.name, `[${vector!.join()}]`, K],
        text: `SELECT ${columns} FROM (
                 SELECT root_seq, seq FROM turn_vector WHERE conversation_id = $1 AND embedder = $2
                 ORDER BY embedding <=> $3::halfvec LIMIT $4) v
               JOIN turn t ON t.conversation_id = $1 AND t.root_seq = v.root_seq AND t.seq = v.seq`,
      })
    },
  }
}

export async function context({ services, progress }: Bench): Promise<Report> {
  return withDatabase(services.databaseUrl, async (url) => {
    const { deps, close } = await openDeps(url, services.redisUrl)
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    try {
      const small = await makeConversation(deps, SMALL, progress)
      await waitForVectors(deps, small, progress)
      // Contexts of the large conversation are built without recall and need no vectors. Embedding would disturb the
      // measurement.
      await deps.embedding.stop()
      const large = await makeConversation(deps, LARGE, progress)
      await sql(pool).query('VACUUM ANALYZE')

      const build = (conversationId: string, more: Partial<BuildContextInput>) =>
        buildContext(deps, viewer, { conversationId, tokenBudget: 4_000, ...more })
      const recalling = (n: number) => ({ recentTurns: RECENT, semanticRecall: { k: K }, query: question(n) })
      const raw = rawReads(pool, deps, small)
      // 'same reads' sends the statements in sequence, because each one depends on the previous ones in a context.
      const statements = await statementsOf(deps, () => build(small, recalling(1)))
      const contestants = {
        'same reads': () =>
          timed(async () => {
            for (const statement of statements) await sql(deps.pool).query(statement as pg.QueryConfig)
          }),
        '100,000 turns': () => timed(() => build(large, {})),
        '1,000 turns': () => timed(() => build(small, {})),
        'with recall': () => timed((n) => build(small, recalling(n))),
        'raw reads': () =>
          timed(async (n) => {
            await raw.conversation()
            await raw.recent()
            await raw.nearest(question(n))
          }),
        'without recall': () => timed(() => build(small, { recentTurns: RECENT })),
        'recall alone': () =>
          timed((n) => recall(deps, viewer, { query: question(n), k: K, conversationId: small, kinds: ['TURN'] })),
        'raw nearest': () => timed((n) => raw.nearest(question(n))),
      }
      for (const warmUp of Object.values(contestants)) await warmUp()
      const medians = await interleave(ROUNDS, contestants, (message) => progress(`${message} ms`))
      const sample = await build(small, recalling(1))
      const figure = (label: string, ours: number, theirs: number, against: string, target: number | null): Figure => ({
        label,
        ours,
        theirs,
        unit: 'ms',
        better: 'smaller',
        target,
        against,
      })
      return {
        title: 'context: building a context in one process on Postgres',
        figures: [
          figure(
            'a conversation of 100,000 turns',
            medians['100,000 turns'],
            medians['1,000 turns'],
            'a conversation of 1,000 turns',
            0.67,
          ),
          figure(
            `${RECENT} recent, ${K} recalled`,
            medians['with recall'],
            medians['same reads'],
            `its ${statements.length} database statements alone`,
            0.5,
          ),
          figure(
            `${RECENT} recent, ${K} recalled`,
            medians['with recall'],
            medians['raw reads'],
            'the conversation, its newest turns, and ORDER BY <=>',
            null,
          ),
          figure(
            `${RECENT} recent, ${K} recalled`,
            medians['with recall'],
            medians['recall alone'] + medians['raw reads'] - medians['raw nearest'],
            'recall(), the conversation and its newest turns, without selection',
            null,
          ),
          figure(
            '  of which: recall',
            medians['recall alone'],
            medians['raw nearest'],
            'ORDER BY <=> in the conversation',
            null,
          ),
          figure(
            '  of which: the rest',
            medians['without recall'],
            medians['raw reads'] - medians['raw nearest'],
            'the conversation and its newest turns, raw',
            null,
          ),
        ],
        notes: [
          `Medians of ${ROUNDS} interleaved rounds of ${CALLS} calls, one at a time; budget 4,000 tokens. The `
            + `context of the second row has ${sample.messages.length} messages and ${format(sample.tokenCount)} tokens.`,
          'A ratio of 0.5 means that our time is twice the other.',
        ],
      }
    } finally {
      await pool.end()
      await close()
    }
  })
}
