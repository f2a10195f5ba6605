// The cost of row-level security: the same calls on two databases with equal data, one with its policies disabled, in
// alternating rounds. The tenant is set on both, so their difference is the cost of the policies. Also measures the
// cost of a separate statement for each tenant, by concurrent appends in 1, 10 and 100 tenants.

import { cpSync } from 'node:fs'
import { pino } from 'pino'
import pg from 'pg'
import { loadConfig } from '../../src/config/config.ts'
import { createDeps, type OpenDeps } from '../../src/deps.ts'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../src/domain/deps.ts'
import { getEmbeddingProgress } from '../../src/domain/memory/indexing/progress.ts'
import { recall, type RecallInput } from '../../src/domain/memory/recall/recall.ts'
import { appendTurn, appendTurns } from '../../src/domain/turn/append/append.ts'
import { pageOfTurns } from '../../src/domain/turn/history.ts'
import { interleave } from '../bench/figures.ts'
import { sql } from '../../test/support/sql.ts'
import type { Context, Row, Section, Store } from './section.ts'

/** Minimum ratio of the speed with policies to the speed without them. */
const GATE = 0.85
const ROUNDS = 15
/** Turns of the large conversation. Its tenant also has CONVERSATIONS of TURNS turns; each other tenant has one. */
const LARGE = 2_000
const CONVERSATIONS = 50
const TURNS = 40
const OTHER_TENANTS = 20
/** Number of conversations to which a round appends at the same time. */
const WRITTEN = 100
const TENANTS = [1, 10, 100]

const viewer = { tenant: 'measured', actor: 'ada' }
const WORDS =
  'harbour rome garden invoice piano winter bridge market ticket summer doctor window coffee letter river'.split(' ')
const textOf = (n: number) =>
  Array.from({ length: 30 }, (_, i) => WORDS[(n * 7 + i * (1 + (n % 11))) % WORDS.length]).join(' ')
const QUERIES = ['who pays the invoice', 'coffee in rome', 'the piano by the window', 'a letter from the doctor']

const open = (env: Record<string, string>): Promise<OpenDeps> =>
  createDeps(
    { ...loadConfig({ ...env, AUTOMATIC_TITLES: 'false', FACT_EXTRACTION_EVERY_N: '0' }) },
    pino({ level: 'silent' }),
  )

async function newConversation(deps: Deps, tenant: string, turns: number): Promise<string> {
  const owner = { ...viewer, tenant }
  const { conversation } = await createConversation(deps, owner, { compaction: { strategy: 'NEVER' } })
  for (let from = 0; from < turns; from += 500) {
    const contents = Array.from({ length: Math.min(500, turns - from) }, (_, n) => textOf(from + n))
    const given = contents.map((content) => ({ role: 'USER' as const, content }))
    await appendTurns(deps, owner, { conversationId: conversation.id, turns: given })
  }
  return conversation.id
}

/** Waits until all turns of the viewer's tenant are embedded, because embedding would disturb the next measure. */
async function embedAll(deps: Deps): Promise<void> {
  while ((await getEmbeddingProgress(deps, viewer)).remaining > 0) await new Promise((done) => setTimeout(done, 200))
}

/** Ids of the large conversation, and of those to append to, by number of tenants. */
type Filled = { large: string; written: Map<number, { tenant: string; id: string }[]> }

/** Fills the database that the variables name, embeds all turns, and closes it. */
async function fill(env: Record<string, string>): Promise<Filled> {
  const { deps, close } = await open(env)
  try {
    const large = await newConversation(deps, viewer.tenant, LARGE)
    for (let n = 0; n < CONVERSATIONS; n++) await newConversation(deps, viewer.tenant, TURNS)
    for (let n = 0; n < OTHER_TENANTS; n++) await newConversation(deps, `other ${n}`, TURNS)
    const written: Filled['written'] = new Map()
    for (const tenants of TENANTS) {
      const all = []
      for (let n = 0; n < WRITTEN; n++) {
        const tenant = tenants === 1 ? viewer.tenant : `writer ${n % tenants} of ${tenants}`
        all.push({ tenant, id: await newConversation(deps, tenant, 0) })
      }
      written.set(tenants, all)
    }
    await embedAll(deps)
    return { large, written }
  } finally {
    await close()
  }
}

/** Copies a database that no process uses, and returns the variables of the copy. */
async function copy(env: Record<string, string>): Promise<Record<string, string>> {
  if (!env.DATABASE_URL) {
    const dataDir = `${env.DATA_DIR}-copy`
    cpSync(env.DATA_DIR!, dataDir, { recursive: true })
    return { ...env, DATA_DIR: dataDir }
  }
  const url = new URL(env.DATABASE_URL)
  const name = url.pathname.slice(1)
  const client = new pg.Client(Object.assign(new URL(url), { pathname: '/postgres' }).href)
  await client.connect()
  await client.query(`CREATE DATABASE ${name}_copy TEMPLATE ${name}`)
  await client.end()
  return { ...env, DATABASE_URL: Object.assign(url, { pathname: `/${name}_copy` }).href }
}

