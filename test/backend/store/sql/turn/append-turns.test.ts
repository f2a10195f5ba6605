// Compares two ways to append the same turns to conversations with equal histories: all calls of a batch in one
// statement, and each call in its own statement. Random batches must return equal rows and leave equal tables. So the
// result does not depend on the checks that a statement omits because none of its turns needs them.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newId } from '../../../../../src/domain/kernel/id.ts'
import { indexEntry } from '../../../../../src/domain/memory/indexing/index-entry.ts'
import { removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { appendTurns as appendTurnsOf } from '../../../../../src/domain/turn/append/append.ts'
import { APPEND_LIMITS } from '../../../../../src/domain/turn/append/append-refusal.ts'
import type { AppendCall, AppendedTurn } from '../../../../../src/store/sql/turn/append-call.ts'
import { appendTurns, type AppendRow } from '../../../../../src/store/sql/turn/append-turns.ts'
import type { Pool, Statement, UnscopedStatement } from '../../../../../src/store/db/tenant-pool.ts'
import { backends } from '../../../../support/backend.ts'
import { casesOf, isLong } from '../../../../support/long.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 2, nil: null })
const keyed = fc.record({ clientId: fc.constantFrom('a', 'b', 'c'), clientHash: fc.constantFrom('h', 'i') })

/** Kinds of turns: most are plain, and the others need a check or write into other tables. */
const KINDS = {
  plain: {},
  private: { audience: ['ann', 'bob'] },
  'for a stranger': { audience: ['ann', 'dan'] },
  reply: { replyToId: 'seen' },
  'reply to a private turn': { replyToId: 'private' },
  'reply to nothing': { replyToId: 'turn_0' },
  'of an unknown context': { contextId: 'context_0' },
  'tool call': {
    parts: [{ type: 'toolCall', callId: 'call-2', name: 'search', arguments: {} }],
    calls: [{ callId: 'call-2', name: 'search' }],
  },
  'tool result': {
    parts: [{ type: 'toolResult', callId: 'call-1', name: 'search', result: 7 }],
    results: [{ part: 0, callId: 'call-1', name: 'search' }],
  },
  'result of an unknown call': {
    parts: [{ type: 'toolResult', callId: 'call-9', name: 'search', result: 7 }],
    results: [{ part: 0, callId: 'call-9', name: 'search' }],
  },
  'result of another tool': {
    parts: [{ type: 'toolResult', callId: 'call-1', name: 'find', result: 7 }],
    results: [{ part: 0, callId: 'call-1', name: 'find' }],
  },
  open: { status: 'STREAMING', writerHash: 'w', leaseSeconds: 30 },
} satisfies Record<string, Partial<AppendedTurn>>
type Kind = keyof typeof KINDS

const kind = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Kind>('plain') },
  { weight: 1, arbitrary: fc.constantFrom(...(Object.keys(KINDS) as Kind[])) },
)

/**
 * The kind of each author's own credential. That of bob differs from its kind as a participant, HUMAN. Turns of one batch
 * with credentials of several kinds change the kind of their author once, which one by one they do several times.
 */
const CREDENTIALS: Record<string, 'HUMAN' | 'AGENT' | undefined> = { ann: 'HUMAN', bob: 'AGENT', eve: 'HUMAN' }

