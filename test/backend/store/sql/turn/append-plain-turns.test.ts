// Compares two ways to append turns: by the statement for all turns alone, and by the statement for plain turns, with
// the other one as its fallback. Random appends to conversations with equal histories must return equal rows and leave
// equal tables.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { counters } from '../../../../../src/counters.ts'
import { newId } from '../../../../../src/domain/id.ts'
import { indexEntry } from '../../../../../src/domain/indexing/index-entry.ts'
import { removeParticipant } from '../../../../../src/domain/participant.ts'
import { appendTurns as appendTurnsOf } from '../../../../../src/domain/turn/append.ts'
import { APPEND_LIMITS } from '../../../../../src/domain/turn/append-refusal.ts'
import { appendPlainTurns, isPlain } from '../../../../../src/store/sql/turn/append-plain-turns.ts'
import { appendTurns, type AppendCall, type AppendRow } from '../../../../../src/store/sql/turn/append-turns.ts'
import type { Pool, Statement, UnscopedStatement } from '../../../../../src/store/tenant-pool.ts'
import { backends } from '../../../../support/backend.ts'
import { casesOf, isLong } from '../../../../support/long.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 2, nil: null })
const keyed = fc.record({ clientId: fc.constantFrom('a', 'b', 'c'), clientHash: fc.constantFrom('h', 'i') })

const turn = fc
  .record({
    // ann and bob are participants, cleo has left, dan was removed by another actor, and eve was never a participant.
    actor: fc.constantFrom('ann', 'ann', 'bob', 'bob', 'cleo', 'dan', 'eve'),
    // Most are of the kind of the participant, HUMAN.
    authorKind: fc.constantFrom('HUMAN' as const, 'HUMAN' as const, 'AGENT' as const, null, undefined),
    role: fc.constantFrom('USER', 'ASSISTANT', 'SYSTEM', 'TOOL'),
    text: fc.constantFrom('', 'hello @bob', 'the "launch" \\ of {x}, NULL', 'höher 🚀\n', '@ann and @nobody', '@carl'),
    tokens: fc.nat(50),
    key: fc.option(keyed, { freq: 4, nil: null }),
    parts: optional(fc.constant<unknown[]>([{ type: 'data', data: { 'a"': [1, null] } }])),
    promptTokens: optional(fc.nat(9)),
    completionTokens: optional(fc.nat(9)),
    model: optional(fc.constantFrom('m', 'm"\\')),
    adapter: optional(fc.constant('adapter')),
    traceId: optional(fc.constant('trace')),
    sources: optional(fc.constant<unknown[]>([{ documentId: 'd' }])),
    pinned: fc.constantFrom(true, false, null, undefined),
    metadata: optional(fc.constantFrom({}, { a: null, b: [1, "'"] })),
    isImported: fc.boolean(),
  })
  .map(({ key, isImported, ...fields }) => ({
    ...fields,
    ...indexEntry(fields.actor, fields.text),
    clientId: key?.clientId ?? null,
    clientHash: key?.clientHash ?? null,
    createdAt: isImported ? new Date('2025-03-01T10:00:00.123Z') : null,
    importedAt: isImported ? new Date('2026-03-01T10:00:00.456Z') : null,
    mentions: [...fields.text.matchAll(/@(\w+)/g)].map((match) => match[1]!),
  }))
type RandomTurn = typeof turn extends fc.Arbitrary<infer T> ? T : never

/** Consecutive statements, each with several calls in several conversations. */
const batches = fc.array(
  fc.array(fc.record({ conversation: fc.nat(2), turns: fc.array(turn, { minLength: 1, maxLength: 3 }) }), {
    minLength: 1,
    maxLength: 4,
  }),
  { minLength: 1, maxLength: 3 },
)

/** Removes the calls that the queue would not put into one statement, because they share an idempotency key. */
function compatible(calls: { conversation: number; turns: RandomTurn[] }[]) {
  const used = new Set<string>()
  return calls.filter(({ conversation, turns }) => {
    const keys = turns.flatMap(({ actor, clientId }) => (clientId ? [`${conversation} ${actor} ${clientId}`] : []))
    if (new Set(keys).size < keys.length || keys.some((key) => used.has(key))) return false
    for (const key of keys) used.add(key)
    return true
  })
}

const plainCall = (tenant: string, conversationId: string): AppendCall => ({
  conversationId,
  tenant,
  viewer: 'ann',
  turns: [
    {
      id: newId('turn'),
      actor: 'ann',
      kind: 'HUMAN',
      role: 'USER',
      status: 'COMMITTED',
      text: 'hi',
      tokens: 1,
      terms: [],
      cues: 0,
    },
  ],
})