async function dropCopy({ DATABASE_URL: url }: Record<string, string>): Promise<void> {
  if (!url) return
  const client = new pg.Client(Object.assign(new URL(url), { pathname: '/postgres' }).href)
  await client.connect()
  await client.query(`DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
  await client.end()
}

/** Disables the policies of an open database. The server itself refuses to start without them. */
async function disablePolicies({ pool }: Deps): Promise<void> {
  const { rows } = await sql(pool).query<{ name: string }>(
    `SELECT c.oid::regclass::text AS name FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relrowsecurity`,
  )
  for (const { name } of rows) {
    await sql(pool).query(`ALTER TABLE ${name} NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY`)
  }
}

/** Runs the calls in sequence. Returns the number of calls per second. */
async function perSecond(count: number, call: (n: number) => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  for (let n = 0; n < count; n++) await call(n)
  return (count * 1_000) / (performance.now() - begin)
}

type Measure = { name: string; run(deps: Deps, filled: Filled): Promise<number> }

/** Appends a turn to all conversations concurrently, `times` times. Returns the appends per second. */
const appends =
  (tenants: number, times: number) =>
  async (deps: Deps, { written }: Filled): Promise<number> => {
    const turn = { role: 'USER' as const, content: textOf(1) }
    const rate = await perSecond(times, () =>
      Promise.all(
        written
          .get(tenants)!
          .map(({ tenant, id }) => appendTurn(deps, { ...viewer, tenant }, { conversationId: id, turn })),
      ),
    )
    return rate * WRITTEN
  }

const recalls = (name: string, input: (large: string) => Omit<RecallInput, 'query'>): Measure => ({
  name,
  run: (deps, { large }) =>
    perSecond(12, (n) => recall(deps, viewer, { ...input(large), query: QUERIES[n % QUERIES.length]!, k: 10 })),
})

const MEASURES: readonly Measure[] = [
  {
    name: 'append, one at a time',
    run: (deps, { large }) =>
      perSecond(60, (n) =>
        appendTurn(deps, viewer, { conversationId: large, turn: { role: 'USER', content: textOf(n) } }),
      ),
  },
  { name: `append, ${WRITTEN} at a time`, run: appends(1, 4) },
  {
    name: 'page of history',
    run: (deps, { large }) => perSecond(60, () => pageOfTurns(deps, viewer, [large], { last: 50 })),
  },
  recalls('recall, scope CONVERSATION', (conversationId) => ({ conversationId })),
  recalls('recall, scope OWNER', (conversationId) => ({ conversationId, scope: 'OWNER' })),
  recalls('recall, scope TENANT', () => ({ scope: 'TENANT' })),
]

/** Returns a row for each measure: the median rate with policies divided by the median rate without them. */
async function compare(
  { share, log }: Context,
  store: Store,
  filled: Filled,
  withPolicies: Deps,
  without: Deps,
): Promise<Row[]> {
  const rounds = Math.max(3, Math.round(ROUNDS * share))
  const rows: Row[] = []
  for (const { name, run } of MEASURES) {
    for (const deps of [withPolicies, without]) {
      await embedAll(deps)
      // The first calls prepare the statements of each connection, and fill the caches.
      await run(deps, filled)
    }
    const contestants = { with: () => run(withPolicies, filled), without: () => run(without, filled) }
    const medians = await interleave(rounds, contestants, () => {})
    const ratio = medians.with / medians.without
    log(`${store.name}, ${name}: ${ratio.toFixed(2)}`)
    rows.push({
      name: `${store.name}, ${name}`,
      value: `${ratio.toFixed(2)} (${medians.with.toFixed(0)} against ${medians.without.toFixed(0)} per second)`,
      gate: `at least ${GATE}`,
      ok: ratio >= GATE,
    })
  }
  return rows
}

/** Returns a row for each number of tenants: the rate of concurrent appends, relative to the rate with one tenant. */
async function batches({ share }: Context, store: Store, filled: Filled, deps: Deps): Promise<Row[]> {
  const runs = TENANTS.map((tenants) => [String(tenants), () => appends(tenants, 4)(deps, filled)] as const)
  for (const [, run] of runs) await run()
  const medians = await interleave(Math.max(3, Math.round(ROUNDS * share)), Object.fromEntries(runs), () => {})
  return TENANTS.slice(1).map((tenants) => ({
    name: `${store.name}, ${WRITTEN} appends at a time, of ${tenants} tenants against 1`,
    value: `${(medians[tenants]! / medians[TENANTS[0]!]!).toFixed(2)} (${medians[tenants]!.toFixed(0)} per second)`,
    gate: 'shown',
    ok: medians[tenants]! > 0,
  }))
}

export const isolationCosts: Section = {
  name: 'costs of row-level security',
  async run(context) {
    const rows: Row[] = []
    for (const store of context.stores) {
      const env = await store.env()
      const filled = await fill(env)
      const copied = await copy(env)
      const withPolicies = await open(env)
      const without = await open(copied)
      try {
        await disablePolicies(without.deps)
        rows.push(...(await compare(context, store, filled, withPolicies.deps, without.deps)))
        rows.push(...(await batches(context, store, filled, withPolicies.deps)))
      } finally {
        await withPolicies.close()
        await without.close()
        await dropCopy(copied)
      }
    }
    return rows
  },
}