const turn = fc
  .record({
    kind,
    // ann and bob are participants, cleo has left, dan was removed by another actor, and eve was never a participant.
    actor: fc.constantFrom('ann', 'ann', 'bob', 'bob', 'cleo', 'dan', 'eve'),
    role: fc.constantFrom('USER', 'ASSISTANT', 'SYSTEM', 'TOOL'),
    text: fc.constantFrom('', 'hello @bob', 'the "launch" \\ of {x}, NULL', 'höher 🚀\n', '@ann and @nobody', '@carl'),
    tokens: fc.nat(50),
    key: fc.option(keyed, { freq: 2, nil: null }),
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
  .map(({ kind, key, isImported, ...fields }) => {
    const own: Partial<AppendedTurn> = KINDS[kind]
    return {
      status: 'COMMITTED' as const,
      ...fields,
      authorKind: CREDENTIALS[fields.actor],
      ...(own.status === 'STREAMING' ? { text: '' } : indexEntry(fields.actor, fields.text)),
      ...own,
      audience: own.audience && [...new Set([fields.actor, ...own.audience])],
      clientId: key?.clientId ?? null,
      clientHash: key?.clientHash ?? null,
      createdAt: isImported ? new Date('2025-03-01T10:00:00.123Z') : null,
      importedAt: isImported ? new Date('2026-03-01T10:00:00.456Z') : null,
      mentions: [...fields.text.matchAll(/@(\w+)/g)].map((match) => match[1]!),
    }
  })
type RandomTurn = typeof turn extends fc.Arbitrary<infer T> ? T : never

/** A turn with a tool call, and one with its result. */
const pair = turn.map((given): RandomTurn[] => {
  const plain = { ...given, status: 'COMMITTED' as const, calls: undefined, results: undefined }
  const results = [{ part: 0, callId: 'call-2', name: 'search', place: 0 }]
  const parts = [{ type: 'toolResult', callId: 'call-2', name: 'search', result: 7 }]
  return [
    { ...plain, ...KINDS['tool call'] },
    { ...plain, clientId: null, clientHash: null, parts, results },
  ]
})

const call = fc.record({
  conversation: fc.nat(2),
  // The distance of the expected seq from the newest one.
  expected: fc.option(fc.constantFrom(0, 0, 1), { freq: 6, nil: null }),
  turns: fc.oneof(
    { weight: 4, arbitrary: fc.array(turn, { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: pair },
  ),
})
type RandomCall = typeof call extends fc.Arbitrary<infer T> ? T : never

/** Consecutive batches, each with several calls in several conversations. */
const batches = fc.array(fc.array(call, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 })

/** Removes the calls that the queue would not put into one statement: they share an idempotency key or expect a seq. */
function compatible(calls: readonly RandomCall[]): RandomCall[] {
  const used = new Set<string>()
  const expecting = new Set<number>()
  const written = new Set<number>()
  return calls.filter(({ conversation, expected, turns }) => {
    const keys = turns.flatMap(({ actor, clientId }) => (clientId ? [`${conversation} ${actor} ${clientId}`] : []))
    if (new Set(keys).size < keys.length || keys.some((key) => used.has(key))) return false
    if (expecting.has(conversation) || (expected !== null && written.has(conversation))) return false
    for (const key of keys) used.add(key)
    if (expected !== null) expecting.add(conversation)
    written.add(conversation)
    return true
  })
}

const plainCall = (tenant: string, conversationId: string): AppendCall => ({
  conversationId,
  tenant,
  viewer: 'ann',
  turns: [
    { id: newId('turn'), actor: 'ann', role: 'USER', status: 'COMMITTED', text: 'hi', tokens: 1, terms: [], cues: 0 },
  ],
})

/** Returns the statement that writes the call, without running it. */
async function statementOf(call: AppendCall): Promise<UnscopedStatement> {
  let statement: UnscopedStatement | undefined
  const query = async ({ scope: _, name: __, ...rest }: Statement) => {
    statement = rest
    return { rows: [] }
  }
  await appendTurns({ query } as unknown as Pool, [call], { wait: false })
  return statement!
}

describe.each(backends)('appends on $name', (backend) => {
  const world = useWorld(backend)

  /** A conversation, and the ids of two of its turns by bob: one that everybody sees, and one that only bob and cleo see. */
  type Prepared = { id: string; seen: string; private: string }

  /** Three conversations: OPEN, OPEN with agents that respond to turns, and MEMBERS. In each, ann has made a tool call. */
  async function newConversations(tenant: Tenant): Promise<Prepared[]> {
    const carl = { actor: 'carl', kind: 'AGENT' as const, respond: 'MENTIONED' as const }
    const ids = [
      await tenant.newConversation('ann', 'bob', 'cleo', 'dan'),
      await tenant.newConversation('ann', 'bob', 'cleo', 'dan', carl, { ...carl, actor: 'cora', respond: 'ALWAYS' }),
      await tenant.newConversation('ann', 'bob', 'cleo', 'dan'),
    ]
    const prepared: Prepared[] = []
    for (const conversationId of ids) {
      const { turns } = await appendTurnsOf(world.deps, tenant.as('ann'), {
        conversationId,
        turns: [
          { role: 'ASSISTANT', parts: [{ toolCall: { callId: 'call-1', name: 'search', arguments: {} } }] },
          { actor: 'bob', role: 'USER', content: 'all' },
          { actor: 'bob', role: 'USER', content: 'own', audience: ['cleo'] },
        ],
      })
      prepared.push({ id: conversationId, seen: turns[1]!.id, private: turns[2]!.id })
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
    return prepared
  }

  /** The rows that appends write, without times of this run and salts; ids are replaced by the turn's place. */
  async function contentsOf(conversations: readonly Prepared[]): Promise<unknown[]> {
    const ids = conversations.map(({ id }) => id)
    const read = async (text: string) => (await sql(world.deps.pool).query(text, [ids])).rows
    const tables = [
      await read(
        `SELECT array_position($1, t.conversation_id) AS of,
                to_jsonb(t) - '{conversation_id,terms,client_hash,created_at}'::text[] AS turn,
                CASE WHEN t.imported_at IS NOT NULL THEN t.created_at END AS created_at,
                ARRAY(SELECT x # j.salt FROM unnest(t.terms) x) AS terms, t.terms IS NULL AS unindexed
         FROM turn t JOIN journal j USING (conversation_id) WHERE t.conversation_id = ANY ($1) ORDER BY 1, t.seq`,
      ),
      await read(
        `SELECT array_position($1, e.conversation_id) AS of, e.seq, e.kind, e.actor, e.turn_id
         FROM entry e WHERE e.conversation_id = ANY ($1) ORDER BY 1, 2`,
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
      await read(
        `SELECT array_position($1, c.conversation_id) AS of, call_id, name, turn_id
         FROM tool_call c WHERE conversation_id = ANY ($1)`,
      ),
      await read(
        `SELECT array_position($1, r.conversation_id) AS of, call_id, call_position, turn_id, approval_id
         FROM tool_result r WHERE conversation_id = ANY ($1)`,
      ),
      await read(
        `SELECT array_position($1, s.conversation_id) AS of, turn_id, tenant, viewer, writer_hash, lease_seconds
         FROM stream s WHERE conversation_id = ANY ($1)`,
      ),
    ]
    const places = new Map(tables[0]!.map(({ of, turn: { id, seq } }) => [id as string, `turn ${of}:${seq}`]))
    return tables.map((rows) =>
      rows.map((row) => JSON.stringify(row).replaceAll(/turn_\w+/g, (id) => places.get(id) ?? id)).sort(),
    )
  }

  /** A call by an actor who was never a member of a MEMBERS conversation has no row, or one row 'unknown'. */
  const comparable = (rows: readonly AppendRow[], calls: readonly AppendCall[]) =>
    rows
      .filter(({ outcome }) => outcome !== 'unknown')
      .map(({ id, createdAt, detail, parts, ...row }) => {
        const own = calls[row.call]!.turns[row.index]
        const isImported = own?.createdAt != null && row.outcome === 'written'
        const details = detail?.replace(/turn_\w+/g, 'turn')
        const stored = JSON.stringify(parts).replaceAll(/turn_\w+/g, 'turn')
        return { ...row, isOwn: id === own?.id, detail: details ?? null, stored, createdAt: isImported && createdAt }
      })
      .sort((a, b) => a.call - b.call || a.index - b.index || a.seq - b.seq)

  /** The calls to these conversations, with new ids. */
  const callsTo = async (tenant: Tenant, prepared: readonly Prepared[], calls: readonly RandomCall[]) => {
    const { rows } = await sql(world.deps.pool).query(
      'SELECT conversation_id AS id, last_seq AS seq FROM journal WHERE conversation_id = ANY ($1)',
      [prepared.map(({ id }) => id)],
    )
    return compatible(calls).map(({ conversation, expected, turns }): AppendCall => {
      const of = prepared[conversation]!
      const lastSeq: number = rows.find(({ id }) => id === of.id).seq
      return {
        conversationId: of.id,
        tenant: tenant.name,
        viewer: 'ann',
        expected: expected === null ? null : lastSeq - expected,
        turns: turns.map((each) => ({
          ...each,
          id: newId('turn'),
          mentions: each.mentions.length > 0 ? each.mentions : undefined,
          replyToId: { seen: of.seen, private: of.private }[each.replyToId ?? ''] ?? each.replyToId,
        })),
      }
    })
  }

  it('have the same outcomes and write the same, together or one by one', async () => {
    const outcomes = new Set<string>()
    await fc.assert(
      fc.asyncProperty(batches, fc.boolean(), async (given, inSteps) => {
        const tenant = world.tenant()
        const [together, alone] = [await newConversations(tenant), await newConversations(tenant)]
        for (const batch of given) {
          const calls = await callsTo(tenant, together, batch)
          if (calls.length === 0) continue
          const rows = await appendTurns(world.deps.pool, calls, { wait: false, limits: APPEND_LIMITS, inSteps })
          const single: AppendRow[] = []
          const twins = await callsTo(tenant, alone, batch)
          for (const [index, twin] of twins.entries()) {
            const ofCall = await appendTurns(world.deps.pool, [twin], { wait: true, limits: APPEND_LIMITS })
            single.push(...ofCall.map((row) => ({ ...row, call: index })))
          }
          expect(comparable(rows, calls)).toEqual(comparable(single, twins))
          for (const { outcome } of rows) outcomes.add(outcome)
        }
        expect(await contentsOf(together)).toEqual(await contentsOf(alone))
      }),
      { numRuns: casesOf(100) },
    )
    if (isLong) expect(outcomes.size).toBeGreaterThan(5)
  })

  it('of any length are written as they are, and long ones in steps', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const contents = ['"quoted" \\ {a,b} NULL 🚀\n', 'x', 'é '.repeat(40_000), 'long word '.repeat(9_000)]
    const { turns } = await appendTurnsOf(world.deps, tenant.as('ann'), {
      conversationId,
      turns: contents.map((content, n) => ({ role: 'USER', content, metadata: n === 1 ? { n, text: 'é"' } : null })),
    })
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
      await statementOf(plainCall(tenant.name, conversationId)),
      scans,
      replan,
    ])
    expect(rows).toMatchObject([{ seq: 2 }])
    expect(after).toEqual(before)
  })

  it('do not find the conversation of another tenant', async () => {
    const [tenant, other] = [world.tenant(), world.tenant()]
    const conversationId = await tenant.newConversation('ann')
    const append = (name: string) => appendTurns(world.deps.pool, [plainCall(name, conversationId)], { wait: false })
    expect(await append(other.name)).toEqual([])
    expect(await append(tenant.name)).toMatchObject([{ outcome: 'written' }])
  })
})
