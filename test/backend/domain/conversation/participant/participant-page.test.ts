// Pages of participants, in both directions, in the order in which they joined last.

import { describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { addParticipant, removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import {
  countOfParticipants,
  pageOfParticipants,
  participantCursor,
} from '../../../../../src/domain/conversation/participant/participant-page.ts'
import type { Paging } from '../../../../../src/domain/kernel/page.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'

describe.each(backends)('pages of participants on $name', (backend) => {
  const world = useWorld(backend)
  const ACTORS = ['ann', 'bob', 'cy', 'dan:1', 'é ü', 'finn']

  it('follow one another in both directions without a gap or a repeat', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const viewer = tenant.as('ann')
    // They join at the same time, so that only the name decides the order.
    const { conversation } = await createConversation(deps, viewer, {
      participants: ACTORS.map((actor) => ({ actor })),
    })
    const { id } = conversation
    const page = async (args: Paging) => (await pageOfParticipants(deps, viewer, [id], args)).get(id)!
    const all = (await page({ first: 100 })).items.map(({ actor }) => actor)
    expect(all.toSorted()).toEqual(ACTORS.toSorted())
    for (const backwards of [false, true]) {
      const seen: string[] = []
      let cursor: string | null = null
      for (;;) {
        const { items, hasNextPage, hasPreviousPage } = await page(
          backwards ? { last: 2, before: cursor } : { first: 2, after: cursor },
        )
        seen.push(...(backwards ? items.toReversed() : items).map(({ actor }) => actor))
        if (!(backwards ? hasPreviousPage : hasNextPage)) break
        cursor = participantCursor(backwards ? items[0]! : items.at(-1)!)
      }
      expect(backwards ? seen.toReversed() : seen).toEqual(all)
    }
    expect((await countOfParticipants(deps, viewer, [id])).get(id)).toBe(ACTORS.length)
    await expect(page({ after: 'x' })).rejects.toThrow('is not a cursor')
  })

  it('end with participants who joined again, and are empty for a viewer who does not see the conversation', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const viewer = tenant.as('ann')
    const visibility = 'MEMBERS' as const
    const { conversation } = await createConversation(deps, viewer, { visibility, participants: [{ actor: 'bob' }] })
    const { id: conversationId } = conversation
    await removeParticipant(deps, viewer, { conversationId, actor: 'bob' })
    await addParticipant(deps, viewer, { conversationId, participant: { actor: 'cy' } })
    await addParticipant(deps, viewer, { conversationId, participant: { actor: 'bob' } })
    const actorsFor = async (actor: string) =>
      (await pageOfParticipants(deps, tenant.as(actor), [conversationId], {}))
        .get(conversationId)!
        .items.map((participant) => participant.actor)
    expect(await actorsFor('ann')).toEqual(['ann', 'cy', 'bob'])
    expect(await actorsFor('eve')).toEqual([])
  })
})
