// Deleting shared state, by its key, with its conversation and for an erased user: no patch or quotation of it is left.

import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { addParticipant, removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { getSharedStates, KEPT_PATCHES } from '../../../../../src/domain/conversation/shared-state/shared-state.ts'
import { updateSharedState } from '../../../../../src/domain/conversation/shared-state/update-shared-state.ts'
import type { UpdateSharedStateInput } from '../../../../../src/domain/conversation/shared-state/state-input.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { deleteSharedState } from '../../../../../src/domain/conversation/shared-state/delete-shared-state.ts'
import { eraseUser } from '../../../../../src/domain/trust/erasure/erase-user.ts'
import type { Right } from '../../../../../src/domain/kernel/rights/principal.ts'
import { setLegalHold } from '../../../../../src/domain/trust/erasure/legal-hold.ts'
import type { SharedStateChanged } from '../../../../../src/domain/turn/journal/event.ts'
import { Conflict, NotAllowed, NotFound } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { read, sawSeq } from '../../../../support/reading.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld } from '../../../../support/world.ts'

type Change = Omit<UpdateSharedStateInput, 'conversationId' | 'key'> & { key?: string }

describe.each(backends)('deleted shared state on $name', (backend) => {
  const world = useWorld(backend)

  async function start() {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob', 'cleo')
    const update = (actor: string, { key = 'plan', ...change }: Change) =>
      updateSharedState(world.deps, tenant.as(actor), { conversationId, key, ...change })
    const remove = (actor: string, key = 'plan', expectedVersion?: number) =>
      deleteSharedState(world.deps, tenant.as(actor), { conversationId, key, expectedVersion })
    const readAs = async (actor: string, key = 'plan') =>
      (await getSharedStates(world.deps, tenant.as(actor), [{ conversationId, key }]))[0]
    return { tenant, conversationId, update, remove, readAs }
  }
  /** The rows of the tables that contain the text. */
  async function rowsWith(text: string) {
    const { rows } = await sql(world.deps.pool).query<{ row: string }>(
      `SELECT s::text AS row FROM shared_state s WHERE s::text LIKE '%' || $1 || '%'
       UNION ALL SELECT c::text FROM shared_state_change c WHERE c::text LIKE '%' || $1 || '%'`,
      [text],
    )
    return rows.length
  }
  const canary = () => `canary${randomInt(1_000_000_000)}`

  it('is gone for everyone, with its patches, and its versions continue', async () => {
    const { tenant, conversationId, update, remove, readAs } = await start()
    const word = canary()
    await update('ann', { value: { text: word }, clientId: 'a' })
    await update('bob', { merge: { text: 'other' } })
    expect(await rowsWith(word)).toBe(1)
    const { seq } = await remove('bob')
    expect(await readAs('ann')).toBeNull()
    expect(await rowsWith(word)).toBe(0)
    const reading = await read(world.deps, tenant.as('cleo'), { conversationId, as: 'cleo', afterSeq: 0 })
    await reading.until('the deletion', sawSeq(seq))
    await reading.stop()
    const changes = reading.events.filter(({ type }) => type === 'SharedStateChanged') as SharedStateChanged[]
    expect(changes.map(({ version, deleted, patch, actor }) => ({ version, deleted, patch, actor }))).toEqual([
      { version: 1, deleted: false, patch: null, actor: 'ann' },
      { version: 2, deleted: false, patch: null, actor: 'bob' },
      { version: 3, deleted: true, patch: null, actor: 'bob' },
    ])
    // The repetition of the first call does not create the key again.
    expect(await update('ann', { value: { text: word }, clientId: 'a' })).toMatchObject({
      state: null,
      version: 1,
      deduplicated: true,
    })
    await expect(update('ann', { value: 1, expectedVersion: 3 })).rejects.toThrow(/does not exist \(version 0\)/)
    expect(await update('ann', { value: 1, expectedVersion: 0 })).toMatchObject({ version: 4 })
    // Neither a change nor a deletion of the former state concerns the new one.
    await expect(update('bob', { value: 2, expectedVersion: 2 })).rejects.toThrow(Conflict)
    await expect(remove('bob', 'plan', 2)).rejects.toThrow(Conflict)
    expect(await readAs('cleo')).toMatchObject({ value: 1, version: 4 })
  })

  it('is deleted by its creator, administrators and the owner, who need not see it', async () => {
    const { tenant, conversationId, update } = await start()
    const removeAs = (actor: string, key: string, more: { expectedVersion?: number; rights?: Right[] } = {}) => {
      const { rights = ['read', 'write'], expectedVersion } = more
      const credential = { kind: 'HUMAN' as const, conversations: null, credential: 'key:test', expiresAt: null }
      const principal = { tenant: tenant.name, actor, rights: new Set(rights), ...credential }
      const viewer = { ...tenant.as(actor), principal }
      return deleteSharedState(world.deps, viewer, { conversationId, key, expectedVersion })
    }
    const refusal = async (actor: string, key: string) =>
      (await removeAs(actor, key).catch((error: Error) => error)) as Error
    await addParticipant(world.deps, tenant.as('ann'), {
      conversationId,
      participant: { actor: 'dan', administrator: true },
    })
    await update('bob', { key: 'open', value: 1 })
    await update('cleo', { key: 'open', value: 2 })
    expect(await refusal('cleo', 'open')).toBeInstanceOf(NotAllowed)
    await removeAs('bob', 'open')

    const secret = { key: 'secret', value: 1, audience: ['cleo'] }
    await update('bob', secret)
    await update('cleo', { key: 'secret', value: 2 })
    expect(await refusal('cleo', 'secret')).toBeInstanceOf(NotAllowed)
    // A refusal does not tell whether there is a key, and a permitted deletion not what it has.
    const none = await refusal('zoe', 'none')
    await addParticipant(world.deps, tenant.as('ann'), { conversationId, participant: { actor: 'eve' } })
    expect(await refusal('eve', 'secret')).toBeInstanceOf(NotFound)
    expect((await refusal('eve', 'secret')).message).toBe(
      (await refusal('eve', 'none')).message.replace('none', 'secret'),
    )
    expect(none).toBeInstanceOf(NotAllowed)
    expect(await refusal('zoe', 'secret')).toEqual(none)
    const conflict = await removeAs('owner', 'secret', { expectedVersion: 1 }).catch((error: Error) => error.message)
    expect(conflict).toMatch(/has another version\.$/)
    await removeAs('owner', 'secret', { expectedVersion: 2 })
    await expect(removeAs('owner', 'secret')).rejects.toThrow(NotFound)
    await update('bob', secret)
    await removeAs('dan', 'secret')
    await update('bob', secret)
    await removeAs('zoe', 'secret', { rights: ['write', 'manage'] })

    // A creator who has left neither sees nor deletes its state, and a later writer is no creator.
    await update('bob', { key: 'left', value: 1 })
    await removeParticipant(world.deps, tenant.as('ann'), { conversationId, actor: 'bob' })
    expect(await refusal('bob', 'left')).toBeInstanceOf(NotAllowed)
    await removeAs('owner', 'left')
  })

  it('is kept under a legal hold on the conversation, or on an actor who changed it', async () => {
    const { tenant, conversationId, update, remove, readAs } = await start()
    await update('ann', { value: 1 })
    await update('bob', { value: 2 })
    const hold = (subject: { conversationId: string } | { userId: string }, legalHold: boolean) =>
      setLegalHold(world.deps, tenant.as('ann'), { ...subject, legalHold })
    for (const subject of [{ conversationId }, { userId: 'ann' }]) {
      await hold(subject, true)
      await expect(remove('cleo')).rejects.toThrow(/legal hold/)
      await hold(subject, false)
    }
    expect(await readAs('cleo')).toMatchObject({ value: 2 })
    await remove('cleo')
  })

  it.each(['the conversation', 'an actor who changed it'])(
    'keeps what is replaced under a legal hold on %s, until a change after the hold',
    async (held) => {
      const { tenant, conversationId, update, remove } = await start()
      const [large, small] = [canary(), canary()]
      const hold = (legalHold: boolean) =>
        setLegalHold(world.deps, tenant.as('ann'), {
          ...(held === 'the conversation' ? { conversationId } : { userId: 'ann' }),
          legalHold,
        })
      const contentOf = async (key: string) => {
        const { rows } = await sql(world.deps.pool).query<{ patches: number; replaced: unknown[] }>(
          `SELECT count(c.patch)::integer AS patches, json_agg(c.replaced ORDER BY c.seq) AS replaced
           FROM shared_state_change c WHERE c.conversation_id = $1 AND c.key = $2`,
          [conversationId, key],
        )
        return rows[0]!
      }
      await update('ann', { value: large.repeat(3_000) })
      await update('bob', { value: 1 })
      expect(await rowsWith(large)).toBe(0)
      await hold(true)
      await update('ann', { value: large.repeat(3_000) })
      await update('bob', { value: { of: small } })
      for (let n = 0; n < KEPT_PATCHES.changes; n++) await update('cleo', { merge: { n } })
      const kept = await contentOf('plan')
      expect(kept.patches).toBe(KEPT_PATCHES.changes + 2)
      expect(kept.replaced.slice(0, 5)).toEqual([null, null, 1, large.repeat(3_000), { of: small }])
      expect(kept.replaced.at(-1)).toEqual({ of: small, n: KEPT_PATCHES.changes - 2 })
      await expect(remove('ann')).rejects.toThrow(/legal hold/)
      // Keys that no hold concerns are as before.
      await update('bob', { key: 'free', value: 1 })
      await update('bob', { key: 'free', value: 2 })
      if (held !== 'the conversation') expect((await contentOf('free')).replaced).toEqual([null, null])
      await hold(false)
      await update('bob', { merge: { last: true } })
      const { patches, replaced } = await contentOf('plan')
      expect([patches, replaced.filter((each) => each !== null)]).toEqual([KEPT_PATCHES.changes, []])
    },
  )

  it('loses what a hold has kept with the erasure of an actor who changed it, unless another one is held', async () => {
    const { tenant, update, remove } = await start()
    const hold = (userId: string, legalHold: boolean) =>
      setLegalHold(world.deps, tenant.as('ann'), { userId, legalHold })
    const [word, other] = [canary(), canary()]
    await hold('ann', true)
    for (const key of ['both', 'deleted']) {
      await update('ann', { key, value: { of: word } })
      await update('bob', { key, value: { of: other } })
      await update('ann', { key, value: {}, clientId: key })
    }
    expect(await rowsWith(word)).toBe(4)
    await eraseUser(world.deps, tenant.as('bob'), { userId: 'bob' })
    // The values that both have written are kept, and so are the patches of ann.
    expect([await rowsWith(word), await rowsWith(other)]).toEqual([4, 2])
    await hold('ann', false)
    await remove('ann', 'deleted')
    expect([await rowsWith(word), await rowsWith(other)]).toEqual([2, 1])
    await eraseUser(world.deps, tenant.as('ann'), { userId: 'ann' })
    expect([await rowsWith(word), await rowsWith(other)]).toEqual([0, 0])
  })

  it('is what an erased user alone has written or sees; of other keys, the patches of the user are deleted', async () => {
    const { tenant, update, readAs } = await start()
    const [own, alone, both, others] = [canary(), canary(), canary(), canary()]
    await update('ann', { key: 'own', value: own })
    await update('bob', { key: 'alone', value: 'x', audience: ['ann'] })
    await update('ann', { key: 'alone', value: alone })
    await update('ann', { key: 'only', value: alone, audience: ['ann'] })
    await update('bob', { key: 'both', value: {} })
    await update('ann', { key: 'both', merge: { ann: both }, clientId: 'a' })
    await update('bob', { key: 'both', merge: { ann: null, bob: others } })
    const { receipt } = await eraseUser(world.deps, tenant.as('ann'), { userId: 'ann' })
    expect(receipt!.counts).toMatchObject({ shared_state: 2, shared_state_change: 2 })
    expect(await readAs('bob', 'own')).toBeNull()
    expect(await readAs('ann', 'only')).toBeNull()
    expect(await readAs('bob', 'both')).toMatchObject({ value: { bob: others }, version: 3 })
    expect(await readAs('bob', 'alone')).toMatchObject({ value: alone })
    expect(await rowsWith(own)).toBe(0)
    expect(await rowsWith(both)).toBe(0)
    expect(await rowsWith(others)).toBe(2)
    expect(await update('ann', { key: 'both', merge: { ann: both }, clientId: 'a' })).toMatchObject({
      deduplicated: true,
    })
  })

  it('is deleted with its conversation', async () => {
    const { tenant, conversationId, update } = await start()
    const word = canary()
    await update('ann', { value: word })
    const receipt = await deleteConversation(world.deps, tenant.as('ann'), conversationId)
    expect(receipt.counts).toMatchObject({ shared_state: 1 })
    expect(await rowsWith(word)).toBe(0)
    expect(await rowsWith(conversationId)).toBe(0)
  })
})
