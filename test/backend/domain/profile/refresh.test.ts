// Profiles: written from the public facts about a user, updated when facts change, and shown only to viewers who see
// all of their sources.

import { describe, expect, it } from 'vitest'
import { deleteConversation } from '../../../../src/domain/erasure/delete-conversation.ts'
import type { Deps } from '../../../../src/domain/deps.ts'
import { addParticipant } from '../../../../src/domain/participant.ts'
import { recordFacts, retractFact } from '../../../../src/domain/fact/record.ts'
import { reconcileFacts } from '../../../../src/domain/fact/reconcile-facts.ts'
import { getProfiles } from '../../../../src/domain/profile/profile.ts'
import { refreshProfileDue, refreshUserProfile } from '../../../../src/domain/profile/refresh.ts'
import { CallFailed } from '../../../../src/providers/ports/call-failed.ts'
import { type FactJudge } from '../../../../src/providers/ports/fact-judge.ts'
import { type ProfileRequest } from '../../../../src/providers/ports/profile-writer.ts'
import { backends } from '../../../support/backend.ts'
import { useWorld } from '../../../support/world.ts'
import { SYSTEM } from '../../../../src/store/scope.ts'

const factOf = (text: string, day = 1) => {
  const [subject, predicate, object] = text.split(' | ') as [string, string, string]
  return { subject, predicate, object, observedAt: new Date(Date.UTC(2026, 4, day)) }
}

