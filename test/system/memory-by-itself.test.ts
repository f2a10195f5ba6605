// What users get without calling anything: facts that contradict each other do not stay active, no context quotes both of
// them, and profiles contain the facts of MEMBERS conversations, for those who see them.

import { afterEach, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { startJobs } from '../../src/domain/background/jobs.ts'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { buildContext } from '../../src/domain/memory/context/build.ts'
import { getFactPage } from '../../src/domain/memory/fact/fact.ts'
import { recordFacts } from '../../src/domain/memory/fact/record.ts'
import { getProfiles } from '../../src/domain/memory/profile/profile.ts'
import { refreshUserProfile } from '../../src/domain/memory/profile/refresh.ts'
import { backends } from '../support/backend.ts'
import { useWorld } from '../support/world.ts'

const DEFAULTS = loadConfig({}).automatic

describe.each(backends)('memory by itself on $name', (backend) => {
  const world = useWorld(backend)
  let stop = async () => {}
  afterEach(() => stop())

  test('recorded facts do not stay contradictory, and a context never says both', async () => {
    const { deps } = world
    stop = await startJobs({ ...deps, automatic: DEFAULTS })
    const tenant = world.tenant()
    const ada = tenant.as('ada')
    const conversationId = await tenant.newConversation({ actor: 'ada', displayName: 'Ada' })
    await tenant.append(conversationId, 'ada', 'Where do I live?')
    for (const object of ['Lisbon', 'Rome']) {
      await recordFacts(deps, ada, { conversationId, facts: [{ subject: 'Ada', predicate: 'lives in', object }] })
    }
    await vi.waitFor(async () =>
      expect((await getFactPage(deps, ada, {})).items.map(({ object }) => object)).toEqual(['Rome']),
    )
    const { messages } = await buildContext(deps, ada, { conversationId, includeFacts: true, includeProfile: true })
    expect(JSON.stringify(messages)).toContain('Rome')
    expect(JSON.stringify(messages)).not.toContain('Lisbon')
  })

  test('profiles are not empty where conversations are MEMBERS, as they are once clients log in', async () => {
    const { deps } = world
    stop = await startJobs({ ...deps, automatic: { ...DEFAULTS, userSummaryEvery: 10 } })
    const tenant = world.tenant()
    const ada = tenant.as('ada')
    const newConversation = async (...actors: string[]) => {
      const participants = actors.map((actor) => ({ actor }))
      return (await createConversation(deps, ada, { visibility: 'MEMBERS', participants })).conversation.id
    }
    const [shared, own] = [await newConversation('ada', 'bob'), await newConversation('ada')]
    const record = (conversationId: string, predicate: string, object: string) =>
      recordFacts(deps, ada, { conversationId, userId: 'ada', facts: [{ subject: 'ada', predicate, object }] })
    await record(shared, 'likes', 'tea')
    await record(own, 'works at', 'Initech')
    const seenBy = async (actor: string) => (await getProfiles(deps, tenant.as(actor), ['ada'])).get('ada')?.content
    const whole = '## Preferences\n- likes tea\n\n## Work\n- works at Initech'
    await vi.waitFor(async () => expect(await seenBy('ada')).toBe(whole))
    expect([await seenBy('bob'), await seenBy('eve')]).toEqual(['## Preferences\n- likes tea', undefined])
    const ofAda = await refreshUserProfile(deps, ada, { userId: 'ada' })
    const ofBob = await refreshUserProfile(deps, tenant.as('bob'), { userId: 'ada' })
    const ofEve = await refreshUserProfile(deps, tenant.as('eve'), { userId: 'ada' })
    expect([ofAda, ofBob, ofEve].map(({ content }) => content)).toEqual([whole, '## Preferences\n- likes tea', ''])
    const { messages } = await buildContext(deps, tenant.as('bob'), { conversationId: shared, includeProfile: true })
    expect(JSON.stringify(messages)).toContain('likes tea')
    expect(JSON.stringify(messages)).not.toContain('Initech')
  })
})
