// Deleting shared state, by its key, with its conversation and for an erased user: no patch or quotation of it is left.

import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { getSharedStates } from '../../../../../src/domain/conversation/shared-state/shared-state.ts'
import { updateSharedState } from '../../../../../src/domain/conversation/shared-state/update-shared-state.ts'
import type { UpdateSharedStateInput } from '../../../../../src/domain/conversation/shared-state/state-input.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { deleteSharedState } from '../../../../../src/domain/conversation/shared-state/delete-shared-state.ts'
import { eraseUser } from '../../../../../src/domain/trust/erasure/erase-user.ts'
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

  it('is gone for everyone, with its patches, and starts anew with version 1', async () => {
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
    expect(await update('ann', { value: 1, expectedVersion: 0 })).toMatchObject({ version: 1 })
  })

  it('must have the expected version, and be seen by a present participant', async () => {
    const { tenant, conversationId, update, remove } = await start()
    await update('ann', { value: 1 })
    await update('ann', { key: 'private', value: 1, audience: ['bob'] })
    await expect(remove('bob', 'plan', 2)).rejects.toThrow(Conflict)
    await expect(remove('cleo', 'private', 1)).rejects.toThrow(NotFound)
    await expect(remove('cleo', 'private')).rejects.toThrow(
      await remove('cleo', 'none').catch((e: Error) => e.message.replace('none', 'private')),
    )
    await expect(remove('stranger')).rejects.toThrow(NotAllowed)
    await removeParticipant(world.deps, tenant.as('ann'), { conversationId, actor: 'cleo' })
    await expect(remove('cleo')).rejects.toThrow(NotAllowed)
    await remove('bob', 'private', 1)
    await expect(remove('bob', 'private')).rejects.toThrow(NotFound)
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
