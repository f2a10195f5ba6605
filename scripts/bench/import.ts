// Imports turns of one owner on Postgres, and measures the time until all of them are searchable by meaning, that is,
// embedded and indexed. Then compares the search with an exact one, and prints the bytes per turn on disk.

import { readFile } from 'node:fs/promises'
import type { Deps } from '../../src/domain/deps.ts'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { appendTurns } from '../../src/domain/turn/append/append.ts'
import { createPostgresVectors } from '../../src/store/vectors/postgres-vectors.ts'
import { coverOf } from '../../src/store/vectors/vector-segments.ts'
import { readVectorSegments } from '../../src/store/vectors/vector-index.ts'
import { versionKey } from '../../src/store/vectors/vector-search.ts'
import { sql } from '../../test/support/sql.ts'
import { format, type Report } from './figures.ts'
import { openDeps, withDatabase, type Bench } from './services.ts'

/** Number of imported turns. Defaults to 100,000; override with IMPORT_TURNS. */
const TURNS = Number(process.env.IMPORT_TURNS ?? 100_000)
const CONVERSATIONS = 100
/** Number of turns per call. */
const BATCH = 500
/** Number of concurrent calls. */
const CALLS = 4
const WORDS_PER_TURN = 25
/** Number of words that texts consist of: the most frequent words with a vector. */
const VOCABULARY = 10_000
const QUERIES = 500
const K = 10
/** Maximum seconds until all turns are searchable. */
const TARGET_SECONDS = 180
/** Bytes per turn when this benchmark was introduced, with the default embedder. */
const FORMER_BYTES = 3_850
/** Maximum share of the vectors outside an index at which the import counts as searchable. */
const UNINDEXED = 0.1
const POLL_MS = 100

const viewer = { tenant: 'default', actor: 'ada' }

/** State of Park and Miller's random number generator. Every run draws the same numbers. */
let state = 20_261_123
const random = (count: number) => {
  state = (state * 48_271) % 2_147_483_647
  return state % count
}

async function readVocabulary(): Promise<string[]> {
  const file = await readFile(new URL('../../src/text/word-vectors.bin', import.meta.url))
  // The file ends with its words, one per line, most frequent first. The header contains their size in bytes.
  return file
    .toString('latin1', file.length - file.readUInt32LE(12))
    .split('\n')
    .slice(0, VOCABULARY)
}

/** Returns a text about one of many subjects: half of its words are close to each other in the vocabulary. */
function textOf(vocabulary: readonly string[]): string {
  const subject = random(VOCABULARY - 40)
  const word = (i: number) => vocabulary[i % 2 ? subject + random(40) : random(VOCABULARY)]
  return Array.from({ length: WORDS_PER_TURN }, (_, i) => word(i)).join(' ')
}

async function fill(deps: Deps, vocabulary: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < CONVERSATIONS; i++) {
    ids.push(
      (await createConversation(deps, viewer, { participants: [{ actor: 'ada' }, { actor: 'bob' }] })).conversation.id,
    )
  }
  const perConversation = TURNS / CONVERSATIONS
  const waiting = [...ids]
  const importNext = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      for (let from = 0; from < perConversation; from += BATCH) {
        const turns = Array.from({ length: Math.min(BATCH, perConversation - from) }, (_, i) => ({
          actor: i % 2 ? 'bob' : 'ada',
          role: 'USER' as const,
          content: textOf(vocabulary),
        }))
        await appendTurns(deps, viewer, { conversationId: id, turns })
      }
    }
  }
  await Promise.all(Array.from({ length: CALLS }, importNext))
  return ids
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, POLL_MS))
}

/** Returns the share of the nearest turns by an exact search that the default search finds. */
async function recall(deps: Deps, ids: readonly string[], vocabulary: readonly string[]) {
  const exact = createPostgresVectors(deps.db, { exactTurns: Infinity })
  let [hits, approximate] = [0, 0]
  for (let i = 0; i < QUERIES; i++) {
    const [query] = await deps.embedder.embed([textOf(vocabulary)])
    const vector = { embedder: deps.embedder.name, query: query! }
    const found = await deps.vectors.nearest(viewer, ids, vector, { limit: K, filter: {} })
    const best = await exact.nearest(viewer, ids, vector, { limit: K, filter: {} })
    const expected = new Set(best.found.map(versionKey))
    hits += found.found.filter((turn) => expected.has(versionKey(turn))).length
    approximate += Number(found.method === 'APPROXIMATE')
  }
  return { share: hits / (QUERIES * K), approximate }
}

/** Returns the size of the tables and indexes that grow with turns, in bytes per turn, largest first. */
async function sizes({ pool }: Deps): Promise<{ name: string; bytes: number }[]> {
  const { rows } = await sql(pool).query<{ name: string; bytes: number }>(
    `SELECT c.relname AS name, pg_relation_size(c.oid) / $1::float8 AS bytes
     FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND pg_relation_size(c.oid) > $1
     ORDER BY 2 DESC`,
    [TURNS],
  )
  return rows
}

export async function importTurns({ services, progress }: Bench): Promise<Report> {
  const vocabulary = await readVocabulary()
  return withDatabase(services.databaseUrl, async (url) => {
    const { deps, close } = await openDeps(url, services.redisUrl)
    try {
      const begin = performance.now()
      const seconds = () => (performance.now() - begin) / 1_000
      const ids = await fill(deps, vocabulary)
      const appended = seconds()
      progress(`appended in ${format(appended)} s`)
      await until(async () => (await deps.embedding.progress()).remaining === 0)
      const embedded = seconds()
      progress(`embedded in ${format(embedded)} s`)
      await until(async () => {
        const { segments } = coverOf(await readVectorSegments(deps.db, deps.embedder.name))
        return segments.reduce((sum, { rows }) => sum + rows, 0) >= TURNS * (1 - UNINDEXED)
      })
      const indexed = seconds()
      progress(`indexed in ${format(indexed)} s`)
      await sql(deps.pool).query('VACUUM ANALYZE')
      // The list of indexes is cached for 5 s.
      await new Promise((resolve) => setTimeout(resolve, 5_000))
      const { share, approximate } = await recall(deps, ids, vocabulary)
      const bytes = await sizes(deps)
      const total = bytes.reduce((sum, each) => sum + each.bytes, 0)
      return {
        title: `import: ${TURNS.toLocaleString('en-US')} turns until they are searchable by meaning, Postgres`,
        figures: [
          {
            label: 'until searchable',
            ours: indexed,
            theirs: TARGET_SECONDS,
            against: 'the target',
            unit: 's',
            better: 'smaller',
            target: 1,
          },
          {
            label: 'until embedded',
            ours: TURNS / embedded,
            theirs: TURNS / appended,
            against: 'until appended',
            unit: 'turns/s',
            better: 'larger',
            target: null,
          },
          {
            label: `recall@${K}`,
            ours: share,
            theirs: 1,
            against: 'exact search',
            unit: '',
            better: 'larger',
            target: 0.97,
          },
          {
            label: 'on disk',
            ours: total,
            theirs: FORMER_BYTES,
            against: 'full-precision vectors',
            unit: 'bytes/turn',
            better: 'smaller',
            target: null,
          },
        ],
        notes: [
          `${CALLS} concurrent calls of ${BATCH} turns with ${WORDS_PER_TURN} words; ${CONVERSATIONS} conversations of one owner.`,
          `${approximate} of ${QUERIES} queries used the indexes.`,
          `Bytes per turn: ${bytes.map((each) => `${each.name} ${format(each.bytes)}`).join(', ')}.`,
        ],
      }
    } finally {
      await close()
    }
  })
}
