// Profiles: written from the facts about a user in each visibility set, updated when facts change, and shown only to
// viewers who see all of their sources.

import { describe, expect, it } from 'vitest'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import type { Deps } from '../../../../../src/domain/deps.ts'
import { createConversation, updateConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { addParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { recordFacts, retractFact } from '../../../../../src/domain/memory/fact/record.ts'
import { reconcileFacts } from '../../../../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import { getProfiles } from '../../../../../src/domain/memory/profile/profile.ts'
import { refreshProfileDue, refreshUserProfile } from '../../../../../src/domain/memory/profile/refresh.ts'
import { CallFailed } from '../../../../../src/providers/ports/call-failed.ts'
import { type FactJudge } from '../../../../../src/providers/ports/fact-judge.ts'
import { type ProfileRequest } from '../../../../../src/providers/ports/profile-writer.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'

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
    while (await refreshProfileDue(deps, { tenant: viewer.tenant, userId: 'ada' }, 100)) refreshes += 1
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

  it('contain only facts that the viewer sees, and are shown only to viewers who see all of a set', async () => {
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
    expect(content).toBe('## About\n- fears spiders\n\n## Preferences\n- likes tea')
    const ofBob = (await getProfiles(deps, tenant.as('bob'), ['ada'])).get('ada')!
    expect(ofBob.content).toBe('## Preferences\n- likes tea')
    expect(ofBob.tokenCount).toBe(await deps.tokens.count(ofBob.content))
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

  describe('of MEMBERS conversations', () => {
    const members = async (tenant: Tenant, ...actors: string[]) => {
      const participants = actors.map((actor) => ({ actor }))
      const input = { visibility: 'MEMBERS' as const, participants }
      return (await createConversation(world.deps, tenant.as('ada'), input)).conversation.id
    }
    const seenBy = async (tenant: Tenant, actor: string) =>
      (await getProfiles(world.deps, tenant.as(actor), ['ada'])).get('ada')?.content ?? null

    it('combine the sets that the viewer sees, and resolve their contradictions', async () => {
      const { deps } = world
      const tenant = world.tenant()
      const ada = tenant.as('ada')
      const [one, two] = [await members(tenant, 'ada', 'bob'), await members(tenant, 'ada')]
      const record = (conversationId: string | undefined, text: string, n: number) =>
        recordFacts(deps, ada, { conversationId, userId: 'ada', facts: [factOf(text, n)] })
      await record(undefined, 'ada | likes | jazz', 1)
      await record(one, 'ada | lives in | Lisbon', 1)
      await record(one, 'ada | likes | tea', 2)
      await record(two, 'ada | lives in | Rome', 3)
      await record(two, 'ada | likes | tea', 3)
      const { content, tokenCount } = await refreshUserProfile(deps, ada, { userId: 'ada' })
      expect(content).toBe('## Preferences\n- likes tea\n- likes jazz\n\n## Environment\n- lives in Rome')
      expect(tokenCount).toBe(await deps.tokens.count(content))
      expect(await seenBy(tenant, 'bob')).toBe(
        '## Preferences\n- likes tea\n- likes jazz\n\n## Environment\n- lives in Lisbon',
      )
      expect(await seenBy(tenant, 'eve')).toBe('## Preferences\n- likes jazz')
      // In a context that ada asks for and bob reads, only what both see counts.
      const shared = await getProfiles(deps, ada, ['ada'], tenant.as('bob'))
      expect(shared.get('ada')!.content).toContain('Lisbon')
      expect(shared.get('ada')!.content).not.toContain('Rome')
    })

    it('follow who joins and leaves, what is retracted, and which conversations are deleted or opened', async () => {
      const { deps } = world
      const tenant = world.tenant()
      const ada = tenant.as('ada')
      const conversationId = await members(tenant, 'ada')
      const { facts } = await recordFacts(deps, ada, {
        conversationId,
        facts: [factOf('ada | likes | tea'), factOf('ada | likes | jazz')],
      })
      await refreshUserProfile(deps, ada, { userId: 'ada' })
      const add = (actor: string, historyVisibility: 'ALL' | 'SINCE_JOINED') =>
        addParticipant(deps, ada, { conversationId, participant: { actor, historyVisibility } })
      await add('bob', 'ALL')
      await add('carl', 'SINCE_JOINED')
      expect([await seenBy(tenant, 'bob'), await seenBy(tenant, 'carl'), await seenBy(tenant, 'eve')]).toEqual([
        '## Preferences\n- likes jazz\n- likes tea',
        '',
        '',
      ])
      await retractFact(deps, ada, { factId: facts[0]!.id })
      expect((await refreshUserProfile(deps, ada, { userId: 'ada' })).content).toBe('## Preferences\n- likes jazz')
      await updateConversation(deps, ada, { conversationId, visibility: 'OPEN' })
      expect(await seenBy(tenant, 'bob')).toBe('')
      while (await refreshProfileDue(deps, { tenant: tenant.name, userId: 'ada' }, 100));
      expect(await seenBy(tenant, 'eve')).toBe('## Preferences\n- likes jazz')
      await updateConversation(deps, ada, { conversationId, visibility: 'MEMBERS' })
      while (await refreshProfileDue(deps, { tenant: tenant.name, userId: 'ada' }, 100));
      expect([await seenBy(tenant, 'eve'), await seenBy(tenant, 'bob')]).toEqual(['', '## Preferences\n- likes jazz'])
      await deleteConversation(deps, ada, conversationId)
      expect(await seenBy(tenant, 'bob')).toBe('')
      const left = await deps.db.of(SYSTEM).profileProgress.findMany({ where: { tenant: tenant.name } })
      expect(left.map(({ visibility }) => visibility)).toEqual([''])
    })

    it('are equal for a viewer in two tenants that differ only in what the viewer does not see', async () => {
      const { deps } = world
      const contents: unknown[] = []
      for (const isHidden of [false, true]) {
        const tenant = world.tenant()
        const ada = tenant.as('ada')
        const [shared, hidden] = [await members(tenant, 'ada', 'bob'), await members(tenant, 'ada')]
        const record = (conversationId: string | undefined, text: string, n: number) =>
          recordFacts(deps, ada, { conversationId, userId: 'ada', facts: [factOf(text, n)] })
        await record(shared, 'ada | lives in | Lisbon', 1)
        await record(undefined, 'ada | likes | jazz', 1)
        while (await refreshProfileDue(deps, { tenant: tenant.name, userId: 'ada' }, 100));
        const stored = async () => (await getProfiles(deps, tenant.as('bob'), ['ada'])).get('ada')!
        const before = await stored()
        if (isHidden) {
          await record(hidden, 'ada | lives in | Rome', 2)
          await record(hidden, 'ada | likes | tea', 2)
        }
        while (await refreshProfileDue(deps, { tenant: tenant.name, userId: 'ada' }, 100));
        await refreshUserProfile(deps, ada, { userId: 'ada' })
        // Not even the time tells that something happened elsewhere.
        expect(await stored()).toEqual(before)
        const { updatedAt: _, madeOf: _ids, ...rest } = before
        contents.push(rest)
      }
      expect(contents[1]).toEqual(contents[0])
      expect(contents[0]).toMatchObject({
        content: '## Preferences\n- likes jazz\n\n## Environment\n- lives in Lisbon',
      })
    })

    it('are refreshed set by set, at most 20 of them on demand, the newest first', async () => {
      const { deps } = world
      const tenant = world.tenant()
      const ada = tenant.as('ada')
      for (let n = 0; n < 22; n++) {
        await recordFacts(deps, ada, {
          conversationId: await members(tenant, 'ada'),
          facts: [factOf(`ada | likes | dish ${n}`)],
        })
      }
      const { content } = await refreshUserProfile(deps, ada, { userId: 'ada' })
      expect(content.split('\n').slice(1)).toHaveLength(20)
      expect(content).not.toContain('dish 0')
      const count = () => deps.db.of(SYSTEM).userProfile.count({ where: { tenant: tenant.name } })
      expect(await count()).toBe(21)
      expect(await refreshProfileDue(deps, { tenant: tenant.name, userId: 'ada' }, 100)).toBe(true)
      while (await refreshProfileDue(deps, { tenant: tenant.name, userId: 'ada' }, 100));
      expect(await count()).toBe(23)
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

    it('are combined by putting the texts of the sets one after the other, as far as they fit', async () => {
      const tenant = world.tenant()
      const ada = tenant.as('ada')
      const input = { visibility: 'MEMBERS' as const, participants: [{ actor: 'ada' }] }
      const conversationId = (await createConversation(world.deps, ada, input)).conversation.id
      const deps = withWriter(async ({ added }) => `Ada likes ${added[0]?.object ?? 'nothing'}.`)
      const record = (object: string, to?: string) =>
        recordFacts(deps, ada, { conversationId: to, userId: 'ada', facts: [factOf(`ada | likes | ${object}`)] })
      await record('tea')
      await record('jazz', conversationId)
      await refreshUserProfile(deps, ada, { userId: 'ada' })
      const { content } = (await getProfiles(deps, ada, ['ada'])).get('ada')!
      expect(content.split('\n\n').sort()).toEqual(['Ada likes jazz.', 'Ada likes tea.'])
      expect((await getProfiles(deps, tenant.as('eve'), ['ada'])).get('ada')!.content).toBe('Ada likes tea.')
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
