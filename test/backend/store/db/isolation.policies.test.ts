// The policies alone keep tenants apart: the hot statements, stripped of their explicit conditions on the tenant, find
// nothing of another tenant. test/system/access-matrix.test.ts tests the explicit conditions alone.

import { beforeAll, describe, expect, it } from 'vitest'
import { SYSTEM, type Scope } from '../../../../src/store/db/scope.ts'
import { conversationsRead, pageConversations } from '../../../../src/store/sql/conversation/conversations.ts'
import { readOne } from '../../../../src/store/db/read.ts'
import { readLastSeq } from '../../../../src/store/sql/turn/journal/read-journal.ts'
import { readParticipants } from '../../../../src/store/sql/conversation/participant/read-participants.ts'
import { findTerms } from '../../../../src/store/sql/memory/recall/find-terms.ts'
import { readIndex } from '../../../../src/store/sql/memory/recall/read-index.ts'
import { readWideScope } from '../../../../src/store/sql/memory/recall/scope.ts'
import { appendTurns } from '../../../../src/store/sql/turn/append-turns.ts'
import { countTurns } from '../../../../src/store/sql/turn/count-turns.ts'
import { pageTurns } from '../../../../src/store/sql/turn/page-turns.ts'
import { readTurns } from '../../../../src/store/sql/turn/read-turns.ts'
import type { Pool, Statement } from '../../../../src/store/db/tenant-pool.ts'
import { backends } from '../../../support/backend.ts'
import { sql } from '../../../support/sql.ts'
import { useWorld } from '../../../support/world.ts'

type Ids = { conversationId: string; turnId: string; terms: number[] }
type Viewer = { tenant: string; actor: string }

const PAGE = { from: 'newest' as const, limit: 10, after: null, before: null, maxBytes: 1_000_000 }
const statements: Record<string, (pool: Pool, viewer: Viewer, ids: Ids) => Promise<number>> = {
  'the conversation': async (pool, viewer, { conversationId }) =>
    (await readOne(pool, viewer.tenant, conversationsRead(viewer, [conversationId]))).length,
  'the conversations': async (pool, viewer, { conversationId }) =>
    (await pageConversations(pool, viewer, { limit: 50, order: 'CREATED_AT', from: 'newest' })).filter(
      ({ id }) => id === conversationId,
    ).length,
  'its newest seq': async (pool, viewer, { conversationId }) =>
    (await readLastSeq(pool, viewer, conversationId)) === null ? 0 : 1,
  'its participants': async (pool, viewer, { conversationId }) =>
    (await readParticipants(pool, viewer, [conversationId])).length,
  'a page of its turns': async (pool, viewer, { conversationId }) =>
    (await pageTurns(pool, viewer, [conversationId], PAGE)).get(conversationId)?.turns.length ?? 0,
  'its number of turns': async (pool, viewer, { conversationId }) =>
    (await countTurns(pool, viewer, [conversationId])).get(conversationId)?.turnCount ?? 0,
  'a turn by id': async (pool, viewer, { turnId }) => (await readTurns(pool, viewer, [turnId])).length,
  'its index': async (pool, viewer, { conversationId, terms }) => {
    const range = { conversationId, from: 0, to: 2 ** 31 - 1, around: 0 }
    const [read] = await readIndex(pool, viewer, [range], {
      filter: {},
      terms: new Map(terms.map((term) => [term, 1])),
    })
    return read!.turns.positions.length
  },
  'turns by their terms': async (pool, viewer, { conversationId, terms }) =>
    (await findTerms(pool, viewer, [conversationId], { terms, filter: {}, limit: 10 })).flat().length,
  'the scope of a recall': async (pool, viewer, { conversationId }) =>
    (await readWideScope(pool, viewer, { scope: 'TENANT', conversationId: null }, 'static-1')).conversations.filter(
      ({ id }) => id === conversationId,
    ).length,
}

describe.each(backends)('without conditions on the tenant, on $name,', (backend) => {
  const world = useWorld(backend)
  let ids: Ids
  let owner: Viewer
  let stranger: Viewer
  beforeAll(async () => {
    const tenant = world.tenant()
    owner = tenant.as('ann')
    stranger = world.tenant().as('ann')
    const conversationId = await tenant.newConversation('ann')
    const { id: turnId } = await tenant.append(conversationId, 'ann', 'The harbour festival begins at noon.')
    const { rows } = await sql(world.deps.pool).query(
      `SELECT array_agg(x # j.salt) AS terms FROM turn t JOIN journal j ON j.conversation_id = t.conversation_id,
              unnest(t.terms) x WHERE t.id = $1`,
      [turnId],
    )
    ids = { conversationId, turnId, terms: rows[0].terms }
  })

  /** The pool, which removes the conditions on the tenant, and counts them. */
  function stripped(scope?: Scope): { pool: Pool; removed(): number } {
    let removed = 0
    const query = (statement: Statement) => {
      const text = statement.text.replaceAll(/\b\w+\.tenant = \$\d+::text/g, (condition) => {
        removed += 1
        return `${/\$\d+/.exec(condition)![0]}::text IS NOT NULL`
      })
      return world.deps.pool.query({ ...statement, name: undefined, text, scope: scope ?? statement.scope })
    }
    return { pool: { query } as unknown as Pool, removed: () => removed }
  }

  it.each(Object.entries(statements))('a request of another tenant does not find %s', async (_, read) => {
    expect(await read(world.deps.pool, owner, ids)).toBeGreaterThan(0)
    const { pool, removed } = stripped()
    expect(await read(pool, owner, ids)).toBeGreaterThan(0)
    expect(await read(pool, stranger, ids)).toBe(0)
    expect(removed()).toBeGreaterThan(0)
  })

  it('a conversation of another tenant is found without the policies, so the conditions were removed', async () => {
    expect(await statements['the conversation']!(stripped(SYSTEM).pool, stranger, ids)).toBe(1)
  })

  it('append_turns does not find the conversation of another tenant', async () => {
    const { pool } = world.deps
    const { rows } = await sql(pool).query(`SELECT pg_get_functiondef('append_turns'::regproc) AS text`)
    const text = (rows[0].text as string).replaceAll('j.tenant = p_tenant', 'true')
    expect(text).not.toBe(rows[0].text)
    await sql(pool).query(text)
    const turn = {
      actor: 'ann',
      role: 'USER',
      status: 'COMMITTED' as const,
      text: 'hello',
      tokens: 1,
      terms: [1],
      cues: 0,
    }
    const append = (tenant: string, id: string) => {
      const calls = [{ conversationId: ids.conversationId, tenant, viewer: 'ann', turns: [{ ...turn, id }] }]
      return appendTurns(pool, calls, { wait: true })
    }
    expect(await append(stranger.tenant, 'turn_forged')).toEqual([])
    expect(await append(owner.tenant, 'turn_own')).toMatchObject([{ outcome: 'written' }])
    await sql(pool).query(rows[0].text)
  })
})
