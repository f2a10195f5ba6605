// The notes about a lost connection, and a second reading.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ConversationHandle, FollowedEvent, FollowOptions } from '../../../../src/client/index.ts'
import { followEvents, readAgain, type Followed } from '../../../../src/web/journal/follow-events.ts'

const event = (seq: number | null, fields: object = {}) =>
  ({ __typename: 'TurnAppended', seq, at: '2026-01-01T00:00:00Z', ...fields }) as unknown as FollowedEvent
const gap = (resumeAfterSeq: number) => event(null, { __typename: 'Gap', resumeAfterSeq })

/** A conversation whose events and connection the test decides. `head`: its newest entry; null if it cannot be read. */
function fakeConversation() {
  const waiting: FollowedEvent[] = []
  let wake = () => {}
  let options: FollowOptions = {}
  const state = { head: 41 as number | null }
  async function* follow(given: FollowOptions) {
    options = given
    given.signal?.addEventListener('abort', () => wake())
    while (!given.signal?.aborted) {
      const next = waiting.shift()
      if (next) yield next
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  const read = async () => {
    if (state.head === null) throw new Error('away')
    return { lastSeq: state.head }
  }
  return {
    state,
    conversation: { follow, read } as unknown as ConversationHandle,
    connection: (to: 'live' | 'waiting') => options.onConnection!(to),
    /** Delivers the events. */
    async deliver(...events: FollowedEvent[]) {
      waiting.push(...events)
      wake()
      await vi.advanceTimersByTimeAsync(0)
    },
  }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('followEvents', () => {
  /** Follows the conversation until it is lost at entry 41 and connected again, with `head` as its newest entry. */
  async function lost(head: number | null) {
    const fake = fakeConversation()
    const ending = new AbortController()
    const notes: string[] = []
    const show = ({ lines }: Followed) =>
      notes.splice(0, notes.length, ...lines.lines.flatMap((line) => (line.kind === 'note' ? [line.text] : [])))
    void followEvents(fake.conversation, 40, show, ending.signal)
    await vi.advanceTimersByTimeAsync(0)
    fake.connection('live')
    await fake.deliver(event(41))
    fake.connection('waiting')
    fake.state.head = head
    fake.connection('live')
    await vi.advanceTimersByTimeAsync(0)
    /** Returns the newest note after `ms`. */
    const after = async (ms: number) => {
      await vi.advanceTimersByTimeAsync(ms)
      return notes.at(-1)
    }
    return { ...fake, after, end: () => ending.abort() }
  }

  it('names what arrived, once the newest entry is there', async () => {
    const { deliver, after, end } = await lost(44)
    await deliver(event(42), event(43))
    expect(await after(200)).toMatch(/^Connected again/)
    await deliver(event(44))
    expect(await after(200)).toBe('Resumed after 41. Entries 42–44 arrived meanwhile; nothing is missing.')
    end()
  })

  it('waits as long as entries arrive', async () => {
    const { deliver, after, end } = await lost(44)
    await after(2_000)
    await deliver(event(42))
    await after(2_000)
    await deliver(event(43))
    expect(await after(2_000)).toMatch(/^Connected again/)
    expect(await after(1_000)).toMatch(/^Resumed after 41\. Entries 42–43 arrived meanwhile\. 1 number is absent\./)
    end()
  })

  it('does not claim to be complete if the newest entry could not be read', async () => {
    const { deliver, after, end } = await lost(null)
    await deliver(event(42))
    expect(await after(3_000)).toBe(
      'Resumed after 41. Entry 42 arrived meanwhile. The newest entry could not be read, so more may be missing.',
    )
    end()
  })

  it('names the entries that the server skipped', async () => {
    const { deliver, after, end } = await lost(50)
    await deliver(gap(48), event(49), event(50))
    expect(await after(200)).toBe(
      'Resumed after 41. Entries 49–50 arrived meanwhile. The server skipped 42–48, because the page was too far behind.',
    )
    end()
  })
})

describe('readAgain', () => {
  const range = { from: 1, to: 3 }

  it('returns the numbers up to the last one', async () => {
    const { conversation, deliver } = fakeConversation()
    const reading = readAgain(conversation, range, new AbortController().signal)
    await deliver(event(1), event(null), event(2), event(4))
    expect(await reading).toEqual([1, 2])
  })

  it('fails if the last one does not arrive in time', async () => {
    const { conversation, deliver } = fakeConversation()
    const reading = readAgain(conversation, range, new AbortController().signal)
    const failing = expect(reading).rejects.toThrow('The second reading did not reach entry 3 within 15 s.')
    await deliver(event(1))
    await vi.advanceTimersByTimeAsync(15_000)
    await failing
  })

  it('ends with its signal', async () => {
    const { conversation } = fakeConversation()
    const ending = new AbortController()
    const failing = expect(readAgain(conversation, range, ending.signal)).rejects.toThrow()
    await vi.advanceTimersByTimeAsync(0)
    ending.abort()
    await failing
    expect(vi.getTimerCount()).toBe(0)
  })
})
