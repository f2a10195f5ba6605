// Recording of facts by clients: stored once, visible to the viewers of their source turn, and retracted with a reason.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { getFactPage, getFactPages, getFacts } from '../../../../../src/domain/memory/fact/fact.ts'
import { reconcileFacts } from '../../../../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import { recordFacts, retractFact } from '../../../../../src/domain/memory/fact/record.ts'
import { addParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { appendTurn, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { InvalidInput } from '../../../../../src/errors.ts'
import { auditMemory } from '../../../../../src/domain/memory/fact/audit.ts'
import { backends } from '../../../../support/backend.ts'
import { casesOf } from '../../../../support/long.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../support/process.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { isLong } from '../../../../support/long.ts'

const rome = { subject: 'Ada', predicate: 'lives in', object: 'Rome' }
const at = (day: number) => new Date(Date.UTC(2026, 0, day))

describe.each(backends)('facts on $name', (backend) => {
  const world = useWorld(backend)

  it('are stored once, regardless of case and spaces', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation({ actor: 'ada', displayName: 'Ada' })
    const first = await recordFacts(deps, tenant.as('ada'), { conversationId, facts: [rome] })
    expect(first.exactDuplicatesSkipped).toBe(0)
    expect(first.facts).toMatchObject([{ ...rome, userId: 'ada', confidence: 1, saidBy: 'HUMAN', conversationId }])
    const again = await recordFacts(deps, tenant.as('ada'), {
      conversationId,
      facts: [{ ...rome, object: ' ROME ' }, rome, { ...rome, object: 'Oslo' }],
    })
    expect(again).toMatchObject({ exactDuplicatesSkipped: 2, facts: [{ object: 'Oslo' }] })
    const page = await getFactPage(deps, tenant.as('ada'), { filter: { userId: 'ada' } })
    expect(page.items.map(({ object }) => object)).toEqual(['Oslo', 'Rome'])
  })

  it('of a private turn are visible to its audience only', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada', 'bob', 'carl')
    const turn = await tenant.append(conversationId, 'ada', 'psst', { audience: ['bob'] })
    const fact = { subject: 'ada', predicate: 'fears', object: 'spiders', sourceTurnId: turn.id }
    const { facts } = await recordFacts(deps, tenant.as('bob'), { facts: [fact] })
    expect(facts).toHaveLength(1)
    const seenBy = async (actor: string) => (await getFactPage(deps, tenant.as(actor), {})).items.length
    expect([await seenBy('ada'), await seenBy('bob'), await seenBy('carl'), await seenBy('dora')]).toEqual([1, 1, 0, 0])
    await expect(retractFact(deps, tenant.as('carl'), { factId: facts[0]!.id })).rejects.toThrow('There is no fact')
  })

  it('are kept with the reason after they are retracted', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const {
      facts: [fact],
    } = await recordFacts(deps, tenant.as('ada'), { facts: [rome] })
    const retracted = await retractFact(deps, tenant.as('ada'), { factId: fact!.id, reason: 'a slip' })
    expect(retracted).toMatchObject({ supersedeReason: 'RETRACTED', supersedeNote: 'a slip', supersededBy: null })
    expect((await getFactPage(deps, tenant.as('ada'), {})).items).toEqual([])
    const all = await getFactPage(deps, tenant.as('ada'), { filter: { includeSuperseded: true } })
    expect(all.items).toMatchObject([{ id: fact!.id }])
    expect((await recordFacts(deps, tenant.as('ada'), { facts: [rome] })).facts).toHaveLength(1)
  })

  it('are superseded when their source turn is edited', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const turn = await tenant.append(conversationId, 'ada', 'I live in Rome')
    const {
      facts: [fact],
    } = await recordFacts(deps, tenant.as('ada'), { facts: [{ ...rome, sourceTurnId: turn.id }] })
    await supersedeTurn(deps, tenant.as('ada'), { turnId: turn.id, turn: { content: 'I live in Oslo', role: 'USER' } })
    const all = await getFactPage(deps, tenant.as('ada'), { filter: { includeSuperseded: true } })
    expect(all.items).toMatchObject([{ id: fact!.id, supersedeReason: 'UPDATED' }])
  })

  it('cannot have a superseded or streaming turn as their source', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const [conversationId, ada] = [await tenant.newConversation('ada'), tenant.as('ada')]
    const old = await tenant.append(conversationId, 'ada', 'I live in Rome')
    await supersedeTurn(deps, ada, { turnId: old.id, turn: { content: 'I live in Oslo', role: 'USER' } })
    const { turn: open } = await openTurn(deps, ada, {
      writerToken: WRITER,
      conversationId,
      turn: { role: 'ASSISTANT' },
    })
    for (const [turn, problem] of [
      [old, /^facts.1.sourceTurnId: was superseded/],
      [open, /is STREAMING/],
    ] as const) {
      const facts = [
        { ...rome, object: 'Oslo' },
        { ...rome, sourceTurnId: turn.id },
      ]
      await expect(recordFacts(deps, ada, { facts })).rejects.toThrow(problem)
    }
    expect((await getFactPage(deps, ada, {})).items).toEqual([])
  })

  it('of a turn that is edited concurrently are inactive afterwards', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const [conversationId, ada] = [await tenant.newConversation('ada'), tenant.as('ada')]
    for (let n = 0; n < casesOf(50); n++) {
      const { id } = await tenant.append(conversationId, 'ada', `I live in Rome ${n}`)
      const facts = [{ ...rome, object: `Rome ${n}`, sourceTurnId: id }]
      await Promise.all([
        recordFacts(deps, ada, { facts }).catch((error) => expect(error).toBeInstanceOf(InvalidInput)),
        supersedeTurn(deps, ada, { turnId: id, turn: { content: 'No.', role: 'USER' } }),
      ])
    }
    expect((await getFactPage(deps, ada, {})).items).toEqual([])
  })

  it('that are recorded in another conversation while their source turn is edited stay active', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const [here, there, ada] = [
      await tenant.newConversation('ada'),
      await tenant.newConversation('ada'),
      tenant.as('ada'),
    ]
    for (let n = 0; n < casesOf(50); n++) {
      const { id } = await tenant.append(here, 'ada', `I live in Rome ${n}`)
      const fact = { ...rome, object: `Rome ${n}`, observedAt: at(1) }
      await recordFacts(deps, ada, { userId: 'ada', facts: [{ ...fact, sourceTurnId: id }] })
      await Promise.all([
        recordFacts(deps, ada, { userId: 'ada', conversationId: there, facts: [{ ...fact, observedAt: at(2) }] }),
        supersedeTurn(deps, ada, { turnId: id, turn: { content: 'No.', role: 'USER' } }),
      ])
    }
    const page = await getFactPage(deps, ada, { filter: { conversationId: there } })
    expect(page.items).toHaveLength(casesOf(50))
  })

  it.runIf(isLong)(
    'in large numbers do not block appends to their conversation while their tokens are counted',
    async () => {
      const { deps } = world
      const tenant = world.tenant()
      const [conversationId, ada] = [await tenant.newConversation('ada'), tenant.as('ada')]
      let release = () => {}
      const released = new Promise<void>((resolve) => (release = resolve))
      const count = vi.fn(async () => (await released, 9))
      const slow: typeof deps = { ...deps, tokens: { ...deps.tokens, count } }
      let isDone = false
      const facts = Array.from({ length: 50 }, (_, n) => ({ ...rome, object: `Rome ${n}` }))
      const recording = recordFacts(slow, ada, { conversationId, facts }).finally(() => {
        isDone = true
      })
      await vi.waitFor(() => expect(count).toHaveBeenCalled())
      for (let n = 0; n < 3; n++) await tenant.append(conversationId, 'ada', 'Meanwhile')
      expect(isDone).toBe(false)
      release()
      expect((await recording).facts).toHaveLength(50)
    },
  )

  it('recorded by an agent are marked AGENT, with any conversation or none', async () => {
    const { deps } = world
    const tenant = world.tenant()
    await tenant.newConversation('ada', { actor: 'bot', kind: 'AGENT' })
    const elsewhere = await tenant.newConversation('ada')
    for (const [object, conversationId] of [
      ['Rome', null],
      ['Oslo', elsewhere],
    ] as const) {
      const fact = { ...rome, object }
      const { facts } = await recordFacts(deps, tenant.as('bot'), { userId: 'ada', conversationId, facts: [fact] })
      expect(facts).toMatchObject([{ saidBy: 'AGENT' }])
    }
    const { facts } = await recordFacts(deps, tenant.as('app'), { userId: 'ada', facts: [{ ...rome, object: 'Bern' }] })
    expect(facts).toMatchObject([{ saidBy: 'HUMAN' }])
  })

  describe('recorded again', () => {
    /** Two conversations; "ada" is a person in both, "bot" an agent. */
    async function twoConversations(tenant: Tenant) {
      const people = [{ actor: 'ada' }, { actor: 'bot', kind: 'AGENT' as const }]
      return [await tenant.newConversation(...people), await tenant.newConversation(...people)] as const
    }
    const SECOND = { observedAt: at(20), confidence: 0.5 }

    it.each([
      ['later', 'ada', 'ada', SECOND, { observedAt: at(20) }],
      ['later, by agents', 'bot', 'bot', SECOND, { observedAt: at(20) }],
      ['at the same time', 'ada', 'ada', { observedAt: at(10) }, {}],
      ['with an earlier time', 'ada', 'ada', { observedAt: at(5) }, {}],
      ['later, by a less trusted actor', 'ada', 'bot', SECOND, {}],
      [
        'later, by a more trusted actor',
        'bot',
        'ada',
        SECOND,
        { observedAt: at(20), confidence: 0.5, saidBy: 'HUMAN', assertedBy: 'ada' },
      ],
      [
        'with an earlier time, by a more trusted actor',
        'bot',
        'ada',
        { ...SECOND, observedAt: at(5) },
        { observedAt: at(5), confidence: 0.5, saidBy: 'HUMAN', assertedBy: 'ada' },
      ],
    ])('%s, keep their first source and get another one', async (_, first, second, again, changed) => {
      const { deps } = world
      const tenant = world.tenant()
      const [conversationId, other] = await twoConversations(tenant)
      const {
        facts: [fact],
      } = await recordFacts(deps, tenant.as(first), {
        conversationId,
        facts: [{ ...rome, observedAt: at(10), confidence: 0.9 }],
      })
      expect(fact).toMatchObject({ conversationId })
      const repeat = () =>
        recordFacts(deps, tenant.as(second), { conversationId: other, facts: [{ ...rome, ...again }] })
      expect(await repeat()).toEqual({ facts: [], exactDuplicatesSkipped: 1, hasMore: false })
      const read = async () => (await getFacts(deps, tenant.as('ada'), [fact!.id])).get(fact!.id)
      const received = 'observedAt' in changed ? { importedAt: expect.any(Date) } : {}
      expect(await read()).toEqual({ ...fact, ...changed, ...received, importance: expect.any(Number) })
      expect(await tenant.lastSeq(other)).toBe(3)
      const pages = await getFactPages(deps, tenant.as('ada'), [conversationId, other], {})
      expect([...pages.values()].map(({ items }) => items.map(({ id }) => id))).toEqual([[fact!.id], [fact!.id]])

      await deleteConversation(deps, tenant.as('ada'), other)
      expect(await read()).toEqual(fact)
      const third = await tenant.newConversation('ada')
      await recordFacts(deps, tenant.as('ada'), { conversationId: third, facts: [{ ...rome, observedAt: at(1) }] })
      expect(await deleteConversation(deps, tenant.as('ada'), conversationId)).toMatchObject({ facts: 0 })
      expect(await read()).toMatchObject({ conversationId: third, observedAt: at(1), assertedBy: 'ada' })
      expect(await deleteConversation(deps, tenant.as('ada'), third)).toMatchObject({ facts: 1 })
      expect(await read()).toBeUndefined()
    })

    it('within one call, have the source of the first and the time of the last occurrence', async () => {
      const { deps } = world
      const tenant = world.tenant()
      const conversationIds = await twoConversations(tenant)
      const [one, two] = [
        await tenant.append(conversationIds[0], 'ada', 'Rome'),
        await tenant.append(conversationIds[1], 'ada', 'Rome'),
      ]
      const facts = [one, two].map(({ id }, n) => ({ ...rome, sourceTurnId: id, observedAt: at(n + 1) }))
      const recorded = await recordFacts(deps, tenant.as('ada'), { facts })
      expect(recorded).toMatchObject({
        exactDuplicatesSkipped: 1,
        facts: [{ sourceTurnId: one.id, observedAt: at(2) }],
      })
      expect([await tenant.lastSeq(conversationIds[0]), await tenant.lastSeq(conversationIds[1])]).toEqual([4, 3])
    })

    it('are superseded when their last source turn is edited, but not when another source turn is edited', async () => {
      const { deps } = world
      const tenant = world.tenant()
      const ada = tenant.as('ada')
      const conversationId = await tenant.newConversation('ada')
      const [one, two] = [
        await tenant.append(conversationId, 'ada', 'Rome'),
        await tenant.append(conversationId, 'ada', 'Rome!'),
      ]
      const record = (sourceTurnId: string) => recordFacts(deps, ada, { facts: [{ ...rome, sourceTurnId }] })
      const { facts } = await record(one.id)
      await record(two.id)
      const edit = (turnId: string) =>
        supersedeTurn(deps, ada, { turnId, turn: { content: 'Oslo', role: 'USER' } }).then(({ turn }) => turn)
      const read = async () => (await getFacts(deps, ada, [facts[0]!.id])).get(facts[0]!.id)
      await edit(one.id)
      expect(await read()).toMatchObject({ sourceTurnId: two.id, supersedeReason: null })
      await edit(two.id)
      expect(await read()).toMatchObject({ sourceTurnId: two.id, supersedeReason: 'UPDATED' })
    })

    it('become active again when the turn of the duplicate that replaced them is edited', async () => {
      const { deps } = world
      const tenant = world.tenant()
      const ada = tenant.as('ada')
      const conversationId = await tenant.newConversation('ada')
      const turns = []
      for (const object of ['Rome', 'Rome, Italy']) {
        const turn = await tenant.append(conversationId, 'ada', object)
        turns.push(turn)
        await recordFacts(deps, ada, { userId: 'ada', facts: [{ ...rome, object, sourceTurnId: turn.id }] })
      }
      const active = async () =>
        (await getFactPage(deps, ada, { filter: { userId: 'ada' } })).items.map(({ object }) => object)
      expect(await reconcileFacts(deps, ada, { userId: 'ada' })).toMatchObject({ merged: 1 })
      expect(await active()).toEqual(['Rome, Italy'])
      await supersedeTurn(deps, ada, { turnId: turns[1]!.id, turn: { content: 'Never mind.', role: 'USER' } })
      expect(await active()).toEqual(['Rome'])
    })

    it('are seen by actors who see any of their sources', async () => {
      const { deps } = world
      const tenant = world.tenant()
      const [conversationId, other] = await twoConversations(tenant)
      const { facts } = await recordFacts(deps, tenant.as('ada'), { conversationId, facts: [rome] })
      await addParticipant(deps, tenant.as('ada'), {
        conversationId,
        participant: { actor: 'late', historyVisibility: 'SINCE_JOINED' },
      })
      const sees = async () => (await getFacts(deps, tenant.as('late'), [facts[0]!.id])).size
      expect(await sees()).toBe(0)
      await recordFacts(deps, tenant.as('ada'), { conversationId: other, facts: [rome] })
      expect(await sees()).toBe(1)
    })

    it('with a time in the future are rejected, like turns with such a time', async () => {
      const { deps } = world
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ada')
      const later = new Date(Date.now() + 3_600_000)
      const recording = recordFacts(deps, tenant.as('ada'), { facts: [{ ...rome, observedAt: later }] })
      await expect(recording).rejects.toThrow(/observedAt: must not be in the future/)
      await expect(tenant.append(conversationId, 'ada', 'Hi', { createdAt: later })).rejects.toThrow(/in the future/)
    })

    it('from a private turn are separate from the public fact', async () => {
      const { deps } = world
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ada', 'bob')
      const { id } = await tenant.append(conversationId, 'ada', 'Rome', { audience: ['ada'] })
      const record = async (actor: string, more: object) => {
        const { facts, exactDuplicatesSkipped } = await recordFacts(deps, tenant.as(actor), {
          conversationId,
          facts: [{ ...rome, ...more }],
        })
        return [facts.length, exactDuplicatesSkipped]
      }
      expect(await record('ada', { sourceTurnId: id })).toEqual([1, 0])
      expect(await record('ada', { sourceTurnId: id })).toEqual([0, 1])
      expect(await record('bob', {})).toEqual([1, 0])
      // Duplicates of private facts are counted only for viewers who see them.
      const countedFor = async (actor: string) => (await auditMemory(deps, tenant.as(actor))).exactDuplicatesSkipped
      expect([await countedFor('ada'), await countedFor('bob')]).toEqual([1, 0])
      expect(await record('bob', {})).toEqual([0, 1])
      expect([await countedFor('ada'), await countedFor('bob')]).toEqual([2, 1])
    })
  })

  it('without a source turn are hidden from participants who joined later, unless recorded again', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const oslo = { ...rome, object: 'Oslo' }
    await recordFacts(deps, tenant.as('ada'), { conversationId, facts: [rome, oslo] })
    await recordFacts(deps, tenant.as('ada'), { conversationId, facts: [rome] })
    await addParticipant(deps, tenant.as('late'), {
      conversationId,
      participant: { actor: 'late', historyVisibility: 'SINCE_JOINED' },
    })
    const seen = async (actor: string) =>
      (await getFactPage(deps, tenant.as(actor), { filter: { conversationId } })).items.map(({ object }) => object)
    expect(await seen('late')).toEqual([])
    expect((await seen('ada')).sort()).toEqual(['Oslo', 'Rome'])
    await recordFacts(deps, tenant.as('ada'), { conversationId, facts: [oslo] })
    expect(await seen('late')).toEqual(['Oslo'])
  })

  it.each([0, 3])(
    'that were stored %i times before a participant joined are new to that participant, not duplicates',
    async (before) => {
      const { deps } = world
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ada')
      for (let n = 0; n < before; n++) await recordFacts(deps, tenant.as('ada'), { conversationId, facts: [rome] })
      const participant = { actor: 'late', historyVisibility: 'SINCE_JOINED' as const }
      await addParticipant(deps, tenant.as('ada'), { conversationId, participant })
      const record = async () => {
        const { facts, exactDuplicatesSkipped } = await recordFacts(deps, tenant.as('late'), {
          conversationId,
          facts: [rome, rome],
        })
        return [facts.map(({ object }) => object), exactDuplicatesSkipped]
      }
      expect([await record(), await record()]).toEqual([
        [['Rome'], 1],
        [[], 2],
      ])
      const skipped = async (actor: string) => (await auditMemory(deps, tenant.as(actor))).exactDuplicatesSkipped
      expect([await skipped('late'), await skipped('ada')]).toEqual([3, before + 3])
    },
  )

  it('are found regardless of case and spaces, and for many conversations at once', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const ada = tenant.as('ada')
    const conversationIds = [
      await tenant.newConversation('ada'),
      await tenant.newConversation('ada'),
      await tenant.newConversation('ada'),
    ]
    for (const [n, conversationId] of conversationIds.slice(0, 2).entries()) {
      for (const object of ['a', 'b', 'c']) {
        await recordFacts(deps, ada, {
          conversationId,
          facts: [{ subject: 'Die Ämter', predicate: 'are', object: `${object}${n}` }],
        })
      }
    }
    const { items } = await getFactPage(deps, ada, { filter: { subject: ' die  ämter', predicate: 'ARE' } })
    expect(items).toHaveLength(6)
    expect((await getFactPage(deps, ada, { filter: { subject: 'Ämter' } })).items).toEqual([])
    for (const filter of [{ subject: 'a\0' }, { predicate: '\0' }, { userId: '\0' }, { conversationId: 'x' }]) {
      await expect(getFactPage(deps, ada, { filter })).rejects.toThrow(InvalidInput)
    }
    const pages = await getFactPages(deps, ada, conversationIds, { first: 2 })
    expect(
      conversationIds.map((conversationId) => pages.get(conversationId)!.items.map(({ object }) => object)),
    ).toEqual([['c0', 'b0'], ['c1', 'b1'], []])
    expect(conversationIds.map((conversationId) => pages.get(conversationId)!.hasNextPage)).toEqual([true, true, false])
  })
})

