// Reads of facts through an index: pages of a conversation's facts, and the facts of a context. Each returns the same
// facts in the same order as a filter over all facts that the viewer sees.

import { describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import {
  factCursor,
  getFactPage,
  getFactPages,
  getFacts,
  type Fact,
} from '../../../../../src/domain/memory/fact/fact.ts'
import { recordFacts, retractFact } from '../../../../../src/domain/memory/fact/record.ts'
import { readContextFacts } from '../../../../../src/store/sql/memory/context/read-context-facts.ts'
import { backends } from '../../../../support/backend.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)]!

describe.each(backends)('reads of facts in order, on $name', (backend) => {
  const world = useWorld(backend)

  /** Records facts about two users in three conversations, some private, some with sources in several conversations. */
  async function fill(tenant: Tenant): Promise<{ conversationIds: string[]; ids: string[] }> {
    const { deps } = world
    const members = { visibility: 'MEMBERS' as const, participants: [{ actor: 'ada' }, { actor: 'eve' }] }
    const conversationIds = [
      await tenant.newConversation('ada', 'bob', 'eve'),
      await tenant.newConversation('ada', 'bob', 'eve'),
      (await createConversation(deps, tenant.as('ada'), members)).conversation.id,
    ]
    const recorded: string[] = []
    for (let n = 0; n < 24; n++) {
      const conversationId = pick(conversationIds)
      const audience = Math.random() < 0.3 ? ['ada', 'eve'] : undefined
      const turn = await tenant.append(conversationId, 'ada', 'said', audience ? { audience } : {})
      const facts = Array.from({ length: 2 }, () => ({
        subject: 'Ada',
        predicate: 'likes',
        object: `thing ${Math.floor(Math.random() * 20)}`,
        sourceTurnId: turn.id,
        observedAt: new Date(Date.UTC(2026, 0, 1 + Math.floor(Math.random() * 300))),
      }))
      const userId = pick(['ada', 'zoe', null])
      const result = await recordFacts(deps, tenant.as('ada'), { conversationId, userId, facts })
      recorded.push(...result.facts.map(({ id }) => id))
      if (n % 6 === 5) await retractFact(deps, tenant.as('ada'), { factId: pick(recorded) }).catch(() => {})
    }
    const { rows } = await sql(deps.pool).query<{ id: string }>('SELECT id FROM fact WHERE tenant = $1', [
      tenant.as('ada').tenant,
    ])
    return { conversationIds, ids: rows.map(({ id }) => id) }
  }

  /** The ids of the facts with a source in the conversation. */
  async function factsFrom(conversationId: string): Promise<Set<string>> {
    const { rows } = await sql(world.deps.pool).query<{ id: string }>(
      'SELECT DISTINCT fact_id AS id FROM fact_source WHERE conversation_id = $1',
      [conversationId],
    )
    return new Set(rows.map(({ id }) => id))
  }

  const newestFirst = (one: Fact, other: Fact) =>
    other.createdAt.getTime() - one.createdAt.getTime() || (one.id < other.id ? 1 : -1)

  it('return pages of the facts with a source in the conversation, newest first, each once, in both directions', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const { conversationIds, ids } = await fill(tenant)
    for (const actor of ['ada', 'bob', 'eve', 'stranger']) {
      const viewer = tenant.as(actor)
      const visible = [...(await getFacts(deps, viewer, ids)).values()].sort(newestFirst)
      for (const conversationId of conversationIds) {
        const sources = await factsFrom(conversationId)
        for (const includeSuperseded of [false, true]) {
          const expected = visible.filter(
            ({ id, supersededAt }) => sources.has(id) && (includeSuperseded || !supersededAt),
          )
          const filter = { conversationId, includeSuperseded }
          const read: Fact[] = []
          for (let after: string | null = null; ;) {
            const page = await getFactPage(deps, viewer, { first: 7, after, filter })
            read.push(...page.items)
            if (!page.hasNextPage) break
            after = factCursor(page.items.at(-1)!)
          }
          expect(read).toEqual(expected)
          const last = await getFactPage(deps, viewer, { last: 5, filter })
          expect(last.items).toEqual(expected.slice(-5))
          const pages = await getFactPages(deps, viewer, [conversationId], { first: 100, includeSuperseded })
          expect(expected).toEqual(expect.arrayContaining(pages.get(conversationId)!.items))
        }
      }
    }
  })

  it('return for a context the facts of the conversation and about its users, the most recently observed first', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const { conversationIds, ids } = await fill(tenant)
    for (const actor of ['ada', 'bob', 'eve', 'stranger']) {
      const viewer = tenant.as(actor)
      const visible = [...(await getFacts(deps, viewer, ids)).values()]
      for (const conversationId of conversationIds) {
        const sources = await factsFrom(conversationId)
        for (const users of [[], ['ada'], ['ada', 'zoe']]) {
          const expected = visible
            .filter(
              ({ id, userId, supersededAt }) => !supersededAt && (sources.has(id) || users.includes(userId ?? '')),
            )
            .sort((a, b) => b.observedAt.getTime() - a.observedAt.getTime() || (a.id < b.id ? 1 : -1))
            .map(({ id }) => id)
          for (const limit of [3, 100]) {
            const read = await readContextFacts(deps.pool, viewer, { conversationId, userIds: users }, limit)
            expect(read.map(({ id }) => id)).toEqual(expected.slice(0, limit))
          }
        }
      }
    }
  })
})
