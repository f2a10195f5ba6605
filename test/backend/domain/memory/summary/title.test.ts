// Automatic titles: the times at which they are written, the titles that they never replace, and the viewers who see
// them.

import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { startJobs } from '../../../../../src/domain/background/jobs.ts'
import {
  createConversation,
  getConversations,
  updateConversation,
} from '../../../../../src/domain/conversation/conversation.ts'
import { getConversationPage } from '../../../../../src/domain/conversation/conversation-page.ts'
import type { Deps } from '../../../../../src/domain/deps.ts'
import { GATHER_MS } from '../../../../../src/domain/background/job/find-work.ts'
import { QUEUES } from '../../../../../src/domain/background/job/worker.ts'
import { addParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { turnsForTitle, writeTitleDue } from '../../../../../src/domain/memory/summary/title.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { ProviderFailed } from '../../../../../src/errors.ts'
import { CallFailed } from '../../../../../src/providers/ports/call-failed.ts'
import {
  readDueTitles,
  readDueTitlesAmong,
  type TitleTurn,
} from '../../../../../src/store/sql/conversation/read-due-titles.ts'
import { TITLE_CHARACTERS } from '../../../../../src/text/title.ts'
import { backends } from '../../../../support/backend.ts'
import { createFakeSummarizer, withSummarizer } from '../../../../support/covering.ts'
import { fakeClock } from '../../../../support/fake-clock.ts'
import { casesOf } from '../../../../support/long.ts'
import { read, sawSeq } from '../../../../support/reading.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'

const turn = (role: string, text: string) => ({ role, text }) as TitleTurn

it('an automatic title is made from the requests of users, or from all turns if there are none', () => {
  const all = [turn('USER', 'a'), turn('ASSISTANT', 'b'), turn('USER', ' ')]
  expect(turnsForTitle(all).map(({ text }) => text)).toEqual(['a'])
  expect(turnsForTitle(all.slice(1)).map(({ text }) => text)).toEqual(['b'])
  expect(turnsForTitle([])).toEqual([])
})

describe.each(backends)('an automatic title on $name', (backend) => {
  const world = useWorld(backend)
  const { signal } = new AbortController()

  async function start(
    input: Parameters<typeof createConversation>[2] = {},
    texts = ['Plan the harbour festival', 'Yes'],
  ) {
    const tenant = world.tenant()
    const { conversation } = await createConversation(world.deps, tenant.as('ann'), input)
    for (const text of texts) await tenant.append(conversation.id, 'ann', text)
    return { tenant, conversationId: conversation.id }
  }
  const write = (conversationId: string, deps = world.deps) => writeTitleDue(deps, conversationId, signal)
  const titleOf = async (tenant: Tenant, conversationId: string, actor = 'ann') =>
    (await getConversations(world.deps, tenant.as(actor), [conversationId])).get(conversationId)?.title
  const isDue = async (conversationId: string) => {
    const among = await readDueTitlesAmong(world.deps.db, [conversationId])
    const all = (await readDueTitles(world.deps.db, '', 10_000)).filter(({ key }) => key === conversationId)
    expect(all).toEqual(among)
    return among.length === 1
  }

  it('is written once, after two turns, and announced to subscribers', async () => {
    const { tenant, conversationId } = await start({}, ['Plan the harbour festival'])
    expect([await isDue(conversationId), await write(conversationId)]).toEqual([false, 0])
    const reading = await read(world.deps, tenant.as('ann'), { conversationId })
    await tenant.append(conversationId, 'bob', 'Yes, gladly.', { role: 'ASSISTANT' })
    const seq = (await tenant.lastSeq(conversationId))!
    expect([await isDue(conversationId), await write(conversationId)]).toEqual([true, 1])
    expect(await titleOf(tenant, conversationId)).toBe('Plan the harbour festival')
    await reading.until('the update', sawSeq(seq + 1))
    expect(reading.events.at(-1)).toMatchObject({ type: 'ConversationUpdated', seq: seq + 1 })
    await reading.stop()
    expect([await isDue(conversationId), await write(conversationId)]).toEqual([false, 0])
    expect(await tenant.lastSeq(conversationId)).toBe(seq + 1)
  })

  it('is tried again after twice as many turns while there is only small talk', async () => {
    const { tenant, conversationId } = await start({}, ['Hi!', 'Hello, how are you?'])
    expect([await write(conversationId), await isDue(conversationId)]).toEqual([1, false])
    await tenant.append(conversationId, 'ann', 'I need a permit for the harbour festival.')
    expect(await isDue(conversationId)).toBe(false)
    await tenant.append(conversationId, 'ann', 'Great.')
    const seq = await tenant.lastSeq(conversationId)
    expect([await isDue(conversationId), await write(conversationId)]).toEqual([true, 1])
    expect(await titleOf(tenant, conversationId)).toBe('Permit for the harbour festival')
    expect(await tenant.lastSeq(conversationId)).toBe(seq! + 1)
  })

  it('is not tried again after an attempt on sixteen turns of small talk', async () => {
    const { tenant, conversationId } = await start({}, Array(16).fill('Hello!'))
    expect([await write(conversationId), await isDue(conversationId)]).toEqual([1, false])
    for (let n = 0; n < 40; n++) await tenant.append(conversationId, 'ann', 'Hello!')
    expect(await isDue(conversationId)).toBe(false)
  })

  it('replaces no given title, and is written after the title is cleared, unless it is switched off', async () => {
    const { tenant, conversationId } = await start({ title: 'Given' })
    const update = (change: object) => updateConversation(world.deps, tenant.as('ann'), { conversationId, ...change })
    expect([await isDue(conversationId), await write(conversationId)]).toEqual([false, 0])
    await update({ title: null, automaticTitle: false })
    expect([await isDue(conversationId), await titleOf(tenant, conversationId)]).toEqual([false, null])
    expect(await update({ automaticTitle: null })).toMatchObject({ automaticTitle: true })
    await write(conversationId)
    expect(await titleOf(tenant, conversationId)).toBe('Plan the harbour festival')
    await update({ title: 'Given again' })
    expect([await isDue(conversationId), await write(conversationId)]).toEqual([false, 0])
    const off = await start({ automaticTitle: false })
    expect([await isDue(off.conversationId), await write(off.conversationId)]).toEqual([false, 0])
  })

  it('is dropped if a title is given, or a source is edited, while it is made', async () => {
    const model = createFakeSummarizer()
    const deps = withSummarizer(world.deps, model)
    const given = await start()
    model.before = async () => {
      await updateConversation(world.deps, given.tenant.as('ann'), {
        conversationId: given.conversationId,
        title: 'Given',
      })
    }
    expect(await write(given.conversationId, deps)).toBe(0)
    expect(await titleOf(given.tenant, given.conversationId)).toBe('Given')
    const edited = await start({}, ['first'])
    const { id } = await edited.tenant.append(edited.conversationId, 'ann', 'second')
    model.before = async () => {
      await supersedeTurn(world.deps, edited.tenant.as('ann'), { turnId: id, turn: { role: 'USER', content: 'other' } })
    }
    expect(await write(edited.conversationId, deps)).toBe(0)
    expect([await titleOf(edited.tenant, edited.conversationId), await isDue(edited.conversationId)]).toEqual([
      null,
      true,
    ])
  })

  it('is made again after an edit of a turn that it was made from; cleared if only small talk is left', async () => {
    const { tenant, conversationId } = await start({}, ['Hi'])
    const { id } = await tenant.append(conversationId, 'ann', 'Plan the secret party')
    await write(conversationId)
    expect(await titleOf(tenant, conversationId)).toBe('Plan the secret party')
    const later = await tenant.append(conversationId, 'ann', 'something else')
    const edit = async (turnId: string, content: string) =>
      (await supersedeTurn(world.deps, tenant.as('ann'), { turnId, turn: { role: 'USER', content } })).turn.id
    await edit(later.id, 'something different')
    expect(await isDue(conversationId)).toBe(false)
    const second = await edit(id, 'Plan the harbour festival')
    expect([await isDue(conversationId), await write(conversationId)]).toEqual([true, 1])
    expect(await titleOf(tenant, conversationId)).toBe('Plan the harbour festival')
    await edit(second, 'Hello')
    await edit((await tenant.append(conversationId, 'ann', 'ok')).id, 'okay')
    await world.deps.db
      .of(SYSTEM)
      .turn.updateMany({ where: { conversationId, text: 'something different' }, data: { text: 'ok' } })
    expect([await isDue(conversationId), await write(conversationId)]).toEqual([true, 1])
    expect(await titleOf(tenant, conversationId)).toBeNull()
  })

  it('uses no turn with an audience', async () => {
    const { tenant, conversationId } = await start({ participants: [{ actor: 'bob' }] }, [])
    for (const text of ['Plan the zanzibar surprise', 'The zanzibar surprise is on Friday']) {
      await tenant.append(conversationId, 'ann', text, { audience: ['bob'] })
    }
    expect(await isDue(conversationId)).toBe(false)
    for (const text of ['Hello', 'Hi']) await tenant.append(conversationId, 'ann', text)
    expect([await write(conversationId), await titleOf(tenant, conversationId)]).toEqual([1, null])
  })

  it('is seen and found only by viewers who see all turns that it was made from', async () => {
    const { tenant, conversationId } = await start()
    await write(conversationId)
    for (const [actor, historyVisibility] of [
      ['all', 'ALL'],
      ['late', 'SINCE_JOINED'],
    ] as const) {
      await addParticipant(world.deps, tenant.as('ann'), { conversationId, participant: { actor, historyVisibility } })
    }
    for (const [actor, seesIt] of [
      ['ann', true],
      ['stranger', true],
      ['all', true],
      ['late', false],
    ] as const) {
      const filter = { search: 'harbour' }
      const { items } = await getConversationPage(world.deps, tenant.as(actor), { filter })
      expect([await titleOf(tenant, conversationId, actor), items.length]).toEqual(
        seesIt ? ['Plan the harbour festival', 1] : [null, 0],
      )
    }
    await updateConversation(world.deps, tenant.as('ann'), { conversationId, title: 'The harbour' })
    expect(await titleOf(tenant, conversationId, 'late')).toBe('The harbour')
  })

  it('is found by search if and only if it is shown, with any windows', async () => {
    const { tenant, conversationId } = await start({ title: 'the harbour', participants: [{ actor: 'bob' }] })
    const filter = { search: 'harbour' }
    const windows = fc
      .array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 })
      .map((all) => all.sort((a, b) => a - b))
    const seen = new Set<boolean>()
    await fc.assert(
      fc.asyncProperty(windows, fc.integer({ min: 1, max: 10 }), fc.nat(4), async (list, titleFrom, more) => {
        const titleSeq = titleFrom + more
        await world.deps.db
          .of(SYSTEM)
          .participant.updateMany({ where: { conversationId, actor: 'bob' }, data: { windows: list } })
        await world.deps.db
          .of(SYSTEM)
          .conversation.update({ where: { id: conversationId }, data: { titleFrom, titleSeq } })
        const isShown = (await titleOf(tenant, conversationId, 'bob')) !== null
        const { items } = await getConversationPage(world.deps, tenant.as('bob'), { filter })
        expect(items.length).toBe(Number(isShown))
        seen.add(isShown)
      }),
      { numRuns: casesOf(1_000) },
    )
    expect(seen.size).toBe(2)
  })

  it('made by a model is cut to one line of at most TITLE_CHARACTERS, and stays due after a failed call', async () => {
    const { tenant, conversationId } = await start()
    const model = createFakeSummarizer()
    const deps = withSummarizer({ ...world.deps, log: { ...world.deps.log, warn: () => {} } }, model)
    model.before = async () => {
      throw new CallFailed('down', true)
    }
    await expect(write(conversationId, deps)).rejects.toThrow(ProviderFailed)
    expect(await isDue(conversationId)).toBe(true)
    const verbose = withSummarizer(deps, { ...model, title: async () => `A\ntitle \0of ${'many '.repeat(100)}words` })
    expect(await write(conversationId, verbose)).toBe(1)
    const title = (await titleOf(tenant, conversationId))!
    expect(title).toMatch(/^A title of many .*…$/)
    expect([...title].length).toBeLessThanOrEqual(TITLE_CHARACTERS)
  })

  let stop = async () => {}
  afterEach(() => stop())

  it('is written by the jobs of several processes once, and not if the setting is off', async () => {
    const clock = fakeClock()
    /** The names of the jobs for which each process has looked, once for each time. */
    let looked: string[][] = []
    const startProcess = (titles: boolean) => {
      const names: string[] = []
      looked.push(names)
      const send: Deps['jobs']['send'] = (name, subjects) => {
        names.push(name)
        return world.deps.jobs.send(name, subjects)
      }
      const automatic = { ...world.deps.automatic, titles }
      return startJobs({ ...world.deps, clock, jobs: { ...world.deps.jobs, send }, automatic })
    }
    const jobs = async (titles: boolean) => {
      looked = []
      const stops = [await startProcess(titles), await startProcess(titles)]
      stop = async () => void (await Promise.all(stops.map((each) => each())))
    }
    /** Waits until the check passes. Makes the processes look for due work before each attempt. */
    const waitForJobs = (check: () => unknown) =>
      vi.waitFor(async () => {
        await clock.advance(GATHER_MS)
        await check()
      })
    await jobs(false)
    const off = await start()
    // Each process looks once at its start, and again for the conversation.
    const times = (names: string[]) => names.filter((name) => name === QUEUES.CONTINUE_RUNS).length
    await waitForJobs(() => expect(Math.min(...looked.map(times))).toBeGreaterThanOrEqual(2))
    expect(looked.flat()).not.toContain(QUEUES.WRITE_TITLE)
    expect(await titleOf(off.tenant, off.conversationId)).toBeNull()
    await stop()
    await jobs(true)
    const { tenant, conversationId } = await start()
    await waitForJobs(async () => expect(await titleOf(tenant, conversationId)).toBe('Plan the harbour festival'))
    await waitForJobs(async () => expect(await titleOf(off.tenant, off.conversationId)).not.toBeNull())
    const updated = await world.deps.db.of(SYSTEM).entry.count({ where: { conversationId, kind: 'UPDATED' } })
    expect(updated).toBe(1)
  })
})
