// Private turns in subscriptions and in reads by id: conversation events, live and on replay, deliver them only to their audience, and only
// the inboxes of their audience change. The other viewers receive what viewers of a control conversation without private
// turns receive. The last proof of each stream is its end, because the conversation is deleted.

import { expect, it } from 'vitest'
import { deleteConversation } from '../../../src/domain/trust/erasure/delete-conversation.ts'
import { readInbox } from '../../../src/domain/turn/journal/inbox.ts'
import { getFacts } from '../../../src/domain/memory/fact/fact.ts'
import { getFactSourcePages } from '../../../src/domain/memory/fact/source.ts'
import { markRead } from '../../../src/domain/conversation/participant/participant.ts'
import { getNextVersions, getPreviousVersions, getTurns, getVersionNumbers } from '../../../src/domain/turn/turn.ts'
import { lines, read, type Reading } from '../../support/reading.ts'
import type { TestWorld } from '../../support/world.ts'
import { CANARY, type FilledWorld, type Side } from './filled-world.ts'

const AUDIENCE = ['ann', 'bob']
const OTHERS = ['eve', 'late', 'gone', 'nosy']
const STARTS = { live: undefined, replay: 0 }

/** Adds the tests. They delete the conversation of the whisper. */
export function testWhisperEvents(world: TestWorld, filled: () => FilledWorld): void {
  it('a private turn changes only the inboxes of its audience', async () => {
    const { tenant, ids } = filled().whisper.subject
    const conversationId = ids.conversation
    const seq = (await tenant.lastSeq(conversationId))!
    const reasonsOf = async (actor: string) => {
      const inbox = await readInbox(world.deps, tenant.as(actor), {})
      const found: string[] = []
      const marker = await tenant.newConversation(actor)
      for await (const event of inbox) {
        if (event.conversationId === conversationId) found.push(event.reason)
        if (event.conversationId === marker) break
      }
      return found
    }
    for (const actor of ['bob', 'eve', 'late']) await markRead(world.deps, tenant.as(actor), { conversationId, seq })
    await tenant.append(conversationId, 'ann', CANARY, { audience: ['bob'] })
    expect({ bob: await reasonsOf('bob'), eve: await reasonsOf('eve'), late: await reasonsOf('late') }).toEqual({
      bob: ['UNREAD'],
      eve: [],
      late: [],
    })
    const open = await Promise.all(
      [...OTHERS, 'bob'].map(async (actor) => ({ actor, inbox: await readInbox(world.deps, tenant.as(actor), {}) })),
    )
    await tenant.append(conversationId, 'ann', CANARY, { audience: ['bob'] })
    const marker = await tenant.newConversation(...OTHERS, 'bob')
    for (const { actor, inbox } of open) {
      const received = []
      for await (const event of inbox) {
        if (event.conversationId === marker) break
        received.push(event)
      }
      expect(JSON.stringify(received), `the inbox of ${actor}`).not.toContain(CANARY)
      const appended = received.filter(({ reason }) => reason === 'APPENDED')
      expect(appended.length, `events in the inbox of ${actor}`).toBe(actor === 'bob' ? 1 : 0)
    }
  })

  it('a private turn is not found by its id in the domain', async () => {
    const { tenant, ids } = filled().whisper.subject
    const all = [ids.turn, ids.open, ids.fact, ...ids.others]
    const { deps } = world
    const found = async (actor: string) => {
      const viewer = tenant.as(actor)
      const sources = [...(await getFactSourcePages(deps, viewer, all, {})).values()].flatMap(({ items }) => items)
      const reads = [getTurns, getNextVersions, getPreviousVersions, getVersionNumbers, getFacts] as const
      const sizes = []
      for (const readByIds of reads) sizes.push((await readByIds(deps, viewer, all)).size)
      return [...sizes, sources.length]
    }
    for (const actor of OTHERS) expect(await found(actor), actor).toEqual([0, 0, 0, 0, 0, 0])
    for (const actor of AUDIENCE) expect(await found(actor), actor).not.toContain(0)
  })

  it('a private turn is delivered only to its audience, live and on replay', async () => {
    const { subject, control } = filled().whisper
    const listen = async ({ tenant, ids }: Side): Promise<Map<string, Reading>> => {
      const readings = new Map<string, Reading>()
      for (const actor of [...AUDIENCE, ...OTHERS]) {
        for (const [name, afterSeq] of Object.entries(STARTS)) {
          const given = { conversationId: ids.conversation, afterSeq }
          readings.set(`${actor}, ${name}`, await read(world.deps, tenant.as(actor), given))
        }
      }
      return readings
    }
    const [received, expected] = [await listen(subject), await listen(control)]
    await subject.tenant.append(subject.ids.conversation, 'ann', `${CANARY} live`, { audience: ['bob'] })
    for (const { tenant, ids } of [subject, control]) {
      await tenant.append(ids.conversation, 'ann', 'hello again')
      await deleteConversation(world.deps, tenant.as('owner'), ids.conversation)
    }
    for (const [name, reading] of received) {
      const quiet = expected.get(name)!
      for (const each of [reading, quiet]) await each.until(`the end of ${name}`, ({ end }) => end === 'complete')
      const text = JSON.stringify(reading.events)
      const isInAudience = AUDIENCE.some((actor) => name.startsWith(actor))
      expect(text.includes(CANARY), `${name} received the canary`).toBe(isInAudience)
      const hasIds = [subject.ids.fact, ...subject.ids.others].some((id) => text.includes(id))
      expect(hasIds, `${name} received ids`).toBe(isInAudience && name.endsWith('replay'))
      const types = ({ events }: Reading) => lines(events).map((line) => line.replace(/^[\d-]+ /, ''))
      if (!isInAudience) expect(types(reading), name).toEqual(types(quiet))
    }
  })
}
