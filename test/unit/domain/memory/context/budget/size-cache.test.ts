// The cache of message sizes returns a stored size only for an equal message.

import { expect, it, vi } from 'vitest'
import { NOTHING, sizeOf } from '../../../../../../src/domain/memory/context/budget/budget.ts'
import { createSizeCache } from '../../../../../../src/domain/memory/context/budget/size-cache.ts'
import type { Message } from '../../../../../../src/domain/memory/context/message.ts'
import { countInline } from '../../../../../../src/text/tokens.ts'

const CALL = { type: 'toolCall', callId: 'call_1', name: 'find', arguments: { city: 'Rome' } } as const
const message = (more: Partial<Message> = {}): Message => ({
  kind: 'RECENT',
  role: 'ASSISTANT',
  name: 'ada',
  labelled: true,
  parts: [{ type: 'text', text: 'The harbour.' }, CALL],
  position: 3,
  sourceIds: ['turn_1'],
  reason: 'one of the recent turns',
  ...more,
})

it('a size is measured once for equal messages, whatever their ids and reasons', async () => {
  const sizes = createSizeCache()
  const measure = vi.fn(async () => ({ ...NOTHING, chars: 7 }))
  for (const same of [{}, { sourceIds: ['turn_2'] }, { reason: 'pinned' }, { kind: 'PINNED' as const }]) {
    expect(await sizes(message(same), new Set(), measure)).toEqual({ ...NOTHING, chars: 7 })
  }
  expect(measure).toHaveBeenCalledTimes(1)
})

it.each<[string, Partial<Message>, string[]]>([
  ['role', { role: 'USER' }, []],
  ['name', { name: 'adalbert the second' }, []],
  ['label', { labelled: false }, []],
  ['text', { parts: [{ type: 'text', text: 'The harbour of Genoa.' }, CALL] }, []],
  [
    'call',
    {
      parts: [
        { type: 'text', text: 'The harbour.' },
        { ...CALL, arguments: { city: 'Reykjavik' } },
      ],
    },
    [],
  ],
  ['position', { position: 123_456_789 }, []],
  ['list of unanswered calls', {}, ['call_1']],
])('a message with a different value of its %s is measured separately', async (_, more, unanswered) => {
  const sizes = createSizeCache()
  const measure = vi.fn(async (each: Message, ids: string[]) => sizeOf({ count: countInline }, each, new Set(ids)))
  const sizeIn = (each: Message, ids: string[]) => sizes(each, new Set(ids), () => measure(each, ids))
  await sizeIn(message(), [])
  expect(await sizeIn(message(more), unanswered)).toEqual(await measure(message(more), unanswered))
  expect(measure).toHaveBeenCalledTimes(3)
})

it('a failed measurement is not cached', async () => {
  const sizes = createSizeCache()
  await expect(sizes(message(), new Set(), () => Promise.reject(new Error('thread ended')))).rejects.toThrow('ended')
  expect(await sizes(message(), new Set(), async () => NOTHING)).toEqual(NOTHING)
})

it('a message of more than 16,384 UTF-16 units is measured each time', async () => {
  const sizes = createSizeCache()
  const measure = vi.fn(async () => NOTHING)
  const long = message({ parts: [{ type: 'text', text: 'x'.repeat(17 * 1024) }] })
  for (let n = 0; n < 2; n++) await sizes(long, new Set(), measure)
  expect(measure).toHaveBeenCalledTimes(2)
})