describe.each(backends)('profiles on $name', (backend) => {
  const world = useWorld(backend)

  it('contain the active facts about a user, and are updated when facts change', async () => {
    const { deps } = world
    const viewer = world.tenant().as('ada')
    await recordFacts(deps, viewer, {
      userId: 'ada',
      facts: [factOf('ada | lives in | Rome'), factOf('ada | likes | tea')],
    })
    const first = await refreshUserProfile(deps, viewer, { userId: 'ada' })
    expect(first.content).toBe('## Preferences\n- likes tea\n\n## Environment\n- lives in Rome')
    expect(first.tokenCount).toBe(await deps.tokens.count(first.content))
    await recordFacts(deps, viewer, {
      userId: 'ada',
      facts: [factOf('ada | lives in | Oslo', 2), factOf('ada | works at | Initech', 2)],
    })
    await reconcileFacts(deps, viewer, { userId: 'ada' })
    const next = await refreshUserProfile(deps, viewer, { userId: 'ada' })
    expect(next.content).toBe(
      '## Preferences\n- likes tea\n\n## Work\n- works at Initech\n\n## Environment\n- lives in Oslo',
    )
    expect((await getProfiles(deps, viewer, ['ada', 'bob'])).get('ada')).toEqual(next)
    expect(next.updatedAt > first.updatedAt).toBe(true)
  })

  it('are due again if a fact is written while the facts are reconciled', async () => {
    const viewer = world.tenant().as('ada')
    await recordFacts(world.deps, viewer, {
      userId: 'ada',
      facts: [
        factOf('ada | lives in | Lisbon'),
        factOf('ada | keeps bees on | the roof'),
        factOf('ada | keeps bees on | top of the house', 2),
      ],
    })
    let calls = 0
    const judge: FactJudge['judge'] = async () => {
      if (calls++ === 0) {
        await recordFacts(world.deps, viewer, { userId: 'ada', facts: [factOf('ada | lives in | Porto', 3)] })
      }
      return []
    }
    const deps: Deps = {
      ...world.deps,
      factServices: { ...world.deps.factServices, judge: { name: 'test', judge, close: async () => {} } },
    }
    let refreshes = 0
    while (await refreshProfileDue(deps, viewer.tenant, 'ada', 100)) refreshes += 1
    expect(refreshes).toBeLessThanOrEqual(3)
    const { content } = (await getProfiles(deps, viewer, ['ada'])).get('ada')!
    expect(content).toContain('lives in Porto')
    expect(content).not.toContain('Lisbon')
  })

  it('keep facts older than the newest recentK facts until they are retracted', async () => {
    const { deps } = world
    const viewer = world.tenant().as('ada')
    const {
      facts: [tea],
    } = await recordFacts(deps, viewer, { userId: 'ada', facts: [factOf('ada | likes | tea')] })
    await refreshUserProfile(deps, viewer, { userId: 'ada' })
    await recordFacts(deps, viewer, { userId: 'ada', facts: [factOf('ada | likes | jazz', 2)] })
    const lines = async () => (await refreshUserProfile(deps, viewer, { userId: 'ada', recentK: 1 })).content
    expect(await lines()).toBe('## Preferences\n- likes jazz\n- likes tea')
    await retractFact(deps, viewer, { factId: tea!.id })
    expect(await lines()).toBe('## Preferences\n- likes jazz')
  })

  it('contain only facts of public turns, and are shown only to viewers who see all of them', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada', 'bob')
    const secret = await tenant.append(conversationId, 'ada', 'psst', { audience: ['ada'] })
    const open = await tenant.append(conversationId, 'ada', 'hello')
    await recordFacts(deps, tenant.as('ada'), {
      facts: [
        { ...factOf('ada | fears | spiders'), sourceTurnId: secret.id },
        { ...factOf('ada | likes | tea'), sourceTurnId: open.id },
      ],
    })
    const { content } = await refreshUserProfile(deps, tenant.as('ada'), { userId: 'ada' })
    expect(content).toBe('## Preferences\n- likes tea')
    await addParticipant(deps, tenant.as('ada'), {
      conversationId,
      participant: { actor: 'carl', historyVisibility: 'SINCE_JOINED' },
    })
    const sees = async (actor: string) => (await getProfiles(deps, tenant.as(actor), ['ada'])).has('ada')
    expect([await sees('bob'), await sees('carl')]).toEqual([true, false])
    await expect(refreshUserProfile(deps, tenant.as('carl'), { userId: 'ada' })).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
    })
  })

  it('lose the facts of a deleted conversation', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const viewer = tenant.as('ada')
    const [kept, gone] = [await tenant.newConversation('ada'), await tenant.newConversation('ada')]
    await recordFacts(deps, viewer, { conversationId: kept, facts: [factOf('ada | likes | tea')] })
    await recordFacts(deps, viewer, { conversationId: gone, facts: [factOf('ada | likes | jazz')] })
    await refreshUserProfile(deps, viewer, { userId: 'ada' })
    expect(await deleteConversation(deps, viewer, gone)).toMatchObject({ facts: 1, profiles: 1 })
    expect((await getProfiles(deps, viewer, ['ada'])).size).toBe(0)
    expect((await refreshUserProfile(deps, viewer, { userId: 'ada' })).content).toBe('## Preferences\n- likes tea')
  })

  it('contain every fact after concurrent refreshes', async () => {
    const { deps } = world
    const viewer = world.tenant().as('ada')
    await Promise.all(
      Array.from({ length: 8 }, async (_, i) => {
        await recordFacts(deps, viewer, { userId: 'ada', facts: [factOf(`ada | likes | dish number ${i}`, i + 1)] })
        await refreshUserProfile(deps, viewer, { userId: 'ada' })
      }),
    )
    const { content } = await refreshUserProfile(deps, viewer, { userId: 'ada' })
    expect(content.split('\n').slice(1).sort()).toEqual(Array.from({ length: 8 }, (_, i) => `- likes dish number ${i}`))
  })

  it('fail for an unknown user, and store nothing', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const refresh = (userId: string) => refreshUserProfile(deps, tenant.as('bob'), { userId })
    await expect(refresh('carl')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await deps.db.of(SYSTEM).userProfile.count({ where: { tenant: tenant.name } })).toBe(0)
    const conversationId = await tenant.newConversation('ada', 'bob')
    expect(await refresh('ada')).toMatchObject({ content: '' })
    await recordFacts(deps, tenant.as('bob'), { userId: 'carl', facts: [factOf('carl | likes | tea')] })
    expect((await refresh('carl')).content).toContain('likes tea')
    // A fact that the viewer does not see reveals nothing about its user.
    const secret = await tenant.append(conversationId, 'ada', 'psst', { audience: ['ada'] })
    const fact = { ...factOf('eve | likes | tea'), sourceTurnId: secret.id }
    await recordFacts(deps, tenant.as('ada'), { userId: 'eve', facts: [fact] })
    await expect(refresh('eve')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('are written after the facts are reconciled', async () => {
    const { deps } = world
    const viewer = world.tenant().as('ada')
    const facts = [factOf('ada | lives in | Lisbon'), factOf('ada | lives in | Porto', 2)]
    await recordFacts(deps, viewer, { userId: 'ada', facts })
    const { content } = await refreshUserProfile(deps, viewer, { userId: 'ada' })
    expect(content).toBe('## Environment\n- lives in Porto')
  })

  describe('written by a model', () => {
    const withWriter = (write: (request: ProfileRequest) => Promise<string>): Deps => ({
      ...world.deps,
      factServices: { ...world.deps.factServices, profileWriter: { name: 'test', write, close: async () => {} } },
    })

    it('send the model only new and removed facts, and do not call it if there are none', async () => {
      const viewer = world.tenant().as('ada')
      const requests: ProfileRequest[] = []
      const deps = withWriter(async (request) => {
        requests.push(request)
        return `version ${requests.length}`
      })
      const {
        facts: [tea],
      } = await recordFacts(deps, viewer, { userId: 'ada', facts: [factOf('ada | likes | tea')] })
      const refresh = async () => (await refreshUserProfile(deps, viewer, { userId: 'ada' })).content
      expect([await refresh(), await refresh()]).toEqual(['version 1', 'version 1'])
      await recordFacts(deps, viewer, { userId: 'ada', facts: [factOf('ada | likes | jazz')] })
      await retractFact(deps, viewer, { factId: tea!.id })
      expect(await refresh()).toBe('version 2')
      expect(requests).toMatchObject([
        { previous: null, added: [{ object: 'tea', claimedBy: null }], removed: [] },
        { previous: 'version 1', added: [{ object: 'jazz' }], removed: [{ object: 'tea' }] },
      ])
    })

    it('send the model a claim again after the person confirmed it', async () => {
      const viewer = world.tenant().as('ada')
      const requests: ProfileRequest[] = []
      const deps = withWriter(async (request) => `version ${requests.push(request)}`)
      const fact = factOf('ada | likes | tea')
      await recordFacts(deps, { ...viewer, actor: 'bob' }, { userId: 'ada', facts: [fact] })
      const refresh = async () => (await refreshUserProfile(deps, viewer, { userId: 'ada' })).content
      expect([await refresh(), await refresh()]).toEqual(['version 1', 'version 1'])
      await recordFacts(deps, viewer, { userId: 'ada', facts: [fact] })
      expect([await refresh(), await refresh()]).toEqual(['version 2', 'version 2'])
      expect(requests.map(({ added }) => added)).toMatchObject([[{ claimedBy: 'bob' }], [{ claimedBy: null }]])
    })

    it('stay unchanged if the model fails', async () => {
      const viewer = world.tenant().as('ada')
      await recordFacts(world.deps, viewer, { userId: 'ada', facts: [factOf('ada | likes | tea')] })
      const { content } = await refreshUserProfile(world.deps, viewer, { userId: 'ada' })
      const failing = withWriter(() => Promise.reject(new CallFailed('It is down.', true)))
      await expect(refreshUserProfile(failing, viewer, { userId: 'ada' })).rejects.toMatchObject({
        code: 'PROVIDER_FAILED',
        retryable: true,
      })
      expect((await getProfiles(world.deps, viewer, ['ada'])).get('ada')!.content).toBe(content)
    })
  })
})
