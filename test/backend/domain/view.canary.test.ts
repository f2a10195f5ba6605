// A marker in private turns (appended, streamed, edited, aborted) must not reach viewers outside their audience through
// any read.

import { describe, expect, it } from 'vitest'
import { getConversations, updateConversation } from '../../../src/domain/conversation.ts'
import { getConversationPage } from '../../../src/domain/conversation-page.ts'
import { deleteConversation } from '../../../src/domain/erasure/delete-conversation.ts'
import { readEventsOf } from '../../../src/domain/event/reader.ts'
import { readInbox } from '../../../src/domain/event/inbox.ts'
import { addParticipant, getParticipants, markRead, removeParticipant } from '../../../src/domain/participant.ts'
import { getUnreadCounts } from '../../../src/domain/participant-details.ts'
import { compact } from '../../../src/domain/summary/compact.ts'
import { historyWithSummaries, isSummary, summarizedThrough } from '../../../src/domain/summary/history.ts'
import { getCoveringSummaries } from '../../../src/domain/summary/summary.ts'
import { getFactPage, getFactPages, getFacts } from '../../../src/domain/fact/fact.ts'
import { getFactSourcePages } from '../../../src/domain/fact/source.ts'
import { recordFacts, retractFact } from '../../../src/domain/fact/record.ts'
import { recall } from '../../../src/domain/recall/recall.ts'
import { abortTurn, appendDelta, commitTurn } from '../../../src/domain/streaming-turn/stream.ts'
import { appendTurn, openTurn } from '../../../src/domain/turn/append.ts'
import { countOfTurns, history, pageOfTurns } from '../../../src/domain/turn/history.ts'
import { supersedeTurn } from '../../../src/domain/turn/supersede.ts'
import { getNextVersions, getPreviousVersions, getTurns, getVersionNumbers } from '../../../src/domain/turn/turn.ts'
import type { Viewer } from '../../../src/domain/view.ts'
import { DomainError, NotFound } from '../../../src/errors.ts'
import { backends } from '../../support/backend.ts'
import { waitForFactVectors, textOf } from '../../support/recall.ts'
import { useWorld, type Tenant } from '../../support/world.ts'
import { WRITER } from '../../support/writer.ts'

const CANARY = 'canary-7f3a9'
const call = (callId: string) => ({ toolCall: { callId, name: CANARY, arguments: { of: CANARY } } })

