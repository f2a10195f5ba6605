// Writes reveal nothing about entries before a participant with historyVisibility SINCE_JOINED joined, and a removed
// participant does not rejoin by appending a turn.

import { describe, expect, it } from 'vitest'
import {
  addParticipant,
  getParticipants,
  removeParticipant,
} from '../../../../src/domain/conversation/participant/participant.ts'
import { commitTurn } from '../../../../src/domain/turn/streaming/stream.ts'
import { compact } from '../../../../src/domain/memory/summary/compact.ts'
import { appendTurn, appendTurns, openTurn } from '../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../src/domain/turn/supersede.ts'
import { NotAllowed } from '../../../../src/errors.ts'
import { backends } from '../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../support/world.ts'
import { WRITER } from '../../../support/writer.ts'

const call = (callId: string) => ({ toolCall: { callId, name: 'look', arguments: {} } })
const result = (callId: string) => ({ toolResult: { callId, name: 'look', result: 1 } })

describe.each(backends)('a history window on $name', (backend) => {
  const world = useWorld(backend)

  /** Creates a conversation with a tool call and a turn from before "new" joined it, and a tool call from after. */
  async function converse(tenant: Tenant) {
    const conversationId = await tenant.newConversation('ann')
    const appendCall = (callId: string) =>
      appendTurn(world.deps, tenant.as('ann'), {
        conversationId,
        turn: { role: 'ASSISTANT', parts: [call(callId)] },
      }).then(({ turn }) => turn)
    const early = await appendCall('early')
    await tenant.append(conversationId, 'ann', 'x '.repeat(200))
    const participant = { actor: 'new', historyVisibility: 'SINCE_JOINED' as const }
    await addParticipant(world.deps, tenant.as('ann'), { conversationId, participant })
    const late = await appendCall('late')
    return { conversationId, early, late }
  }

  /** Returns the class and message of a call's error, without the id `name`. Returns 'none' if the call succeeds. */
  const refusalOf = (promise: Promise<unknown>, name: string): Promise<string> =>
    promise.then(
      () => 'none',
      (error: Error) => `${error.constructor.name} ${error.message.replaceAll(name, '…')}`,
    )

  it('hides an earlier turn from supersedeTurn, but not a later turn', async () => {
    const tenant = world.tenant()
    const { early, late } = await converse(tenant)
    const edit = (turnId: string) =>
      supersedeTurn(world.deps, tenant.as('new'), { turnId, turn: { role: 'USER', content: 'mine' } }).then(
        ({ turn }) => turn,
      )
    const unknown = `turn_${'0'.repeat(26)}`
    expect(await refusalOf(edit(early.id), early.id)).toBe(await refusalOf(edit(unknown), unknown))
    await expect(edit(late.id)).rejects.toThrow(NotAllowed)
  })

  it('hides an earlier tool call from every result, but not a later call', async () => {
    const tenant = world.tenant()
    const { conversationId } = await converse(tenant)
    const as = tenant.as('new')
    const own = await tenant.append(conversationId, 'new', 'mine')
    const turn = (callId: string) => ({ role: 'TOOL' as const, parts: [result(callId)] })
    const operations: Record<string, (callId: string) => Promise<unknown>> = {
      appendTurn: (callId) =>
        appendTurn(world.deps, as, { conversationId, turn: turn(callId) }).then(({ turn }) => turn),
      appendTurns: (callId) =>
        appendTurns(world.deps, as, { conversationId, turns: [turn(callId)] }).then(({ turns }) => turns),
      commitTurn: async (callId) => {
        const opening = { conversationId, turn: { role: 'TOOL' as const }, writerToken: WRITER }
        const {
          turn: { id: turnId },
        } = await openTurn(world.deps, as, opening)
        return commitTurn(world.deps, as, { turnId, writerToken: WRITER, parts: [result(callId)] })
      },
      supersedeTurn: (callId) =>
        supersedeTurn(world.deps, as, { turnId: own.id, turn: turn(callId) }).then(({ turn }) => turn),
    }
    for (const [name, operation] of Object.entries(operations)) {
      const refusal = await refusalOf(operation('none'), 'none')
      expect(refusal, name).toContain('InvalidInput')
      expect(await refusalOf(operation('early'), 'early'), name).toBe(refusal)
      expect(await refusalOf(operation('late'), 'late'), name).toBe('none')
    }
  })

  it('hides the counts of a compaction, which cover earlier turns', async () => {
    const tenant = world.tenant()
    const { conversationId } = await converse(tenant)
    for (const n of [1, 2, 3, 4]) await tenant.append(conversationId, 'ann', `turn ${n}`)
    const hidden = { turnsCovered: null, tokensBefore: null, tokensAfter: null }
    expect(await compact(world.deps, tenant.as('new'), { conversationId })).toEqual({ summaries: [], ...hidden })
    const { tokensBefore } = await compact(world.deps, tenant.as('ann'), { conversationId })
    expect(tokensBefore).toBeGreaterThan(0)
  })

  it('stays closed for a removed participant until another actor adds it again', async () => {
    const tenant = world.tenant()
    const { conversationId } = await converse(tenant)
    const bob = tenant.as('bob')
    await tenant.append(conversationId, 'bob', 'hi', { clientId: 'k' })
    await removeParticipant(world.deps, tenant.as('ann'), { conversationId, actor: 'bob' })
    const head = await tenant.lastSeq(conversationId)
    const turn = { role: 'USER' as const, content: 'again' }
    const opening = { conversationId, turn: { role: 'USER' as const }, writerToken: WRITER }
    await expect(tenant.append(conversationId, 'bob', 'again')).rejects.toThrow('"bob" was removed')
    await expect(tenant.append(conversationId, 'eve', 'again', { actor: 'bob' })).rejects.toThrow(NotAllowed)
    await expect(appendTurns(world.deps, bob, { conversationId, turns: [turn] })).rejects.toThrow(NotAllowed)
    await expect(openTurn(world.deps, bob, opening)).rejects.toThrow(NotAllowed)
    expect(await tenant.lastSeq(conversationId)).toBe(head)
    // The retry of an earlier turn succeeds, because it writes no new turn.
    await tenant.append(conversationId, 'bob', 'hi', { clientId: 'k' })
    await addParticipant(world.deps, tenant.as('ann'), { conversationId, participant: { actor: 'bob' } })
    await tenant.append(conversationId, 'bob', 'again')
  })

  it('opens again when a participant who left appends a turn', async () => {
    const tenant = world.tenant()
    const { conversationId } = await converse(tenant)
    await tenant.append(conversationId, 'bob', 'hi')
    await removeParticipant(world.deps, tenant.as('bob'), { conversationId, actor: 'bob' })
    const isPresent = async () =>
      (await getParticipants(world.deps, tenant.as('ann'), [conversationId]))
        .get(conversationId)!
        .some(({ actor, leftAt }) => actor === 'bob' && leftAt === null)
    expect(await isPresent()).toBe(false)
    await tenant.append(conversationId, 'bob', 'again')
    expect(await isPresent()).toBe(true)
  })
})
