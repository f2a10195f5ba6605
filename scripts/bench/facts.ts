// The time of recall over facts, of a page of facts and of a context with facts, by the number of facts; and the time
// of adding a participant. Each is compared with the same verb at a smaller size, or with an append.

import pg from 'pg'
import { buildContext } from '../../src/domain/memory/context/build.ts'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../src/domain/deps.ts'
import { getFactPage } from '../../src/domain/memory/fact/fact.ts'
import { addParticipant } from '../../src/domain/conversation/participant/participant.ts'
import { recall } from '../../src/domain/memory/recall/recall.ts'
import { appendTurns } from '../../src/domain/turn/append/append.ts'
import { hashTerm, saltOf } from '../../src/text/words/hashed-terms.ts'
import { terms } from '../../src/text/words/words.ts'
import { vectorValue } from '../../src/store/vectors/vector.ts'
import { sql } from '../../test/support/sql.ts'
import { clustered, DIMENSION, embedder, words } from './corpus.ts'
import { interleave, median, type Figure, type Report } from './figures.ts'
import { openDeps, withDatabase, type Bench } from './services.ts'

const ROUNDS = 5
const CALLS = 20
/** Number of facts of each conversation. Facts have vectors if their conversation has at most WITH_VECTORS facts. */
const SIZES = [1_000, 2_000, 10_000, 100_000] as const
const WITH_VECTORS = 10_000
const BATCH = 1_000

const viewer = { tenant: 'default', actor: 'ada' }

/** Inserts facts of a conversation by SQL, without extracting or comparing them. */
export async function writeFacts(pool: pg.Pool, conversationId: string, size: number): Promise<void> {
  const salt = saltOf(viewer.tenant, '')
  for (let from = 0; from < size; from += BATCH) {
    const facts = Array.from({ length: BATCH }, (_, i) => {
      const [subject, predicate, object] = [words(1), 'likes', words(3)]
      const sentence = `${subject} ${predicate} ${object}`
      return {
        id: `fact_${conversationId.slice(-18)}${String(from + i).padStart(8, '0')}`,
        ...{ subject, predicate, object },
        terms: terms(sentence).map((term) => hashTerm(term) ^ salt),
        ...(size <= WITH_VECTORS && { one: vectorValue(clustered()), other: vectorValue(clustered()) }),
      }
    })
    await sql(pool).query(
      `WITH given AS MATERIALIZED (
         SELECT * FROM jsonb_to_recordset($1::jsonb)
           AS n(id text, subject text, predicate text, object text, terms integer[], one text, other text)
       ), written AS (
         INSERT INTO fact (id, tenant, conversation_id, root_seq, seq, said_by, asserted_by, subject, predicate, object,
                           confidence, token_count, content_hash, observed_at, terms, embedded_by, created_at)
         SELECT n.id, 'default', $2, 1, 1, 'HUMAN', 'ada', n.subject, n.predicate, n.object, 1, 6, n.id,
                now() - random() * interval '1 year', n.terms, $3, now() - random() * interval '1 year'
         FROM given n RETURNING id, created_at
       ), sources AS (
         INSERT INTO fact_source (fact_id, tenant, source, conversation_id, root_seq, seq, said_by, asserted_by, confidence,
                                  observed_at, fact_created_at)
         SELECT w.id, 'default', $2 || ' 1', $2, 1, 1, 'HUMAN', 'ada', 1, now(), w.created_at FROM written w)
       INSERT INTO fact_vector (fact_id, tenant, embedder, object, sentence)
       SELECT n.id, 'default', $3, n.one::vector, n.other::vector FROM given n JOIN written w ON w.id = n.id
       WHERE n.one IS NOT NULL`,
      [JSON.stringify(facts), conversationId, embedder.name],
    )
  }
}

