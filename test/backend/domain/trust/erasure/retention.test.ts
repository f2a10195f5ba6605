// Retention: expired conversations are deleted, and the content of summarised turns is removed, except under legal
// hold.

import { describe, expect, it, vi } from 'vitest'
import { buildContext } from '../../../../../src/domain/memory/context/build.ts'
import {
  createConversation,
  getConversations,
  updateConversation,
} from '../../../../../src/domain/conversation/conversation.ts'
import { setLegalHold } from '../../../../../src/domain/trust/erasure/legal-hold.ts'
import {
  contentHashOf,
  deleteExpiredConversations,
  pruneConversations,
  removeSummarizedContent,
} from '../../../../../src/domain/trust/erasure/retention.ts'
import { readEvents } from '../../../../../src/domain/turn/journal/journal-page.ts'
import { recordFacts } from '../../../../../src/domain/memory/fact/record.ts'
import { indexTurns } from '../../../../../src/domain/memory/indexing/backfill.ts'
import { readInbox } from '../../../../../src/domain/turn/journal/inbox.ts'
import { getTenantSettings, updateTenantSettings } from '../../../../../src/domain/conversation/tenant-settings.ts'
import { summarize } from '../../../../../src/domain/memory/summary/compact.ts'
import { pinTurn } from '../../../../../src/domain/turn/pin.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import { Conflict, InvalidInput, NotAllowed } from '../../../../../src/errors.ts'
import { readAuditChain } from '../../../../../src/store/sql/trust/audit-lines.ts'
import { backends } from '../../../../support/backend.ts'
import { tablesContaining } from '../../../../support/canary.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { sql } from '../../../../support/sql.ts'

const CANARY = 'canaryw4k'
const PAST = new Date(Date.now() - 60_000)

