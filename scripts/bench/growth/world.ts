// The database of all series, and functions that fill it through the domain's verbs, with vectors of the embedder in
// corpus.ts.

import pg from 'pg'
import { createConversation } from '../../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../../src/domain/deps.ts'
import { appendTurns } from '../../../src/domain/turn/append/append.ts'
import { sql } from '../../../test/support/sql.ts'
import { DIMENSION, embedder, words, WORDS_A_QUERY, WORDS_A_TURN } from '../corpus.ts'
import { openDeps, withDatabase, type Bench } from '../services.ts'

export const viewer = { tenant: 'default', actor: 'ada' }

export type World = { deps: Deps; pool: pg.Pool; url: string; progress: Bench['progress'] }

/** Runs `use` on an empty database. Stops the configured embedder, which would embed the turns again. */
export async function withWorld<T>({ services, progress }: Bench, use: (world: World) => Promise<T>): Promise<T> {
  return withDatabase(services.databaseUrl, async (url) => {
    const { deps: opened, close } = await openDeps(url, services.redisUrl)
    await opened.embedding.stop()
    const deps: Deps = { ...opened, embedding: { ...opened.embedding, serving: () => embedder } }
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    try {
      await sql(pool).query('INSERT INTO embedder (name, dimension) VALUES ($1, $2)', [embedder.name, DIMENSION])
      return await use({ deps, pool, url, progress })
    } finally {
      await pool.end()
      await close()
    }
  })
}

/** Updates the planner's statistics after the tables were filled. */
export const settle = ({ pool }: World) => sql(pool).query('VACUUM ANALYZE')

/** Creates a conversation with that many participants, without compaction and automatic titles. Returns its id. */
export async function createUncompacted({ deps }: World, participants = 2): Promise<string> {
  const others = Array.from({ length: participants - 1 }, (_, at) => ({ actor: `reader-${at}` }))
  const input = { participants: [{ actor: 'ada' }, ...others], compaction: { strategy: 'NEVER' as const } }
  return (await createConversation(deps, viewer, { ...input, automaticTitle: false })).conversation.id
}

/** Appends that many turns in one call. */
export async function appendSome({ deps }: World, conversationId: string, count: number): Promise<void> {
  const turns = Array.from({ length: count }, () => ({ role: 'USER' as const, content: words(WORDS_A_TURN) }))
  await appendTurns(deps, viewer, { conversationId, turns })
}

const queries = Array.from({ length: 20 }, () => words(WORDS_A_QUERY))
export const queryOf = (n: number): string => queries[n % queries.length]!
