// Concurrent writes of summaries: each writer plans its step from the state it has read, and the step is written only
// if nothing relevant has changed since.

import { beforeEach, describe, expect, it } from 'vitest'
import type { Deps } from '../../../../../src/domain/deps.ts'
import {
  coverSpan,
  FOLD_AT,
  findSpan,
  foldLevel,
  readCompactionState,
} from '../../../../../src/domain/memory/summary/step.ts'
import { getSummaries } from '../../../../../src/domain/memory/summary/summary.ts'
import { writeSummary } from '../../../../../src/store/sql/memory/summary/write-summary.ts'
import { backends } from '../../../../support/backend.ts'
import { createFakeSummarizer, expectCovering, withSummarizer } from '../../../../support/covering.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const ALL = { min: 1, max: Infinity, limit: Infinity, through: Infinity, tokens: 8_000 }

describe.each(backends)('a compaction step on $name', (backend) => {
  const world = useWorld(backend)
  const model = createFakeSummarizer()
  let deps: Deps
  let tenant: Tenant
  let conversationId: string
  beforeEach(async () => {
    deps = withSummarizer(world.deps, model)
    tenant = world.tenant()
    conversationId = await tenant.newConversation('ada')
  })

  const readState = async () => (await readCompactionState(deps, tenant.name, conversationId))!
  const cover = async (strategy: 'ROLLING' | 'HIERARCHICAL', pending = readState()) => {
    const state = await pending
    return coverSpan(deps, state, { span: await findSpan(deps, state, ALL), strategy, summarizer: model })
  }

  it('is written by only one of several writers that cover the same turns', async () => {
    await tenant.append(conversationId, 'ada', 'one')
    const state = readState()
    const written = await Promise.all([cover('ROLLING', state), cover('ROLLING', state), cover('HIERARCHICAL', state)])
    expect(written.filter(Boolean)).toHaveLength(1)
    await expectCovering(deps, conversationId)
  })

  it('is written by only one of several writers that replace the same summaries', async () => {
    for (let n = 0; n < FOLD_AT; n++) {
      await tenant.append(conversationId, 'ada', `turn ${n}`)
      await cover('HIERARCHICAL')
    }
    await tenant.append(conversationId, 'ada', 'the last')
    const state = await readState()
    expect(state.current).toHaveLength(FOLD_AT)
    const written = await Promise.all([
      foldLevel(deps, state, model),
      foldLevel(deps, state, model),
      coverSpan(deps, state, { span: await findSpan(deps, state, ALL), strategy: 'ROLLING', summarizer: model }),
    ])
    expect(written.filter(Boolean)).toHaveLength(1)
    await expectCovering(deps, conversationId)
  })

  it('keeps replaced summaries readable by id', async () => {
    await tenant.append(conversationId, 'ada', 'one')
    const first = (await cover('ROLLING'))!
    await tenant.append(conversationId, 'ada', 'two')
    const second = (await cover('ROLLING'))!
    const found = await getSummaries(deps, tenant.as('ada'), [first, second, 'sum_x', conversationId])
    expect([...found.keys()].sort()).toEqual([first, second].sort())
    expect((await getSummaries(deps, world.tenant().as('ada'), [first])).size).toBe(0)
  })

  it('writes nothing for another tenant or in a deleted conversation', async () => {
    const summary = {
      tenant: 'nobody',
      conversationId,
      id: 'sum_1',
      level: 0,
      to: 1,
      content: 'x',
      tokens: 1,
      model: 'm',
      current: [],
      replaces: [],
      turns: [],
    }
    expect((await writeSummary(deps.db, summary)).outcome).toBe('missing')
    expect(await readCompactionState(deps, tenant.name, 'conv_gone')).toBeNull()
  })
})