/** Returns the statement that writes a plain turn, without running it. */
async function plainStatement(call: AppendCall): Promise<UnscopedStatement> {
  let statement: UnscopedStatement | undefined
  const query = async ({ scope: _, name: __, ...rest }: Statement) => {
    statement = rest
    return { rows: [] }
  }
  await appendPlainTurns({ query } as unknown as Pool, [call])
  return statement!
}

describe.each(backends)('plain appends on $name', (backend) => {
  const world = useWorld(backend)

  /** Three conversations: OPEN, OPEN with agents that respond to turns, and MEMBERS. */
  async function newConversations(tenant: Tenant): Promise<string[]> {
    const carl = { actor: 'carl', kind: 'AGENT' as const, respond: 'MENTIONED' as const }
    const ids = [
      await tenant.newConversation('ann', 'bob', 'cleo', 'dan'),
      await tenant.newConversation('ann', 'bob', 'cleo', 'dan', carl, { ...carl, actor: 'cora', respond: 'ALWAYS' }),
      await tenant.newConversation('ann', 'bob', 'cleo', 'dan'),
    ]
    for (const conversationId of ids) {
      for (const [actor, by] of [
        ['cleo', 'cleo'],
        ['dan', 'ann'],
      ] as const) {
        await removeParticipant(world.deps, tenant.as(by), { conversationId, actor })
      }
    }
    const pool = sql(world.deps.pool)
    for (const table of ['conversation', 'journal']) {
      const key = table === 'journal' ? 'conversation_id' : 'id'
      await pool.query(`UPDATE ${table} SET visibility = 'MEMBERS' WHERE ${key} = $1`, [ids[2]])
    }
    // A low limit, so that the loop guard stops wake-ups.
    await pool.query('UPDATE conversation SET max_agent_turns = 2 WHERE id = $1', [ids[1]])
    return ids
  }

  /** The rows that appends write, without ids, times of this run, and salts. */
  async function contentsOf(ids: readonly string[]): Promise<unknown[]> {
    const read = async (text: string) => (await sql(world.deps.pool).query(text, [ids])).rows
    return [
      await read(
        `SELECT array_position($1, t.conversation_id) AS of, (to_jsonb(t) - '{id,conversation_id,terms}'::text[]
                  || CASE WHEN t.imported_at IS NULL THEN '{"created_at": null}' ELSE '{}' END::jsonb) AS turn,
                ARRAY(SELECT x # j.salt FROM unnest(t.terms) x) AS terms
         FROM turn t JOIN journal j USING (conversation_id) WHERE t.conversation_id = ANY ($1) ORDER BY 1, t.seq`,
      ),
      await read(
        `SELECT array_position($1, e.conversation_id) AS of, e.seq, e.kind, e.actor, t.seq AS turn
         FROM entry e LEFT JOIN turn t ON t.id = e.turn_id WHERE e.conversation_id = ANY ($1) ORDER BY 1, 2`,
      ),
      await read(
        `SELECT array_position($1, j.conversation_id) AS of, last_seq, turn_count, token_count, agent_turns
         FROM journal j WHERE conversation_id = ANY ($1) ORDER BY 1`,
      ),
      await read(
        `SELECT array_position($1, p.conversation_id) AS of, actor, kind, windows, left_at IS NULL AS present, addressed
         FROM participant p WHERE conversation_id = ANY ($1) ORDER BY 1, 2`,
      ),
      await read(
        `SELECT array_position($1, w.conversation_id) AS of, w.actor, w.position, w.answered_at IS NULL AS pending
         FROM wake_up w WHERE conversation_id = ANY ($1) ORDER BY 1, 3, 2`,
      ),
    ]
  }

  const comparable = (rows: readonly AppendRow[], calls: readonly AppendCall[]) =>
    rows
      .map(({ id, createdAt, detail, ...row }) => {
        const own = calls[row.call]!.turns[row.index]
        const isImported = own?.createdAt != null && row.outcome === 'written'
        const details = detail?.replace(/turn_\w+/g, 'turn')
        return { ...row, isOwn: id === own?.id, detail: details ?? null, createdAt: isImported ? createdAt : null }
      })
      .sort((a, b) => a.call - b.call || a.index - b.index || a.seq - b.seq)

  it('have the same outcomes and write the same as the statement for all turns', async () => {
    let written = 0
    await fc.assert(
      fc.asyncProperty(batches, fc.boolean(), async (given, inSteps) => {
        const tenant = world.tenant()
        const [ids, twins] = [await newConversations(tenant), await newConversations(tenant)]
        for (const batch of given) {
          const callsTo = (conversations: readonly string[]): AppendCall[] =>
            compatible(batch).map(({ conversation, turns }) => ({
              conversationId: conversations[conversation]!,
              tenant: tenant.name,
              viewer: 'ann',
              limits: APPEND_LIMITS,
              turns: turns.map((each) => ({
                ...each,
                mentions: each.mentions.length > 0 ? each.mentions : undefined,
                id: newId('turn'),
                kind: 'AGENT',
                status: 'COMMITTED' as const,
              })),
            }))
          const [calls, expected] = [callsTo(ids), callsTo(twins)]
          if (calls.length === 0) continue
          expect(calls.every(isPlain)).toBe(true)
          const rows = await appendPlainTurns(world.deps.pool, calls, inSteps)
          const decided = new Set(rows.map(({ call }) => call))
          written += decided.size
          const left = calls.flatMap((call, index) => (decided.has(index) ? [] : [{ call, index }]))
          if (left.length > 0) {
            const others = await appendTurns(
              world.deps.pool,
              left.map(({ call }) => call),
              true,
            )
            rows.push(...others.map((row) => ({ ...row, call: left[row.call]!.index })))
          }
          const alone = await appendTurns(world.deps.pool, expected, true)
          expect(comparable(rows, calls)).toEqual(comparable(alone, expected))
        }
        expect(await contentsOf(ids)).toEqual(await contentsOf(twins))
      }),
      { numRuns: casesOf(100) },
    )
    // One run writes about one turn by the statement for plain turns; a short run may write none.
    if (isLong) expect(written).toBeGreaterThan(10)
  })

  it('are counted, and so are fallbacks to the statement for all turns', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const before = { ...counters.plainAppends }
    await tenant.append(conversationId, 'ann', 'one')
    await tenant.append(conversationId, 'ann', 'two', { clientId: 'two' })
    // The first two fall back, because the author joins or the key was used. The third is not tried as a plain turn.
    await tenant.append(conversationId, 'bob', 'three')
    await tenant.append(conversationId, 'ann', 'two', { clientId: 'two' })
    await tenant.append(conversationId, 'ann', 'four', { audience: ['bob'] })
    expect(counters.plainAppends).toEqual({ written: before.written + 2, fallback: before.fallback + 2 })
  })

  it('of any length are written as they are, and long ones in steps', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const before = counters.plainAppends.written
    const contents = ['"quoted" \\ {a,b} NULL 🚀\n', 'x', 'é '.repeat(40_000), 'long word '.repeat(9_000)]
    const { turns } = await appendTurnsOf(world.deps, tenant.as('ann'), {
      conversationId,
      turns: contents.map((content, n) => ({ role: 'USER', content, metadata: n === 1 ? { n, text: 'é"' } : null })),
    })
    expect(counters.plainAppends.written).toBe(before + 1)
    const { rows } = await sql(world.deps.pool).query(
      'SELECT text, metadata, terms FROM turn WHERE conversation_id = $1 ORDER BY seq',
      [conversationId],
    )
    expect(rows.map(({ text }) => text)).toEqual(contents)
    expect(rows.map(({ metadata }) => metadata)).toEqual([null, { n: 1, text: 'é"' }, null, null])
    expect(rows.map(({ terms }) => terms.length)).toEqual(
      contents.map((content) => indexEntry('ann', content).terms.length),
    )
    expect(turns.map(({ text }) => text)).toEqual(contents)
  })

  it('use indexes even if reading whole tables costs nothing', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const cheap = ['seq_page_cost', 'cpu_tuple_cost', 'cpu_operator_cost'].map((name) => ({
      text: `SELECT set_config('${name}', '0', true)`,
    }))
    // The embedded database includes the scans of earlier transactions.
    const scans = { text: 'SELECT relname, seq_scan FROM pg_stat_xact_user_tables ORDER BY relname' }
    // The connection caches plans: before the statement, from other tests; after it, with the costs of this test.
    const replan = { text: 'DISCARD PLANS' }
    const [, , , , before, rows, after] = await world.deps.pool.queryAll(tenant.name, [
      replan,
      ...cheap,
      scans,
      await plainStatement(plainCall(tenant.name, conversationId)),
      scans,
      replan,
    ])
    expect(rows).toMatchObject([{ seq: 2 }])
    expect(after).toEqual(before)
  })

  it('do not find the conversation of another tenant', async () => {
    const [tenant, other] = [world.tenant(), world.tenant()]
    const conversationId = await tenant.newConversation('ann')
    expect(await appendPlainTurns(world.deps.pool, [plainCall(other.name, conversationId)])).toEqual([])
    expect(await appendPlainTurns(world.deps.pool, [plainCall(tenant.name, conversationId)])).toMatchObject([
      { outcome: 'written' },
    ])
  })
})
