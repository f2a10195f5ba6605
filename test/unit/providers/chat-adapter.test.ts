// The assembly of a reply from its pieces: the ids, order and size of tool calls, and the deltas that wait for a reader.
// The contract of all adapters is in test/contract/.

import { describe, expect, it } from 'vitest'
import { createChatAdapter } from '../../../src/providers/chat-adapter.ts'
import { MAX_REPLY_BYTES, type ReplyPiece } from '../../../src/providers/reply.ts'
import type { ProviderCallFailed, ProviderStreamEvent } from '../../../src/providers/ports/provider-adapter.ts'

const END: ReplyPiece = { type: 'end', finishReason: 'stop' }

/** Returns the events of a reply that a reader finds when all pieces have arrived, and the error after them. */
async function eventsOf(...pieces: ReplyPiece[]) {
  const adapter = createChatAdapter({
    label: () => 'p:m',
    stallMs: 5_000,
    open: async () =>
      (async function* () {
        yield* pieces
      })(),
    explain: (error) => {
      throw error
    },
  })
  const stream = await adapter.completeStream({ messages: [], metadata: { provider: 'p', model: 'm' } })
  await stream.final.catch(() => {})
  const events: ProviderStreamEvent[] = []
  try {
    for await (const event of stream) events.push(event)
    return { events, error: null }
  } catch (error) {
    return { events, error: error as ProviderCallFailed }
  }
}

/** The parts of the deltas, and the calls. */
const partsOf = (events: ProviderStreamEvent[]) =>
  events.flatMap((event) =>
    event.type === 'delta' ? event.delta.content : event.type === 'tool-call' ? [event.toolCall] : [],
  )

const start = (key: string, id = key): ReplyPiece => ({ type: 'call-start', key, id, name: 'now' })
const more = (key: string, text: string): ReplyPiece => ({ type: 'call-delta', key, text })
const whole = (key: string | null, given: unknown = {}): ReplyPiece => ({
  type: 'tool-call',
  ...(key !== null && { key }),
  toolCall: { id: key ?? 'a', name: 'now', arguments: given },
})

describe('a reply', () => {
  it('joins waiting deltas of the same kind and call', async () => {
    const { events } = await eventsOf(
      { type: 'reasoning', text: 'Hm' },
      { type: 'reasoning', text: '.' },
      { type: 'reasoning-end', signature: 's' },
      { type: 'reasoning', text: 'So.' },
      { type: 'text', text: 'I ' },
      { type: 'text', text: 'look.' },
      start('a'),
      start('b'),
      more('a', '{'),
      more('a', '"q":1'),
      more('b', '{'),
      more('b', '}'),
      more('a', '}'),
      whole('a', { q: 1 }),
      whole('b'),
      END,
    )
    expect(partsOf(events)).toEqual([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'reasoning-end', signature: 's' },
      { type: 'reasoning', text: 'So.' },
      { type: 'text', text: 'I look.' },
      { type: 'tool-call-start', id: 'a', name: 'now' },
      { type: 'tool-call-start', id: 'b', name: 'now' },
      { type: 'tool-call-delta', id: 'a', text: '{"q":1' },
      { type: 'tool-call-delta', id: 'b', text: '{}' },
      { type: 'tool-call-delta', id: 'a', text: '}' },
      { id: 'a', name: 'now', arguments: { q: 1 } },
      { id: 'b', name: 'now', arguments: {} },
    ])
  })

  it('has no empty deltas, and none of a call that has not begun or is whole', async () => {
    const { events } = await eventsOf(
      { type: 'reasoning', text: '' },
      { type: 'text', text: '' },
      more('a', '{'),
      start('a'),
      more('a', ''),
      whole('a'),
      more('a', '{}'),
      END,
    )
    expect(partsOf(events)).toEqual([
      { type: 'tool-call-start', id: 'a', name: 'now' },
      { id: 'a', name: 'now', arguments: {} },
    ])
  })

  it.each([
    ['is not announced', [whole('a')]],
    ['is announced', [start('a'), whole('a')]],
    ['has no key', [whole(null)]],
  ])('has another id for a call that repeats an id, if the first one %s', async (_, first) => {
    const { events } = await eventsOf(...first, whole('a'), whole(null), END)
    const ids = events.flatMap((event) => (event.type === 'tool-call' ? [event.toolCall.id] : []))
    expect(ids).toEqual(['a', expect.stringMatching(/^call_/), expect.stringMatching(/^call_/)])
    expect(new Set(ids).size).toBe(3)
  })

  it('has the announced id of a call, even if the id cannot be used', async () => {
    const { events } = await eventsOf(start('a', 'ä'), more('a', '{}'), whole('a'), END)
    const ids = partsOf(events).map((part) => (part as { id: string }).id)
    expect(ids).toEqual([expect.stringMatching(/^call_/), ids[0], ids[0]])
  })

  const half = 'x'.repeat(MAX_REPLY_BYTES / 2)
  it.each<[string, ReplyPiece[]]>([
    ['the text', [{ type: 'text', text: half }]],
    ['the reasoning', [{ type: 'reasoning', text: half }]],
    ['arguments in pieces', [start('a'), more('a', half), whole('a', half)]],
    ['the arguments of a call that is not announced', [whole('a', half)]],
    ['the arguments of a call that is announced without pieces', [start('a'), whole('a', half)]],
  ])('counts %s once in its size', async (_, pieces) => {
    const rest: ReplyPiece = { type: 'text', text: half }
    expect((await eventsOf(...pieces, rest, END)).error).toBeNull()
    const { error } = await eventsOf(...pieces, rest, { type: 'text', text: '.' }, END)
    expect(error).toMatchObject({ code: 'REPLY_TOO_LARGE', retryable: false })
  })
})
