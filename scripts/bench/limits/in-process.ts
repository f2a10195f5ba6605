// Rows of the verbs that both sides run in this process: recall, appends and pages. The limit is one hand-written
// statement, on a connection pool of the same size as ours.

import type { QueryResultRow } from 'pg'
import { loadConfig } from '../../../src/config/config.ts'
import { createPool } from '../../../src/store/db/db.ts'
import type { Pool, Statement } from '../../../src/store/db/tenant-pool.ts'
import { vectorValue } from '../../../src/store/vectors/vector.ts'
import { words, WORDS_A_QUERY, WORDS_A_TURN } from '../corpus.ts'
import { medianTime, rateOf } from '../figures.ts'
import { openOurs, type Ours } from '../ours.ts'
import { insertTurn, insertTurns, TEXT } from '../raw-append.ts'
import { CALLS, measure, SHARED_CALLS, WARM_UP_MS, type Measured, type Row } from '../row.ts'
import { settle, withDatabase, type Bench } from '../services.ts'
import { textEmbedder, vectorOf } from '../text-embedder.ts'

/** Number of appends of all callers in a round. */
const APPENDS = 1_600
const CALLERS = 16
/** Number of turns in the conversation that recalls search. */
const RECALLED = 1_000
/** Number of turns in the conversation whose pages are read. */
const PAGED = 2_000

const scope = 'default'
const queries = Array.from({ length: CALLS }, () => words(WORDS_A_QUERY))
const queryOf = (n: number) => queries[n % CALLS]!
const texts = (count: number) => Array.from({ length: count }, () => words(WORDS_A_TURN))

type Sides = { ours: Ours; pool: Pool; settle(): Promise<void> }

/** Runs `use` with both sides on one empty database. */
async function withSides<T>({ services, progress }: Bench, embeds: boolean, use: (sides: Sides) => Promise<T>) {
  return withDatabase(services.databaseUrl, async (databaseUrl) => {
    const ours = await openOurs({ ...services, databaseUrl }, embeds)
    const poolSize = loadConfig({ DATABASE_URL: databaseUrl }).databasePoolSize
    const pool = createPool({ databaseUrl, poolSize }, (error) => progress(`a connection failed: ${error.message}`))
    try {
      return await use({ ours, pool, settle: () => settle(databaseUrl) })
    } finally {
      await pool.end()
      await ours.close()
    }
  })
}

async function countOf(pool: Pool, statement: Omit<Statement, 'scope'>): Promise<number> {
  return (await pool.query<QueryResultRow>({ scope, ...statement })).rows.length
}

const TURN = 't.id, t.seq, t.actor, t.role, t.text, t.created_at'

// Unit vectors have the same order by inner product as by cosine, at less cost. The join keeps the order of ten rows.
const RECALL = `
  WITH query AS MATERIALIZED (SELECT $3::halfvec AS vector),
  nearest AS MATERIALIZED (
    SELECT x.conversation_id, x.root_seq, x.seq, x.embedding <#> (SELECT vector FROM query) AS distance
    FROM turn_vector x WHERE x.conversation_id = $1 AND x.embedder = $2
    ORDER BY x.embedding <#> (SELECT vector FROM query) LIMIT 10)
  SELECT ${TURN}, -n.distance AS similarity
  FROM nearest n
  JOIN turn t ON t.conversation_id = n.conversation_id AND t.root_seq = n.root_seq AND t.seq = n.seq
  ORDER BY n.distance`

const recallLimit = (pool: Pool, conversationId: string, query: string): Promise<number> => {
  const values = [conversationId, textEmbedder.name, vectorValue(vectorOf(query))]
  return countOf(pool, { name: 'limit-recall', text: RECALL, values })
}

const PAGE = `
  SELECT ${TURN} FROM turn t WHERE t.conversation_id = $1 ORDER BY t.root_seq DESC, t.seq DESC LIMIT 50`

const pageLimit = (pool: Pool, conversationId: string): Promise<number> =>
  countOf(pool, { name: 'limit-page', text: PAGE, values: [conversationId] })

type Read = (n: number) => Promise<number>

/** Throws unless both sides find the same number of rows, at least one, for each query. */
async function compareReads(ours: Read, limit: Read): Promise<void> {
  for (let n = 0; n < CALLS; n++) {
    const [found, expected] = [await ours(n), await limit(n)]
    if (found !== expected || found === 0) throw new Error(`ours returns ${found} rows, the limit ${expected}`)
  }
}

