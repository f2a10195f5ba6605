// What users get without calling anything: facts that contradict each other do not stay active, and no context quotes
// both of them.

import { afterEach, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { startJobs } from '../../src/domain/background/jobs.ts'
import { buildContext } from '../../src/domain/context/build.ts'
import { getFactPage } from '../../src/domain/fact/fact.ts'
import { recordFacts } from '../../src/domain/fact/record.ts'
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
})