export async function facts({ services, progress }: Bench): Promise<Report> {
  return withDatabase(services.databaseUrl, async (url) => {
    const { deps: opened, close } = await openDeps(url, services.redisUrl)
    await opened.embedding.stop()
    const deps: Deps = { ...opened, embedding: { ...opened.embedding, serving: () => embedder } }
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    try {
      await sql(pool).query('INSERT INTO embedder (name, dimension) VALUES ($1, $2)', [embedder.name, DIMENSION])
      const create = async () =>
        (await createConversation(deps, viewer, { participants: [{ actor: 'ada' }, { actor: 'scout' }] })).conversation
          .id
      const conversations = new Map<number, string>()
      for (const size of SIZES) {
        conversations.set(size, await create())
        const turns = Array.from({ length: 50 }, () => ({ role: 'USER' as const, content: words(12) }))
        await appendTurns(deps, viewer, { conversationId: conversations.get(size)!, turns })
        await writeFacts(pool, conversations.get(size)!, size)
        progress(`${size} facts written`)
      }
      await sql(pool).query('VACUUM ANALYZE')

      const timed = async (call: (n: number) => Promise<unknown>) => {
        const times: number[] = []
        for (let n = 0; n < CALLS; n++) {
          const begin = performance.now()
          await call(n)
          times.push(performance.now() - begin)
        }
        return median(times)
      }
      const queries = Array.from({ length: CALLS }, () => words(5))
      const recalled = (size: number) => () =>
        timed((n) =>
          recall(deps, viewer, { query: queries[n]!, conversationId: conversations.get(size)!, kinds: ['FACT'] }),
        )
      const page = (size: number) => () =>
        timed(() => getFactPage(deps, viewer, { first: 50, filter: { conversationId: conversations.get(size)! } }))
      const context = (size: number, facts: boolean) => () =>
        timed(() =>
          buildContext(deps, viewer, {
            conversationId: conversations.get(size)!,
            tokenBudget: 4_000,
            includeFacts: facts,
          }),
        )
      const conversationId = await create()
      let actor = 0
      const contestants = {
        'recall, 2,000 facts': recalled(2_000),
        'recall, 10,000 facts': recalled(10_000),
        'page of 50 of 1,000 facts': page(1_000),
        'page of 50 of 100,000 facts': page(100_000),
        'context with 2,000 facts': context(2_000, true),
        'context with 100,000 facts': context(100_000, true),
        'context without facts': context(2_000, false),
        'adding a participant': () =>
          timed(() => addParticipant(deps, viewer, { conversationId, participant: { actor: `actor-${actor++}` } })),
        append: () =>
          timed(() => appendTurns(deps, viewer, { conversationId, turns: [{ role: 'USER', content: words(12) }] })),
      }
      for (const warmUp of Object.values(contestants)) await warmUp()
      const medians = await interleave(ROUNDS, contestants, (message) => progress(`${message} ms`))
      const figure = (label: keyof typeof medians, against: keyof typeof medians): Figure => ({
        label,
        ours: medians[label],
        theirs: medians[against],
        unit: 'ms',
        better: 'smaller',
        target: null,
        against,
      })
      return {
        title: 'facts: recall, pages and contexts by the number of facts, and adding a participant',
        figures: [
          figure('recall, 2,000 facts', 'page of 50 of 1,000 facts'),
          figure('recall, 10,000 facts', 'recall, 2,000 facts'),
          figure('page of 50 of 100,000 facts', 'page of 50 of 1,000 facts'),
          figure('context with 2,000 facts', 'context without facts'),
          figure('context with 100,000 facts', 'context with 2,000 facts'),
          figure('adding a participant', 'append'),
        ],
        notes: [
          `Medians of ${ROUNDS} interleaved rounds of ${CALLS} calls each, one at a time, in one process on Postgres; two vectors `
            + `of ${DIMENSION} components for each fact up to ${WITH_VECTORS} facts.`,
        ],
      }
    } finally {
      await pool.end()
      await close()
    }
  })
}