describe.each(backends)('facts recorded by two processes at once, on $name', (backend) => {
  let site: Site
  let processes: Process[]
  beforeAll(async () => {
    site = await openSite(backend)
    processes = [await site.start(), await site.start()]
  })
  afterAll(() => site.close())

  it.each(['of no conversation', 'of one conversation', 'of the conversations of their turns'])(
    'are stored once: %s',
    async (where) => {
      const ada = newViewer()
      const [{ deps }] = processes as [Process]
      const conversationIds = await Promise.all(
        [1, 2].map(
          async () => (await createConversation(deps, ada, { participants: [{ actor: 'ada' }] })).conversation.id,
        ),
      )
      const turns = await Promise.all(
        conversationIds.map((conversationId) =>
          appendTurn(deps, ada, { conversationId, turn: { role: 'USER', content: 'listen' } }).then(({ turn }) => turn),
        ),
      )
      const calls = Array.from({ length: 20 }, (_, call) => {
        const facts = Array.from({ length: 10 }, (_, n) => ({
          ...rome,
          object: `place ${n}`,
          sourceTurnId: where.endsWith('turns') ? turns[(n + call) % 2]!.id : null,
        }))
        return recordFacts(processes[call % 2]!.deps, ada, {
          conversationId: where === 'of one conversation' ? conversationIds[0] : null,
          facts: call % 3 ? facts : facts.reverse(),
          userId: 'ada',
        })
      })
      const answers = await Promise.all(calls)
      const written = answers.flatMap(({ facts }) => facts.map(({ id }) => id))
      expect(written).toHaveLength(10)
      expect(answers.reduce((sum, { exactDuplicatesSkipped }) => sum + exactDuplicatesSkipped, 0)).toBe(190)
      expect(await auditMemory(deps, ada)).toMatchObject({ exactDuplicatesSkipped: 190 })
      const { items } = await getFactPage(deps, ada, { filter: { userId: 'ada', includeSuperseded: true } })
      expect(items.map(({ id }) => id).sort()).toEqual(written.sort())
    },
  )
})
