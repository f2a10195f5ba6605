// The past shows no content that was erased since, and nothing outside the view of today.

import { describe, expect, it } from 'vitest'
import * as domain from '../../../../src/index.ts'
import { backends } from '../../../support/backend.ts'
import { tablesContaining } from '../../../support/canary.ts'
import { momentAfter } from '../../../support/moment.ts'
import { sql } from '../../../support/sql.ts'
import { useWorld } from '../../../support/world.ts'
import { allReads } from './all-reads.ts'

const CANARY = 'zanzibar'

describe.each(backends)('the past on $name', (backend) => {
  const world = useWorld(backend)

  /** Writes a conversation with the canary everywhere, then changes everything that has former states. */
  async function changed() {
    const { deps } = world
    const tenant = world.tenant()
    const ann = tenant.as('ann')
    const conversationId = await tenant.newConversation({ actor: 'ann', displayName: `Ann ${CANARY}` }, 'bob')
    const turn = await tenant.append(conversationId, 'ann', `I live in ${CANARY}.`)
    const other = await tenant.append(conversationId, 'ann', `My favourite food is ${CANARY}. I live in ${CANARY}.`)
    await domain.extractFacts(deps, ann, { conversationId })
    const facts = [{ subject: 'ann', predicate: 'likes', object: CANARY, sourceTurnId: turn.id }]
    await domain.recordFacts(deps, ann, { conversationId, userId: 'ann', facts })
    await domain.refreshUserProfile(deps, ann, { userId: 'ann' })
    await domain.summarize(deps, ann, { conversationId })
    const then = await momentAfter(deps)
    const edit = { role: 'USER' as const, content: `I live in Rome, not in ${CANARY}.` }
    const {
      turn: { id },
    } = await domain.supersedeTurn(deps, ann, { turnId: turn.id, turn: edit })
    await domain.extractFacts(deps, ann, { conversationId })
    await domain.refreshUserProfile(deps, ann, { userId: 'ann' })
    await domain.updateParticipant(deps, ann, { conversationId, actor: 'ann', displayName: 'Ann' })
    await domain.pinTurn(deps, ann, { turnId: id })
    const reads = async () => {
      const past = await domain.asOf(deps, ann, { asOf: { time: then } })
      return JSON.stringify(
        await allReads(past, { tenant: tenant.name, conversations: [conversationId] }, ['ann', 'bob']),
      )
    }
    return { tenant, ann, conversationId, turnIds: [id, other.id], reads }
  }

  it('shows no content of erased turns', async () => {
    const { ann, turnIds, reads } = await changed()
    const occurrences = (text: string) => text.split(CANARY).length - 1
    expect(occurrences(await reads())).toBeGreaterThan(10)
    for (const turnId of turnIds) await domain.eraseTurn(world.deps, ann, { turnId })
    const left = (await reads()).replaceAll(`Ann ${CANARY}`, 'Ann')
    expect(left).toContain('ERASED')
    expect(occurrences(left)).toBe(0)
  })

  it('shows no content of an erased user, and no table contains it', async () => {
    const { deps } = world
    const { ann, conversationId, tenant, reads } = await changed()
    await domain.eraseUser(deps, ann, { userId: 'ann' })
    expect((await reads()).includes(CANARY)).toBe(false)
    const later = await tenant.append(conversationId, 'bob', 'Hello?')
    const past = await domain.asOf(deps, tenant.as('bob'), { asOf: { seq: later.seq }, conversationId })
    expect((await domain.history(past, tenant.as('bob'), [conversationId], {})).get(conversationId)).not.toEqual([])
  })

  it('is deleted with the conversation', async () => {
    const { deps } = world
    const { ann, conversationId, reads } = await changed()
    await domain.deleteConversation(deps, ann, conversationId)
    expect(await reads()).not.toContain(CANARY)
  })

  it('leaves no former state with erased content in any table', async () => {
    const tables = await tablesContaining(world.deps.pool, CANARY)
    expect(tables.filter((name) => name !== 'public.former_state')).toEqual([])
    // The first test erases turns only, so the former name of their author is kept.
    const { rows } = await sql(world.deps.pool).query<{ relation: string }>(
      'SELECT relation FROM former_state WHERE state::text ILIKE $1',
      [`%${CANARY}%`],
    )
    expect(rows).toEqual([{ relation: 'participant' }])
  })

  it('shows whispers and their facts to their audience only, and conversations that are private today to members', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('owner', 'ann', 'bob')
    await tenant.append(conversationId, 'ann', 'I live in Rome.')
    const whisper = await tenant.append(conversationId, 'ann', `I live in ${CANARY}.`, { audience: ['ann'] })
    await domain.extractFacts(deps, tenant.as('ann'), { conversationId })
    const {
      turn: { id },
    } = await domain.supersedeTurn(deps, tenant.as('ann'), {
      turnId: whisper.id,
      turn: { role: 'USER', content: `I live near ${CANARY}.` },
    })
    await domain.extractFacts(deps, tenant.as('ann'), { conversationId })
    await domain.refreshUserProfile(deps, tenant.as('ann'), { userId: 'ann' })
    const last = (await tenant.lastSeq(conversationId))!
    await domain.pinTurn(deps, tenant.as('ann'), { turnId: id })
    const of = async (actor: string, seq: number) => {
      const past = await domain.asOf(deps, tenant.as(actor), { asOf: { seq }, conversationId })
      return JSON.stringify(await allReads(past, { tenant: tenant.name, conversations: [conversationId] }, [actor]))
    }
    for (let seq = 4; seq <= last; seq += 2)
      for (const actor of ['bob', 'dee']) expect(await of(actor, seq)).not.toContain(CANARY)
    expect(await of('ann', last)).toContain(CANARY)
    await domain.updateConversation(deps, tenant.as('owner'), { conversationId, visibility: 'MEMBERS' })
    expect(await of('bob', last)).toContain('Rome')
    await expect(of('dee', last)).rejects.toThrow(domain.NotFound)
    const time = await domain.asOf(deps, tenant.as('dee'), { asOf: { time: new Date(Date.now() - 1) } })
    const reads = await allReads(time, { tenant: tenant.name, conversations: [conversationId] }, ['dee'])
    expect(JSON.stringify(reads)).not.toContain('Rome')
  })
})