describe.each(backends)('retention on $name', (backend) => {
  const world = useWorld(backend, { integrityKey: 'k'.repeat(32) })
  const exists = async (tenant: Tenant, id: string) =>
    (await getConversations(world.deps, tenant.as('ann'), [id])).has(id)
  const create = async (tenant: Tenant, more: object = {}) =>
    (await createConversation(world.deps, tenant.as('ann'), { participants: [{ actor: 'ann' }], ...more })).conversation

  it('deletes expired conversations, notifies their participants, and keeps other conversations', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const expired = await create(tenant, { expiresAt: PAST })
    const withFacts = await create(tenant, { expiresAt: PAST })
    const turn = await tenant.append(withFacts.id, 'ann', CANARY)
    await recordFacts(deps, tenant.as('ann'), {
      userId: 'ann',
      facts: [{ subject: 'ann', predicate: 'says', object: CANARY, sourceTurnId: turn.id }],
    })
    const later = await create(tenant, { ttlSeconds: 3600 })
    expect(later.expiresAt!.getTime()).toBe(later.createdAt.getTime() + 3_600_000)
    const never = await create(tenant)
    const inbox = (await readInbox(deps, tenant.as('ann'), {}))[Symbol.asyncIterator]()
    const told = inbox.next()
    expect(await deleteExpiredConversations(deps)).toBe(2)
    expect((await told).value).toMatchObject({ reason: 'DELETED' })
    await inbox.return?.()
    for (const [{ id }, isKept] of [
      [expired, false],
      [withFacts, false],
      [later, true],
      [never, true],
    ] as const) {
      expect(await exists(tenant, id)).toBe(isKept)
    }
    expect(await tablesContaining(deps.pool, CANARY)).toEqual([])
    const lines = await readAuditChain(deps.db, tenant.name, 0, 10)
    expect(lines.map(({ verb }) => verb).sort()).toEqual(['deleteConversation', 'expireConversation'])
  })

  it('keeps expired conversations that are, or whose participants are, under legal hold', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const held = await create(tenant, { expiresAt: PAST })
    const ofHeld = await create(tenant, { expiresAt: PAST, participants: [{ actor: 'bob' }] })
    await setLegalHold(deps, tenant.as('op'), { conversationId: held.id, legalHold: true })
    await setLegalHold(deps, tenant.as('op'), { userId: 'bob', legalHold: true })
    expect(await deleteExpiredConversations(deps)).toBe(0)
    expect(await pruneConversations(deps, tenant.as('op'), { olderThanDays: 1 })).toBe(0)
    await setLegalHold(deps, tenant.as('op'), { conversationId: held.id, legalHold: false })
    await setLegalHold(deps, tenant.as('op'), { userId: 'bob', legalHold: false })
    expect(await deleteExpiredConversations(deps)).toBe(2)
    expect([await exists(tenant, held.id), await exists(tenant, ofHeld.id)]).toEqual([false, false])
  })

  it('prunes conversations without recent entries in the tenant of the caller, who needs `operate` and `erase`', async () => {
    const { deps } = world
    const [tenant, other] = [world.tenant(), world.tenant()]
    const [old, young, foreign] = [await create(tenant), await create(tenant), await create(other)]
    await sql(deps.pool).query(
      `UPDATE journal SET updated_at = now() - interval '40 days' WHERE conversation_id = ANY ($1)`,
      [[old.id, foreign.id]],
    )
    const principal = {
      tenant: tenant.name,
      actor: 'op',
      kind: 'HUMAN' as const,
      rights: new Set(['operate'] as const),
      conversations: null,
      credential: 'key:1',
      expiresAt: null,
    }
    const input = { olderThanDays: 30 }
    await expect(pruneConversations(deps, { ...tenant.as('op'), principal }, input)).rejects.toThrow(NotAllowed)
    expect(await pruneConversations(deps, tenant.as('op'), input)).toBe(1)
    expect(await pruneConversations(deps, tenant.as('op'), input)).toBe(0)
    await deleteExpiredConversations(deps)
    expect([await exists(tenant, old.id), await exists(tenant, young.id), await exists(other, foreign.id)]).toEqual([
      false,
      true,
      true,
    ])
  })

  it('uses the settings of the tenant unless the conversation is created with its own', async () => {
    const { deps } = world
    const tenant = world.tenant()
    expect(await getTenantSettings(deps, tenant.as('op'))).toMatchObject({ retention: 'FULL', ttlSeconds: null })
    const settings = { retention: 'EPHEMERAL' as const, ttlSeconds: 60 }
    expect(await updateTenantSettings(deps, tenant.as('op'), settings)).toMatchObject(settings)
    const byDefault = await create(tenant)
    expect(byDefault).toMatchObject({ retention: 'EPHEMERAL', legalHold: false })
    expect(byDefault.expiresAt!.getTime()).toBe(byDefault.createdAt.getTime() + 60_000)
    expect(await create(tenant, { retention: 'FULL', expiresAt: null })).toMatchObject({
      retention: 'FULL',
      expiresAt: null,
    })
    const updated = await updateConversation(deps, tenant.as('ann'), {
      conversationId: byDefault.id,
      retention: null,
      expiresAt: null,
    })
    expect(updated).toMatchObject({ retention: 'FULL', expiresAt: null })
    const both = { ttlSeconds: 1, expiresAt: PAST }
    await expect(create(tenant, both)).rejects.toThrow(InvalidInput)
    await expect(
      createConversation({ ...deps, integrityKeys: null }, tenant.as('ann'), { retention: 'AUDIT_ONLY' }),
    ).rejects.toThrow('INTEGRITY_KEY')
  })

  it.each(['AUDIT_ONLY', 'EPHEMERAL'] as const)(
    'with the setting %s removes the content of turns once they are summarised',
    async (retention) => {
      const { deps } = world
      const tenant = world.tenant()
      const ann = tenant.as('ann')
      const { id: conversationId } = await create(tenant, { retention })
      const text = `The harbour is called ${CANARY}.`
      const first = await tenant.append(conversationId, 'ann', text, { metadata: { a: CANARY }, clientId: 'k' })
      const pinned = await tenant.append(conversationId, 'ann', 'Pinned words stay.')
      await pinTurn(deps, ann, { turnId: pinned.id })
      const last = await tenant.append(conversationId, 'ann', 'Not yet summarised.')
      await vi.waitFor(async () => {
        const { rowCount } = await sql(deps.pool).query('SELECT FROM turn_vector WHERE conversation_id = $1', [
          conversationId,
        ])
        expect(rowCount).toBe(3)
      })
      expect(await removeSummarizedContent(deps)).toBe(0)
      await summarize(deps, ann, { conversationId, through: pinned.id })
      await sql(deps.pool).query(`UPDATE summary SET content = 'A summary.' WHERE conversation_id = $1`, [
        conversationId,
      ])
      await setLegalHold(deps, tenant.as('op'), { conversationId, legalHold: true })
      expect(await removeSummarizedContent(deps)).toBe(0)
      await setLegalHold(deps, tenant.as('op'), { conversationId, legalHold: false })
      expect(await removeSummarizedContent(deps)).toBe(1)
      expect(await removeSummarizedContent(deps)).toBe(0)
      await indexTurns(deps)
      expect(await tablesContaining(deps.pool, CANARY)).toEqual([])

      const turns = await getTurns(deps, ann, [first.id, pinned.id, last.id])
      const hash = retention === 'AUDIT_ONLY' ? contentHashOf(deps.integrityKeys!, { text, parts: null }) : null
      expect(turns.get(first.id)).toMatchObject({
        text: '',
        metadata: null,
        removedAt: expect.any(Date),
        contentHash: hash,
      })
      expect([turns.get(pinned.id)!.text, turns.get(last.id)!.text]).toEqual([
        'Pinned words stay.',
        'Not yet summarised.',
      ])
      const context = await buildContext(deps, ann, { conversationId, tokenBudget: 1_000 })
      expect(context.messages.map(({ kind }) => kind)).toEqual(['SUMMARY', 'PINNED', 'RECENT'])
      expect(context.messages[0]!.content).toContain('A summary.')

      const { events } = await readEvents(deps, tenant.name, conversationId, { after: 0, limit: 100 })
      const replayed = events.find((event) => event.type === 'TurnAppended' && event.turn.id === first.id)
      expect(replayed).toMatchObject({ turn: { text: '', contentHash: hash } })
      const { rows } = await sql(deps.pool).query('SELECT root_seq FROM turn_vector WHERE conversation_id = $1', [
        conversationId,
      ])
      expect(rows).toHaveLength(2)
      const edit = { turnId: first.id, turn: { role: 'USER' as const, content: 'x' } }
      await expect(supersedeTurn(deps, ann, edit)).rejects.toThrow(Conflict)
    },
  )
})