describe.each(backends)('a private turn on $name', (backend) => {
  const world = useWorld(backend)

  /** Records two facts of the turn, then retracts one and records it again. */
  async function recordFactsOf(viewer: Viewer, subject: string, sourceTurnId: string): Promise<string[]> {
    const facts = ['secret', 'habit'].map((object) => ({ subject, predicate: 'has a', object, sourceTurnId }))
    const recorded = await recordFacts(world.deps, viewer, { userId: 'ann', facts })
    const ids = recorded.facts.map(({ id }) => id)
    await retractFact(world.deps, viewer, { factId: ids[1]!, reason: subject })
    const again = await recordFacts(world.deps, viewer, { userId: 'ann', facts })
    // Wait for the embeddings, so that recall can find the facts by similarity.
    await waitForFactVectors(world.deps, [recorded.facts[0]!, ...again.facts])
    return ids
  }

  /**
   * Appends public turns and, if `withPrivate`, private turns from ann to bob between them.
   * @returns the ids of the private turns and their facts
   */
  async function converse(tenant: Tenant, conversationId: string, withPrivate: boolean): Promise<string[]> {
    const { deps } = world
    const ann = tenant.as('ann')
    const toBob = { role: 'USER' as const, audience: ['bob'] }
    const ids: string[] = []
    const hello = await tenant.append(conversationId, 'ann', 'hello all')
    await recordFactsOf(ann, 'ann', hello.id)
    if (withPrivate) {
      const first = await tenant.append(conversationId, 'ann', `${CANARY} one`, {
        ...toBob,
        metadata: { [CANARY]: CANARY },
        model: CANARY,
      })
      const { turn: edited } = await supersedeTurn(deps, ann, {
        turnId: first.id,
        turn: { role: 'USER', content: `${CANARY} two` },
      })
      const { turn: again } = await supersedeTurn(deps, ann, {
        turnId: edited.id,
        turn: { role: 'USER', parts: [call(CANARY)] },
      })
      const { turn: committed } = await openTurn(deps, ann, { writerToken: WRITER, conversationId, turn: toBob })
      await appendDelta(deps, ann, { writerToken: WRITER, turnId: committed.id, text: `${CANARY} streamed` })
      await commitTurn(deps, ann, { writerToken: WRITER, turnId: committed.id, parts: [call('k2')] })
      const { turn: aborted } = await openTurn(deps, ann, { writerToken: WRITER, conversationId, turn: toBob })
      await appendDelta(deps, ann, { writerToken: WRITER, turnId: aborted.id, text: `${CANARY} given up` })
      await abortTurn(deps, ann, { writerToken: WRITER, turnId: aborted.id, reason: CANARY })
      const { turn: open } = await openTurn(deps, ann, { writerToken: WRITER, conversationId, turn: toBob })
      await appendDelta(deps, ann, { writerToken: WRITER, turnId: open.id, text: `${CANARY} still open` })
      ids.push(first.id, edited.id, again.id, committed.id, aborted.id, open.id)
      ids.push(...(await recordFactsOf(ann, CANARY, committed.id)), ...(await recordFactsOf(ann, 'ann', committed.id)))
    }
    await tenant.append(conversationId, 'eve', 'nobody tells me anything')
    await compact(deps, tenant.as('owner'), { conversationId })
    await updateConversation(deps, tenant.as('owner'), { conversationId, title: 'a conversation' })
    return ids
  }

  async function makeConversation(tenant: Tenant): Promise<string> {
    const conversationId = await tenant.newConversation('ann', 'bob', 'eve', 'gone')
    await removeParticipant(world.deps, tenant.as('gone'), { conversationId, actor: 'gone' })
    await addParticipant(world.deps, tenant.as('late'), {
      conversationId,
      participant: { actor: 'late', historyVisibility: 'SINCE_JOINED' },
    })
    return conversationId
  }

  /** Returns all fact lists that an actor can read. */
  async function factsOf(viewer: Viewer, conversationId: string) {
    const lists = []
    for (const includeSuperseded of [false, true]) {
      const about = [{}, { userId: 'ann' }, { conversationId }, { subject: CANARY }, { predicate: 'has a' }]
      for (const filter of about) {
        lists.push((await getFactPage(world.deps, viewer, { filter: { ...filter, includeSuperseded } })).items)
      }
      lists.push(
        (await getFactPages(world.deps, viewer, [conversationId], { includeSuperseded })).get(conversationId)!.items,
      )
    }
    return lists
  }

  /** Returns the results of all reads by an actor, except events. */
  async function readAll(tenant: Tenant, conversationId: string, actor: string, ids: string[]) {
    const { deps } = world
    const viewer = tenant.as(actor)
    const pages = []
    for (const includeSuperseded of [false, true]) {
      for (const args of [{ first: 200 }, { last: 200 }, { first: 200, filter: { actors: ['ann'] } }]) {
        pages.push(
          (await pageOfTurns(deps, viewer, [conversationId], { ...args, includeSuperseded })).get(conversationId)!
            .items,
        )
      }
    }
    const participants = (await getParticipants(deps, viewer, [conversationId])).get(conversationId)!
    return {
      pages,
      history: (await history(deps, viewer, [conversationId], { limit: 200 })).get(conversationId),
      recalled: (await recall(deps, viewer, { query: `${CANARY} hello tell`, scope: 'TENANT', k: 100, neighbours: 10 }))
        .hits,
      counts: (await countOfTurns(deps, viewer, [conversationId])).get(conversationId),
      unread: await getUnreadCounts(deps, viewer, participants),
      conversationIds: [
        ...(await getConversations(deps, viewer, [conversationId])).values(),
        ...(await getConversationPage(deps, viewer, {})).items,
      ],
      byId: [...(await getTurns(deps, viewer, ids)).values()],
      next: [...(await getNextVersions(deps, viewer, ids)).values()],
      previous: [...(await getPreviousVersions(deps, viewer, ids)).values()],
      versions: [...(await getVersionNumbers(deps, viewer, ids)).values()],
      participants,
      facts: await factsOf(viewer, conversationId),
      factsById: [...(await getFacts(deps, viewer, ids)).values()],
      sources: [...(await getFactSourcePages(deps, viewer, ids, {})).values()].flatMap(({ items }) => items),
      summaries: await getCoveringSummaries(deps, viewer, conversationId),
      summarized: (await summarizedThrough(deps, viewer, [conversationId])).get(conversationId)?.text,
      withSummaries: (await historyWithSummaries(deps, viewer, [conversationId], { limit: 200 }))
        .get(conversationId)
        ?.map((entry) => (isSummary(entry) ? entry.content : entry.text)),
    }
  }

  it.each(['eve', 'late', 'gone', 'stranger'])(
    "is not found by %s in any read, and does not affect that actor's counts",
    async (actor) => {
      const [tenant, quiet] = [world.tenant(), world.tenant()]
      const [conversationId, quietConversation] = [await makeConversation(tenant), await makeConversation(quiet)]
      const ids = await converse(tenant, conversationId, true)
      await converse(quiet, quietConversation, false)

      const found = await readAll(tenant, conversationId, actor, ids)
      expect(JSON.stringify(found)).not.toContain(CANARY)
      const { byId, next, previous, versions, factsById, sources } = found
      expect([byId, next, previous, versions, factsById, sources].flat()).toEqual([])
      const expected = await readAll(quiet, quietConversation, actor, [])
      expect(found.counts).toEqual(expected.counts)
      expect(found.unread).toEqual(expected.unread)
      const factsIn = ({ facts }: typeof found) =>
        facts.map((list) => list.map((fact) => `${fact.subject} ${fact.object} ${fact.supersededAt !== null}`).sort())
      expect(factsIn(found)).toEqual(factsIn(expected))
      expect(found.facts.flat().length > 0).toBe(actor !== 'gone')
      expect(found.withSummaries).toEqual(expected.withSummaries)
      expect(found.summarized).toEqual(expected.summarized)
      expect(found.summaries.map(({ content }) => content)).toEqual(expected.summaries.map(({ content }) => content))
      if (actor === 'eve') expect(found.summaries).toHaveLength(1)
      const texts = ({ pages }: typeof found) => pages.map((page) => page.map(({ text }) => text))
      expect(texts(found)).toEqual(texts(expected))
      expect(found.history!.map(({ text }) => text)).toEqual(expected.history!.map(({ text }) => text))
      const recalled = ({ recalled }: typeof found) => recalled.map(({ memory }) => textOf(memory)).sort()
      expect(recalled(found)).toEqual(recalled(expected))
    },
  )

  it('is found by its audience', async () => {
    const tenant = world.tenant()
    const conversationId = await makeConversation(tenant)
    const ids = await converse(tenant, conversationId, true)
    for (const actor of ['ann', 'bob']) {
      const found = await readAll(tenant, conversationId, actor, ids)
      expect([...found.byId, ...found.factsById]).toHaveLength(ids.length)
      expect(found.sources.map(({ factId }) => factId).sort()).toEqual(found.factsById.map(({ id }) => id).sort())
      expect(JSON.stringify(found.facts)).toContain(CANARY)
      expect([found.next.length, found.previous.length]).toEqual([2, 2])
      expect(found.versions.sort()).toEqual([1, 1, 1, 1, 2, 3])
      expect(JSON.stringify(found.history).split(CANARY).length).toBeGreaterThan(6)
      expect(JSON.stringify(found.recalled)).toContain(CANARY)
    }
  })

  it('is invisible in other tenants, even to actors with the same names', async () => {
    const [tenant, other] = [world.tenant(), world.tenant()]
    const conversationId = await makeConversation(tenant)
    const ids = await converse(tenant, conversationId, true)
    for (const actor of ['ann', 'bob', 'eve']) {
      const found = await readAll(other, conversationId, actor, ids)
      expect(found).toMatchObject({
        history: [],
        conversationIds: [],
        byId: [],
        next: [],
        previous: [],
        participants: [],
      })
      expect([...found.facts.flat(), ...found.factsById, ...found.sources]).toEqual([])
      expect(found.counts).toBeUndefined()
      expect(JSON.stringify(found)).not.toContain(CANARY)
      await expect(readEventsOf(world.deps, other.as(actor), { conversationId, afterSeq: 0 })).rejects.toThrow(NotFound)
    }
  })

  it('is delivered only to its audience, live and on replay, and no inbox contains its text', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await makeConversation(tenant)
    const received = new Map<string, unknown[]>()
    const streams: Promise<void>[] = []
    const inboxes: (() => void)[] = []
    const listen = async (name: string, actor: string, after?: number) => {
      const events: unknown[] = []
      received.set(`${actor} ${name}`, events)
      const stream = await readEventsOf(deps, tenant.as(actor), { conversationId, afterSeq: after })
      streams.push(
        (async () => {
          for await (const event of stream) events.push(event)
        })(),
      )
    }
    const actors = ['ann', 'bob', 'eve', 'late', 'gone', 'stranger']
    for (const actor of actors) await listen('live', actor)
    for (const actor of actors) {
      const inbox = await readInbox(deps, tenant.as(actor), {})
      const events: unknown[] = []
      received.set(`${actor} inbox`, events)
      inboxes.push(() => void inbox.return!())
      streams.push(
        (async () => {
          for await (const event of inbox) events.push(event)
        })(),
      )
    }
    const facts = (await converse(tenant, conversationId, true)).filter((id) => id.startsWith('fact_'))
    for (const actor of actors) await listen('replay', actor, 0)
    await new Promise((resolve) => setTimeout(resolve, 300))
    await deleteConversation(deps, tenant.as('owner'), conversationId)
    await new Promise((resolve) => setTimeout(resolve, 100))
    for (const end of inboxes) end()
    await Promise.all(streams)

    for (const [reader, events] of received) {
      const isInAudience = /^(ann|bob) (live|replay)/.test(reader)
      expect(JSON.stringify(events).includes(CANARY), `${reader} received the canary`).toBe(isInAudience)
      expect(
        facts.some((id) => JSON.stringify(events).includes(id)),
        `${reader} received facts`,
      ).toBe(isInAudience)
    }
  })

  it('changes only the inboxes of its audience', async () => {
    const tenant = world.tenant()
    const conversationId = await makeConversation(tenant)
    const hello = await tenant.append(conversationId, 'ann', 'hello all')
    const reasons = new Map<string, string[]>()
    const streams = []
    for (const actor of ['bob', 'eve', 'late', 'gone', 'stranger']) {
      const inbox = await readInbox(world.deps, tenant.as(actor), {})
      const inboxReasons: string[] = []
      reasons.set(actor, inboxReasons)
      streams.push({
        inbox,
        ended: (async () => {
          for await (const { reason } of inbox) inboxReasons.push(reason)
        })(),
      })
    }
    await tenant.append(conversationId, 'ann', CANARY, { audience: ['bob'] })
    await expect.poll(() => reasons.get('bob')).toEqual(['UNREAD', 'APPENDED'])
    await new Promise((resolve) => setTimeout(resolve, 100))
    for (const { inbox, ended } of streams) {
      await inbox.return!()
      await ended
    }
    expect(Object.fromEntries(reasons)).toEqual({
      bob: ['UNREAD', 'APPENDED'],
      eve: ['UNREAD'],
      late: ['UNREAD'],
      gone: [],
      stranger: [],
    })
    // For actors who have read everything else, the conversation is not unread.
    const firstReason = async (actor: string) => {
      await markRead(world.deps, tenant.as(actor), { conversationId, seq: hello.seq })
      const inbox = await readInbox(world.deps, tenant.as(actor), {})
      await tenant.newConversation(actor)
      const { value } = await inbox.next()
      await inbox.return!()
      return value.reason
    }
    expect([await firstReason('bob'), await firstReason('eve'), await firstReason('late')]).toEqual([
      'UNREAD',
      'ADDED',
      'ADDED',
    ])
  })

  it('cannot be answered or edited by actors who cannot see it', async () => {
    const tenant = world.tenant()
    const conversationId = await makeConversation(tenant)
    const [first, edited, again] = await converse(tenant, conversationId, true)
    const answers = []
    for (const turnId of [first!, edited!, again!]) {
      for (const actor of ['eve', 'stranger']) {
        const turn = { role: 'USER' as const, content: 'mine now' }
        answers.push(await supersedeTurn(world.deps, tenant.as(actor), { turnId, turn }).catch((error) => error))
      }
    }
    const parts = [{ toolResult: { callId: CANARY, name: 'n', result: 1 } }]
    answers.push(
      await appendTurn(world.deps, tenant.as('eve'), { conversationId, turn: { role: 'TOOL', parts } }).catch(
        (error) => error,
      ),
    )
    for (const error of answers) expect(error).toBeInstanceOf(DomainError)
    for (const error of answers.slice(0, -1)) expect(error).toBeInstanceOf(NotFound)
  })
})
