// Moments in the past that random histories seldom meet.

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { inThePast } from '../../../../src/domain/memory/as-of.ts'
import { readQuestion } from '../../../../src/domain/memory/recall/rank/question.ts'
import * as domain from '../../../../src/index.ts'
import { backends } from '../../../support/backend.ts'
import { momentAfter } from '../../../support/moment.ts'
import { useWorld } from '../../../support/world.ts'

describe.each(backends)('asOf on $name', (backend) => {
  const world = useWorld(backend)

  it('cuts the named conversation after the entry, even between entries of the same time', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const ann = tenant.as('ann')
    const conversationId = await tenant.newConversation('ann')
    const turns = ['One.', 'Two.', 'Three.'].map((content) => ({ role: 'USER' as const, content }))
    const written = await domain.appendTurns(deps, ann, { conversationId, turns })
    const textsAt = async (seq: number) => {
      const past = await domain.asOf(deps, ann, { asOf: { seq }, conversationId })
      return (await domain.history(past, ann, [conversationId], {})).get(conversationId)!.map(({ text }) => text)
    }
    const [one, two, three] = written.turns.map(({ seq }) => seq) as [number, number, number]
    expect(await textsAt(one)).toEqual(['One.'])
    expect(await textsAt(two)).toEqual(['One.', 'Two.'])
    expect(await textsAt(three)).toEqual(['One.', 'Two.', 'Three.'])
  })

  it('shows a fact with the source that it had, after an edit has removed this source', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const ann = tenant.as('ann')
    const conversationId = await tenant.newConversation('ann', 'bob')
    const first = await tenant.append(conversationId, 'ann', 'I live in Rome.')
    const record = (sourceTurnId: string) =>
      domain.recordFacts(deps, ann, {
        conversationId,
        facts: [{ subject: 'ann', predicate: 'lives in', object: 'Rome', sourceTurnId }],
      })
    await record(first.id)
    const announced = (await tenant.lastSeq(conversationId))!
    const time = await momentAfter(deps)
    const second = await tenant.append(conversationId, 'ann', 'Yes, I live in Rome.')
    await record(second.id)
    await domain.supersedeTurn(deps, ann, { turnId: first.id, turn: { role: 'USER', content: 'I moved.' } })
    const sourcesOf = async (read: typeof deps) => {
      const { items } = await domain.getFactPage(read, ann, { filter: { userId: 'ann' } })
      const pages = await domain.getFactSourcePages(
        read,
        ann,
        items.map(({ id }) => id),
        {},
      )
      return [...pages.values()].map((page, i) => [items[i]!.sourceTurnId, ...page.items.map(({ turnId }) => turnId)])
    }
    // The first one is that of the fact, the others are its list of sources.
    expect(await sourcesOf(deps)).toEqual([[second.id, second.id]])
    const past = await domain.asOf(deps, ann, { asOf: { time } })
    expect(await sourcesOf(past)).toEqual([[first.id, first.id]])
    // The fact exists as of the entry that announces it, which is written in the same transaction.
    const entry = await domain.asOf(deps, ann, { asOf: { seq: announced }, conversationId })
    expect(await sourcesOf(entry)).toEqual([[first.id, first.id]])
    await domain.eraseTurn(deps, ann, { turnId: first.id })
    expect(await sourcesOf(past)).toEqual([])
  })

  it('shows a fact only to those who see a source that it had then', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const [ann, bob] = [tenant.as('ann'), tenant.as('bob')]
    const create = async (...actors: string[]) =>
      (
        await domain.createConversation(deps, ann, {
          visibility: 'MEMBERS',
          participants: actors.map((actor) => ({ actor })),
        })
      ).conversation.id
    const [hidden, shared] = [await create('ann'), await create('ann', 'bob')]
    const facts = [{ subject: 'Ann', predicate: 'lives in', object: 'Rome' }]
    await domain.recordFacts(deps, ann, { conversationId: hidden, userId: 'ann', facts })
    const time = await momentAfter(deps)
    await domain.recordFacts(deps, ann, { conversationId: shared, userId: 'ann', facts })
    const seen = async (viewer: domain.Viewer, read: typeof deps) =>
      (await domain.getFactPage(read, viewer, { filter: { userId: 'ann' } })).items.length
    expect(await seen(bob, deps)).toBe(1)
    const past = await domain.asOf(deps, ann, { asOf: { time } })
    expect(await seen(ann, past)).toBe(1)
    expect(await seen(bob, past)).toBe(0)
  })

  it('has the rights of today: of participants who joined later, and who have left', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const ann = tenant.as('ann')
    const conversation = { visibility: 'MEMBERS' as const, participants: [{ actor: 'ann' }, { actor: 'gil' }] }
    const conversationId = (await domain.createConversation(deps, ann, conversation)).conversation.id
    await tenant.append(conversationId, 'ann', 'Before.')
    const time = await momentAfter(deps)
    const add = (actor: string, historyVisibility: 'ALL' | 'SINCE_JOINED') =>
      domain.addParticipant(deps, ann, { conversationId, participant: { actor, historyVisibility } })
    await add('eve', 'ALL')
    await add('fay', 'SINCE_JOINED')
    await domain.removeParticipant(deps, ann, { conversationId, actor: 'gil' })
    const textsFor = async (actor: string) => {
      const past = await domain.asOf(deps, tenant.as(actor), { asOf: { time } })
      const found = (await domain.getConversations(past, tenant.as(actor), [conversationId])).get(conversationId)
      if (!found) return null
      return (await domain.history(past, tenant.as(actor), [conversationId], {})).get(conversationId)!.length
    }
    expect(await textsFor('ann')).toBe(1)
    expect(await textsFor('eve')).toBe(1)
    expect(await textsFor('fay')).toBe(0)
    expect(await textsFor('gil')).toBe(1)
    expect(await textsFor('dee')).toBe(null)
    const past = await domain.asOf(deps, ann, { asOf: { time } })
    const participants = (await domain.getParticipants(past, ann, [conversationId])).get(conversationId)!
    expect(participants.map(({ actor, leftAt }) => [actor, leftAt])).toEqual([
      ['ann', null],
      ['gil', null],
    ])
  })

  it('puts facts into contexts that were true at the moment, and have ended since', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const ann = tenant.as('ann')
    const conversationId = await tenant.newConversation('ann')
    await tenant.append(conversationId, 'ann', 'Where am I?')
    const validTo = new Date(Date.now() + 3_000)
    const facts = [{ subject: 'ann', predicate: 'is on', object: 'the ferry', validTo }]
    await domain.recordFacts(deps, ann, { conversationId, userId: 'ann', facts })
    const past = await domain.asOf(deps, ann, { asOf: { time: await momentAfter(deps) } })
    const texts = async (read: typeof deps) =>
      JSON.stringify(await domain.buildContext(read, ann, { conversationId, tokenBudget: 1_000, includeFacts: true }))
    while (Date.now() <= validTo.getTime()) await sleep(validTo.getTime() - Date.now() + 1)
    expect(await texts(deps)).not.toContain('the ferry')
    expect(await texts(past)).toContain('the ferry')
  })

  it('understands days relative to the moment', () => {
    const past = inThePast(world.deps, { at: new Date('2026-03-04T09:00:00Z'), entry: null })
    expect(new past.clock.Date().toISOString()).toBe('2026-03-04T09:00:00.000Z')
    expect(past.clock.Date.now()).toBe(Date.UTC(2026, 2, 4, 9))
    const { periods } = readQuestion('What did we do yesterday?', [], new past.clock.Date())
    expect(periods).toMatchObject([{ from: Date.UTC(2026, 2, 3), to: Date.UTC(2026, 2, 4) }])
  })
})
