// Automatic facts and profiles with the real handlers: factExtraction of a conversation turns extraction on, and a
// profile agrees with the active facts after every change of them.

import { afterEach, describe, expect, it, vi } from 'vitest'
import { loadConfig } from '../../../../src/config/config.ts'
import type { AutomaticThresholds } from '../../../../src/domain/kernel/automatic-thresholds.ts'
import { startJobs } from '../../../../src/domain/background/jobs.ts'
import { createConversation } from '../../../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../../../src/domain/trust/erasure/delete-conversation.ts'
import { GATHER_MS } from '../../../../src/domain/background/job/find-work.ts'
import { recordFacts, retractFact } from '../../../../src/domain/memory/fact/record.ts'
import { getProfiles } from '../../../../src/domain/memory/profile/profile.ts'
import { supersedeTurn } from '../../../../src/domain/turn/supersede.ts'
import { backends } from '../../../support/backend.ts'
import { fakeClock } from '../../../support/fake-clock.ts'
import { useWorld } from '../../../support/world.ts'
import { isLong } from '../../../support/long.ts'
import { SYSTEM } from '../../../../src/store/db/scope.ts'

const DEFAULTS = loadConfig({}).automatic

describe.each(backends)('automatic facts and profiles on $name', (backend) => {
  const clock = fakeClock()
  const world = useWorld(backend, {}, { clock })
  /** Waits until the check passes. Makes the jobs look for due work before each attempt. */
  const waitForJobs = (check: () => unknown) =>
    vi.waitFor(async () => {
      await clock.advance(GATHER_MS)
      await check()
    })
  let stop = async () => {}
  afterEach(() => stop())

  const start = async (automatic: AutomaticThresholds) => {
    stop = await startJobs({ ...world.deps, automatic })
  }
  const tenantWithConversation = async () => {
    const tenant = world.tenant()
    const viewer = tenant.as('ada')
    const newConversation = async () =>
      (await createConversation(world.deps, viewer, { factExtraction: true, participants: [{ actor: 'ada' }] }))
        .conversation.id
    const facts = () =>
      world.deps.db
        .of(SYSTEM)
        .fact.findMany({ where: { tenant: tenant.name, supersededAt: null }, orderBy: { object: 'asc' } })
    /** Waits until the profile of ada has this content; undefined for no profile. */
    const untilProfileIs = (content: string | undefined) =>
      waitForJobs(async () =>
        expect((await getProfiles(world.deps, viewer, ['ada'])).get('ada')?.content).toBe(content),
      )
    return { tenant, viewer, newConversation, facts, untilProfileIs }
  }

  it('extract facts from the first turn of a conversation with factExtraction, by default', async () => {
    const { tenant, newConversation, facts } = await tenantWithConversation()
    await start(DEFAULTS)
    await tenant.append(await newConversation(), 'ada', 'I live in Lisbon.')
    await waitForJobs(async () => expect(await facts()).toMatchObject([{ object: 'Lisbon' }]))
  })

  it('reconcile recorded facts by default, about a person or about nobody, and count no turns', async () => {
    const { tenant, viewer, newConversation, facts } = await tenantWithConversation()
    await start(DEFAULTS)
    const conversationId = await newConversation()
    const lives = (subject: string, object: string, day: number) =>
      recordFacts(world.deps, viewer, {
        conversationId,
        facts: [{ subject, predicate: 'lives in', object, observedAt: new Date(Date.UTC(2026, 0, day)) }],
      })
    await lives('Ada', 'Lisbon', 1)
    await lives('The committee', 'Oslo', 1)
    await lives('Ada', 'Rome', 2)
    await lives('The committee', 'Bern', 2)
    await waitForJobs(async () =>
      expect((await facts()).map(({ subject, object }) => `${subject} ${object}`)).toEqual([
        'The committee Bern',
        'Ada Rome',
      ]),
    )
    expect(
      await world.deps.db.of(SYSTEM).userProgress.findMany({ where: { tenant: tenant.name, turns: { gt: 0 } } }),
    ).toEqual([])
  })

  it('write a profile that follows a correction in a later turn', async () => {
    const { tenant, newConversation, untilProfileIs } = await tenantWithConversation()
    await start({ ...DEFAULTS, userSummaryEvery: 2 })
    const conversationId = await newConversation()
    await tenant.append(conversationId, 'ada', 'I live in Lisbon.')
    await tenant.append(conversationId, 'ada', 'How are you?')
    await untilProfileIs('## Environment\n- lives in Lisbon')
    await tenant.append(conversationId, 'ada', 'I moved to Porto.')
    await untilProfileIs('## Environment\n- lives in Porto')
  })

  it('refresh a profile after a fact is retracted, confirmed, or loses its source', async () => {
    const { deps } = world
    const { tenant, viewer, newConversation, facts, untilProfileIs } = await tenantWithConversation()
    await start({ ...DEFAULTS, userSummaryEvery: 100 })
    const [kept, gone] = [await newConversation(), await newConversation()]
    const turn = await tenant.append(kept, 'ada', 'I like jazz.')
    await tenant.append(gone, 'ada', 'I work at Initech.')
    await untilProfileIs('## Preferences\n- likes jazz\n\n## Work\n- works at Initech')
    await deleteConversation(deps, viewer, gone)
    await untilProfileIs('## Preferences\n- likes jazz')
    await supersedeTurn(deps, viewer, { turnId: turn.id, turn: { role: 'USER', content: 'I like tea.' } })
    await untilProfileIs('')
    // Extraction reads a newer version with the next turn.
    await tenant.append(kept, 'ada', 'Hello.')
    await untilProfileIs('## Preferences\n- likes tea')
    await recordFacts(deps, tenant.as('bob'), {
      userId: 'ada',
      conversationId: kept,
      facts: [{ subject: 'ada', predicate: 'owns', object: 'a boat' }],
    })
    await untilProfileIs(`## Preferences\n- likes tea\n\n## Environment\n- Claimed by "bob": "owns a boat"`)
    await recordFacts(deps, viewer, {
      userId: 'ada',
      conversationId: kept,
      facts: [{ subject: 'ada', predicate: 'owns', object: 'a boat' }],
    })
    await untilProfileIs('## Preferences\n- likes tea\n\n## Environment\n- owns a boat')
    const boat = (await facts()).find(({ object }) => object === 'a boat')!
    await retractFact(deps, viewer, { factId: boat.id })
    await untilProfileIs('## Preferences\n- likes tea')
    const where = { tenant: tenant.name, userId: 'ada' }
    // No turn made a refresh due, and no change is left.
    const { profilings, profiledTurns } = await deps.db.of(SYSTEM).userProgress.findFirstOrThrow({ where })
    expect([profilings, profiledTurns]).toEqual([0, 0n])
    const progress = await deps.db.of(SYSTEM).profileProgress.findMany({ where })
    expect(progress).toMatchObject([{ visibility: '', profiledChanges: progress[0]!.factChanges }])
  })

  it.runIf(isLong)(
    'work on one person in many conversations at once without deadlocks, and account for every fact',
    async () => {
      const { tenant, viewer, newConversation } = await tenantWithConversation()
      const warnings: unknown[] = []
      const log = {
        ...world.deps.log,
        warn: (...given: unknown[]) => void warnings.push(given),
      } as typeof world.deps.log
      stop = await startJobs({ ...world.deps, log, automatic: { ...DEFAULTS, userSummaryEvery: 1 } })
      const conversationIds = await Promise.all(Array.from({ length: 6 }, newConversation))
      const FOODS = ['apples', 'bread', 'cheese', 'dates', 'eggs', 'figs', 'grapes', 'honey']
      await Promise.all(
        conversationIds.map(async (conversationId, n) => {
          // Each food is named in two conversations or more, and each conversation names a different home.
          for (const food of [...FOODS.slice(n), ...FOODS.slice(0, n)].slice(0, 4)) {
            await tenant.append(conversationId, 'ada', `I like ${food}.`)
          }
          await tenant.append(
            conversationId,
            'ada',
            `I live in ${['Rome', 'Oslo', 'Bern', 'Lima', 'Cork', 'Nice'][n]}.`,
          )
        }),
      )
      await waitForJobs(async () => {
        const lines = (await getProfiles(world.deps, viewer, ['ada'])).get('ada')?.content.split('\n') ?? []
        expect(lines.filter((line) => line.startsWith('- likes')).sort()).toEqual(
          FOODS.map((food) => `- likes ${food}`),
        )
        expect(lines.filter((line) => line.startsWith('- lives'))).toHaveLength(1)
      })
      expect(JSON.stringify(warnings)).not.toMatch(/deadlock/i)
      expect(warnings).toEqual([])
    },
  )
})
