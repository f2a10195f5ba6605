// Facts that call a participant by a short name belong to the participant, once others have addressed it by the name.

import { describe, expect, it } from 'vitest'
import * as domain from '../../../../../../src/index.ts'
import { backends } from '../../../../../support/backend.ts'
import { useWorld } from '../../../../../support/world.ts'

const mel = { actor: 'u1', displayName: 'Melanie' }

describe.each(backends)('short names on $name', (backend) => {
  const world = useWorld(backend)

  async function talk(...others: string[]) {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation(mel, 'bob', ...others)
    const extract = () => domain.extractFacts(deps, tenant.as('bob'), { conversationId })
    const facts = async (actor = 'bob') => {
      const { items } = await domain.getFactPage(deps, tenant.as(actor), {})
      return items.map(({ subject, predicate, object, userId }) => [userId, `${subject} ${predicate} ${object}`]).sort()
    }
    return { deps, tenant, conversationId, extract, facts }
  }
  const GOES_BY = ['u1', 'Melanie goes by Mel']

  it('are learned from how others address the participant, for the same and for later turns', async () => {
    const { tenant, conversationId, extract, facts } = await talk('ann')
    await tenant.append(conversationId, 'bob', 'Hey Mel! How was the trip?')
    await tenant.append(conversationId, 'bob', 'Mel lives in Porto.')
    await extract()
    expect(await facts()).toEqual([GOES_BY, ['u1', 'Melanie lives in Porto']])
    await tenant.append(conversationId, 'ann', 'Mel works at the harbour.')
    await extract()
    expect(await facts()).toEqual([GOES_BY, ['u1', 'Melanie lives in Porto'], ['u1', 'Melanie works at the harbour']])
    await tenant.append(conversationId, 'ann', 'Thanks, Mel!')
    expect((await extract()).facts).toEqual([])
  })

  it('are learned once the name was used, not from the name alone', async () => {
    const { tenant, conversationId, extract, facts } = await talk()
    await tenant.append(conversationId, 'bob', 'My friend Mel lives in Porto.')
    await extract()
    expect((await facts()).flat().join()).not.toContain('Melanie')
  })

  it('of a whisper are known to its audience, and change no facts of other turns', async () => {
    const { tenant, conversationId, extract, facts } = await talk('ann')
    await tenant.append(conversationId, 'bob', 'Hey Mel!', { audience: ['u1'] })
    await tenant.append(conversationId, 'bob', 'Mel lives in Porto.')
    await extract()
    expect(await facts('u1')).toContainEqual(GOES_BY)
    expect((await facts('ann')).flat().join()).not.toContain('Melanie')
  })

  it('change no facts if a participant sees a part of the conversation only', async () => {
    const { deps, tenant, conversationId, extract, facts } = await talk()
    await tenant.append(conversationId, 'bob', 'Hey Mel!')
    const participant = { actor: 'eve', historyVisibility: 'SINCE_JOINED' as const }
    await domain.addParticipant(deps, tenant.as('bob'), { conversationId, participant })
    await tenant.append(conversationId, 'bob', 'Mel lives in Porto.')
    await extract()
    expect((await facts('eve')).flat().join()).not.toContain('Melanie')
  })
})
