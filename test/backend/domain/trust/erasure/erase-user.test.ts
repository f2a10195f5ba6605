// Erasing a user removes all text that the user wrote and all facts about the user, and no data of other users.

import { describe, expect, it, vi } from 'vitest'
import { createConversation, getConversations } from '../../../../../src/domain/conversation/conversation.ts'
import { continueErasures, eraseUser } from '../../../../../src/domain/trust/erasure/erase-user.ts'
import { getErasure } from '../../../../../src/domain/trust/erasure/erasure.ts'
import { setLegalHold } from '../../../../../src/domain/trust/erasure/legal-hold.ts'
import { readEventsOf } from '../../../../../src/domain/turn/journal/reader.ts'
import { getFacts } from '../../../../../src/domain/memory/fact/fact.ts'
import { recordFacts } from '../../../../../src/domain/memory/fact/record.ts'
import { getParticipants } from '../../../../../src/domain/conversation/participant/participant.ts'
import { getPresence, setPresence } from '../../../../../src/domain/conversation/presence.ts'
import { refreshUserProfile } from '../../../../../src/domain/memory/profile/refresh.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { summarize } from '../../../../../src/domain/memory/summary/compact.ts'
import { writeTitleDue } from '../../../../../src/domain/memory/summary/title.ts'
import { appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import { NotAllowed } from '../../../../../src/errors.ts'
import { runMaintenance } from '../../../../../src/store/db/maintenance.ts'
import { backends } from '../../../../support/backend.ts'
import { tablesContaining } from '../../../../support/canary.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { sql } from '../../../../support/sql.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'

const CANARY = 'canaryz9q'

describe.each(backends)('eraseUser on $name', (backend) => {
  const world = useWorld(backend, { integrityKey: 'k'.repeat(32), presenceTtlMs: 600_000 })

  /** Erases the user, continues until the erasure is complete, and returns the receipt. */
  async function erase(tenant: Tenant, userId: string) {
    const { id } = await eraseUser(world.deps, tenant.as('operator'), { userId })
    while ((await continueErasures(world.deps)) > 0);
    return (await getErasure(world.deps, tenant.as('operator'), id))!.receipt!
  }

  it('leaves no text of the user in any table, and keeps the turns and facts of others', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const [user, bob] = [tenant.as('mallory'), tenant.as('bob')]
    const conversationId = await tenant.newConversation('bob', {
      actor: 'mallory',
      displayName: CANARY,
      metadata: { address: CANARY },
    })
    const first = await tenant.append(conversationId, 'mallory', `Remember ${CANARY}.`, {
      clientId: 'k',
      metadata: { a: CANARY },
    })
    const call = { callId: 'c', name: 'find', arguments: { who: CANARY } }
    await appendTurns(deps, user, { conversationId, turns: [{ role: 'ASSISTANT', parts: [{ toolCall: call }] }] })
    const others = await tenant.append(conversationId, 'bob', 'Bob likes tea.')
    await writeTitleDue(deps, conversationId, new AbortController().signal)
    await summarize(deps, bob, { conversationId, through: first.id })
    const about = await recordFacts(deps, bob, {
      userId: 'mallory',
      facts: [{ subject: 'mallory', predicate: 'lives in', object: CANARY, sourceTurnId: others.id }],
    })
    const asserted = await recordFacts(deps, user, {
      userId: 'bob',
      facts: [{ subject: 'bob', predicate: 'fears', object: CANARY, sourceTurnId: first.id }],
    })
    const tea = { subject: 'bob', predicate: 'likes', object: 'tea' }
    const shared = await recordFacts(deps, user, { userId: 'bob', facts: [{ ...tea, sourceTurnId: first.id }] })
    await recordFacts(deps, bob, { userId: 'bob', facts: [{ ...tea, sourceTurnId: others.id }] })
    await refreshUserProfile(deps, user, { userId: 'mallory' })
    await refreshUserProfile(deps, bob, { userId: 'bob' })
    await setPresence(deps, user, { conversationId, state: 'TYPING' }, null)
    const open = { conversationId, writerToken: WRITER, turn: { role: 'USER' as const } }
    const { turn: streaming } = await openTurn(deps, user, open)
    await appendDelta(deps, user, { turnId: streaming.id, writerToken: WRITER, text: CANARY })
    const owned = await createConversation(deps, user, { title: CANARY, metadata: { x: CANARY } })
    expect((await tablesContaining(deps.pool, CANARY)).length).toBeGreaterThan(5)

    const live = (await readEventsOf(deps, bob, { conversationId, types: ['TurnErased'] }))[Symbol.asyncIterator]()
    const told = live.next()
    const receipt = await erase(tenant, 'mallory')
    await vi.waitFor(() => runMaintenance(deps.pool))
    expect(await tablesContaining(deps.pool, CANARY)).toEqual([])
    expect(receipt).toMatchObject({ kind: 'USER', turns: 3, facts: 2, held: 0 })
    expect(receipt.document).not.toContain('mallory')
    expect((await told).value).toMatchObject({ type: 'TurnErased', turn: { text: '', status: 'ERASED' } })
    await live.return?.()

    expect((await getTurns(deps, bob, [others.id])).get(others.id)!.text).toBe('Bob likes tea.')
    const facts = await getFacts(
      deps,
      bob,
      [...about.facts, ...asserted.facts, ...shared.facts].map(({ id }) => id),
    )
    expect([...facts.values()]).toEqual([expect.objectContaining({ object: 'tea', assertedBy: 'bob' })])
    const [presence] = await getPresence(deps, [{ conversationId, actor: 'mallory' }])
    expect(presence).toBe('OFFLINE')
    expect((await getConversations(deps, user, [owned.conversation.id])).get(owned.conversation.id)).toMatchObject({
      title: null,
      metadata: {},
    })
    const participants = await getParticipants(deps, bob, [conversationId])
    expect(participants.get(conversationId)!.find(({ actor }) => actor === 'mallory')!.displayName).toBeNull()
  })

  it('continues an interrupted erasure in batches, in any process, and counts each turn once', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const ids = [await tenant.newConversation('ann', 'bob'), await tenant.newConversation('ann')]
    for (const conversationId of ids) {
      const turns = Array.from({ length: 230 }, (_, i) => ({ role: 'USER' as const, content: `turn ${i}` }))
      await appendTurns(deps, tenant.as('ann'), { conversationId, turns })
    }
    const kept = await tenant.append(ids[0]!, 'bob', 'kept')
    const id = 'interrupted'
    await deps.db.of(SYSTEM).erasure.create({ data: { id, tenant: tenant.name, kind: 'USER', subject: 'ann' } })
    expect((await getErasure(deps, tenant.as('op'), id))!.receipt).toBeNull()
    const [again] = await Promise.all([
      eraseUser(deps, tenant.as('op'), { userId: 'ann' }),
      continueErasures(deps),
      continueErasures(deps),
    ])
    expect(again.id).toBe(id)
    while ((await continueErasures(deps)) > 0);
    expect((await getErasure(deps, tenant.as('op'), id))!.receipt).toMatchObject({ turns: 460 })
    const { rows } = await sql(deps.pool).query(
      `SELECT count(*)::integer AS left FROM turn WHERE actor = 'ann' AND conversation_id = ANY ($1) AND text <> ''`,
      [ids],
    )
    expect(rows).toEqual([{ left: 0 }])
    expect((await getTurns(deps, tenant.as('bob'), [kept.id])).get(kept.id)!.text).toBe('kept')
    expect(await getErasure(deps, world.tenant().as('op'), id)).toBeNull()
  })

  it('is refused for a user under legal hold, and skips and counts held conversations', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const op = tenant.as('op')
    const [held, other] = [await tenant.newConversation('ann'), await tenant.newConversation('ann')]
    const [a, b] = [await tenant.append(held, 'ann', 'a'), await tenant.append(other, 'ann', 'b')]
    await recordFacts(deps, tenant.as('ann'), {
      userId: 'ann',
      facts: [{ subject: 'ann', predicate: 'likes', object: 'tea', sourceTurnId: a.id }],
    })
    await setLegalHold(deps, op, { userId: 'ann', legalHold: true })
    await expect(eraseUser(deps, op, { userId: 'ann' })).rejects.toThrow(NotAllowed)
    await setLegalHold(deps, op, { userId: 'ann', legalHold: false })
    await setLegalHold(deps, op, { conversationId: held, legalHold: true })
    const receipt = await erase(tenant, 'ann')
    expect(receipt).toMatchObject({ turns: 1, facts: 0, held: 1 })
    const turns = await getTurns(deps, tenant.as('ann'), [a.id, b.id])
    expect([turns.get(a.id)!.text, turns.get(b.id)!.text]).toEqual(['a', ''])
  })
})
