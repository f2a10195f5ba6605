// Appends per second in one process on Postgres. Compares the domain's appendTurn with `pg` alone, which calls the same
// SQL function once per turn, or inserts each turn with a plain statement. All three use the same number of
// connections; only the domain batches concurrent appends.

import { sql } from '../../test/support/sql.ts'
import type { Pool } from '../../src/store/db/tenant-pool.ts'
import { createPool } from '../../src/store/db/db.ts'
import type { Deps } from '../../src/domain/deps.ts'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { appendTurn } from '../../src/domain/turn/append/append.ts'
import { interleave, type Figure, type Report } from './figures.ts'
import { appendByCall, insertTurn, TEXT } from './raw-append.ts'
import { openDeps, withDatabase, type Bench } from './services.ts'

/** Number of workers, each of which appends one turn at a time. */
const CONCURRENCY = 64
/** Number of database connections of each side. */
const POOL = 10
const ROUNDS = 5
const ROUND_MS = 1_000

const viewer = { tenant: 'default', actor: 'ada' }

/** Appends per second of CONCURRENCY workers in ROUND_MS. Each worker appends to one of the conversations. */
async function rate(
  conversationIds: readonly string[],
  append: (conversationId: string) => Promise<unknown>,
): Promise<number> {
  let done = 0
  const begin = performance.now()
  const until = begin + ROUND_MS
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async (_, worker) => {
      const conversationId = conversationIds[worker % conversationIds.length]!
      while (performance.now() < until) {
        await append(conversationId)
        done += 1
      }
    }),
  )
  return (done * 1_000) / (performance.now() - begin)
}

async function makeConversations(deps: Deps, count: number): Promise<string[]> {
  const conversationIds: string[] = []
  for (let index = 0; index < count; index++) {
    conversationIds.push(
      (await createConversation(deps, viewer, { participants: [{ actor: viewer.actor }] })).conversation.id,
    )
  }
  return conversationIds
}

/** Throws unless every acknowledged turn is stored, and the journals have no gaps. */
async function check(pool: Pool, conversationIds: readonly string[], acknowledged: number): Promise<void> {
  const {
    rows: [counts],
  } = await sql(pool).query<{ turns: number; gaps: number }>(
    `SELECT (SELECT count(*)::int FROM turn WHERE conversation_id = ANY ($1)) AS turns,
            (SELECT count(*)::int FROM journal j WHERE conversation_id = ANY ($1)
               AND last_seq <> (SELECT count(*) FROM entry e WHERE e.conversation_id = j.conversation_id)) AS gaps`,
    [conversationIds],
  )
  if (counts!.turns !== acknowledged || counts!.gaps > 0) {
    throw new Error(
      `${acknowledged} appends acknowledged, ${counts!.turns} stored, gaps in ${counts!.gaps} conversations`,
    )
  }
}

export async function append({ services, progress }: Bench): Promise<Report> {
  return withDatabase(services.databaseUrl, async (url) => {
    const { deps, close } = await openDeps(url, services.redisUrl)
    const onError = (error: Error) => progress(`a database connection failed: ${error.message}`)
    const pool = createPool({ databaseUrl: url, poolSize: POOL }, onError)
    try {
      const figures: Figure[] = []
      for (const { count, where, target } of [
        { count: 64, where: 'over 64 conversations', target: 1.5 },
        { count: 1, where: 'into one conversation', target: 3 },
      ]) {
        const conversationIds = await makeConversations(deps, count)
        const plainConversations = await makeConversations(deps, count)
        let acknowledged = 0
        const contestants = {
          domain: () =>
            rate(conversationIds, async (conversationId) => {
              await appendTurn(deps, viewer, { conversationId, turn: { role: 'USER', content: TEXT } })
              acknowledged += 1
            }),
          'one call each': () =>
            rate(conversationIds, async (conversationId) => {
              await appendByCall(pool, conversationId)
              acknowledged += 1
            }),
          'plain INSERT': () =>
            rate(plainConversations, async (conversationId) => {
              await insertTurn(pool, conversationId)
              acknowledged += 1
            }),
        }
        for (const warmUp of Object.values(contestants)) await warmUp()
        const medians = await interleave(ROUNDS, contestants, (message) => progress(`${where}: ${message}/s`))
        await check(deps.pool, [...conversationIds, ...plainConversations], acknowledged)
        figures.push(
          {
            label: `appends ${where}`,
            unit: '/s',
            better: 'larger',
            target,
            ours: medians.domain,
            theirs: medians['one call each'],
            against: 'raw pg, one append_turns call per turn',
          },
          {
            label: `appends ${where}`,
            unit: '/s',
            better: 'larger',
            target: null,
            ours: medians.domain,
            theirs: medians['plain INSERT'],
            against: 'raw pg, one plain statement',
          },
        )
      }
      return {
        title: `append: in one process, concurrency ${CONCURRENCY}, Postgres, pool of ${POOL}`,
        figures,
        notes: [
          `Medians of ${ROUNDS} interleaved rounds of ${ROUND_MS / 1_000} s. The domain also validates input, `
            + 'counts tokens and publishes to Redis. All acknowledged appends are stored, in journals without gaps.',
        ],
      }
    } finally {
      await pool.end()
      await close()
    }
  })
}