const ONE_STATEMENT = 'one statement'
const ofOneCaller = (label: string, asked: number, ours: Read, limit: Read): Row => ({
  ...{ label, against: ONE_STATEMENT, asked, unit: 'ms', warmUpMs: WARM_UP_MS },
  check: () => compareReads(ours, limit),
  ours: () => medianTime(CALLS, ours),
  theirs: () => medianTime(CALLS, limit),
})
const ofAllCallers = (label: string, asked: number, ours: Read, limit: Read): Row => ({
  ...{ label: `${label}, ${CALLERS} callers`, against: ONE_STATEMENT, asked, unit: '/s', warmUpMs: WARM_UP_MS },
  check: () => compareReads(ours, limit),
  ours: () => rateOf(CALLERS, SHARED_CALLS, ours),
  theirs: () => rateOf(CALLERS, SHARED_CALLS, limit),
})

async function measureAll(rows: readonly Row[], progress: Bench['progress']): Promise<Measured[]> {
  const measured: Measured[] = []
  for (const row of rows) measured.push(await measure(row, progress))
  return measured
}

/** Rows of recall in one conversation. */
export async function rowsOfRecall(bench: Bench): Promise<Measured[]> {
  return withSides(bench, true, async ({ ours, pool, settle }) => {
    const id = await ours.createConversation('reader')
    await ours.appendAll(id, texts(RECALLED))
    await ours.untilEmbedded()
    await settle()
    const sides: [Read, Read] = [
      (n) => ours.recall(id, queryOf(n), 'CONVERSATION'),
      (n) => recallLimit(pool, id, queryOf(n)),
    ]
    const label = `recall 10 of ${RECALLED.toLocaleString('en-US')} turns`
    return measureAll([ofOneCaller(label, 0.5, ...sides), ofAllCallers(label, 0.5, ...sides)], bench.progress)
  })
}

/** Throws unless the conversations have that many turns, in journals without gaps. */
async function checkTurns(pool: Pool, ids: readonly string[], expected: number): Promise<void> {
  const text = `
    SELECT sum(j.turn_count)::int AS counted, sum(j.last_seq)::int AS numbers,
           (SELECT count(*)::int FROM turn WHERE conversation_id = ANY ($1)) AS turns,
           (SELECT count(*)::int FROM entry WHERE conversation_id = ANY ($1)) AS entries
    FROM journal j WHERE j.conversation_id = ANY ($1)`
  type Counts = { counted: number; numbers: number; turns: number; entries: number }
  const [counts] = (await pool.query<Counts>({ scope, text, values: [ids] })).rows
  const { counted, numbers, turns, entries } = counts!
  if (turns !== expected || counted !== expected || entries !== numbers)
    throw new Error(`${expected} turns appended: ${JSON.stringify(counts)}`)
}

/** Rows of appends and pages, without embedding. */
export async function rowsOfHistory(bench: Bench): Promise<Measured[]> {
  return withSides(bench, false, async ({ ours, pool, settle }) => {
    const conversations = () => Promise.all(Array.from({ length: CALLERS }, () => ours.createConversation('writer')))
    const [oursIds, limitIds] = [await conversations(), await conversations()]
    const id = await ours.createConversation('reader')
    await ours.appendAll(id, texts(PAGED))
    await settle()

    const acknowledged = { ours: 0, limit: 0 }
    const oursAppends = async () => {
      const rate = await rateOf(CALLERS, APPENDS, (n) => ours.append(oursIds[n % CALLERS]!, TEXT))
      acknowledged.ours += APPENDS
      return rate
    }
    const oneEach = async () => {
      const rate = await rateOf(CALLERS, APPENDS, (n) => insertTurn(pool, limitIds[n % CALLERS]!))
      acknowledged.limit += APPENDS
      return rate
    }
    const coalesced = async () => {
      const rate = await rateOf(1, APPENDS / CALLERS, () => insertTurns(pool, limitIds))
      acknowledged.limit += APPENDS
      return rate * CALLERS
    }
    const label = `append, ${CALLERS} callers`
    const written = { asked: null, unit: '/s' as const, warmUpMs: WARM_UP_MS }
    const rows: Row[] = [
      { ...{ label, against: 'one insert each', ...written }, ours: oursAppends, theirs: oneEach },
      { ...{ label, against: 'coalesced inserts', ...written }, ours: oursAppends, theirs: coalesced },
      ofOneCaller(
        `page of 50 of ${PAGED.toLocaleString('en-US')} turns`,
        0.65,
        () => ours.page(id),
        () => pageLimit(pool, id),
      ),
    ]
    const measured = await measureAll(rows, bench.progress)
    await checkTurns(pool, oursIds, acknowledged.ours)
    await checkTurns(pool, limitIds, acknowledged.limit)
    return measured
  })
}
