// The parts of a streaming turn that are written with deltas: reasoning, tool calls and others. Readers receive them
// live and in contiguous ranges, and the ended turn contains them.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { MAX_STREAMED_PARTS } from '../../../../../src/domain/turn/content.ts'
import { history, pageOfTurns } from '../../../../../src/domain/turn/history.ts'
import { appendDelta, type AppendDeltaInput } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortSilentTurns, abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound, StreamClosed } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../support/process.ts'
import { partsOf, read, textOf } from '../../../../support/reading.ts'
import { sql } from '../../../../support/sql.ts'
import { WRITER } from '../../../../support/writer.ts'

type Part = NonNullable<AppendDeltaInput['part']>

const LIMIT = 20_000
const SEARCH = { callId: 'c1', name: 'search' }
const text = (of: string) => ({ type: 'text', text: of })
const searched = (given: unknown) => ({ type: 'toolCall', ...SEARCH, arguments: given })

describe.each(backends)('parts of a streaming turn, on $name', (backend) => {
  let site: Site
  let one: Process
  let other: Process
  let ada: Viewer
  let conversationId: string
  let turnId: string

  const write = (content: string, start?: number) =>
    appendDelta(one.deps, ada, { writerToken: WRITER, turnId, text: content, start }).then(({ end }) => end)
  const writePart = (part: Part, content = '', start?: number, { deps } = one) =>
    appendDelta(deps, ada, { writerToken: WRITER, turnId, part, text: content, start }).then(({ end }) => end)
  const stored = async () => (await getTurns(one.deps, ada, [turnId])).get(turnId)!
  const commit = (parts?: Parameters<typeof commitTurn>[2]['parts']) =>
    commitTurn(one.deps, ada, { writerToken: WRITER, turnId, ...(parts ? { parts } : null) })
  const abort = () => abortTurn(one.deps, ada, { writerToken: WRITER, turnId })

  beforeAll(async () => {
    site = await openSite(backend)
    one = await site.start({ turnBytes: LIMIT })
    other = await site.start({ turnBytes: LIMIT })
  })
  afterAll(() => site.close())
  beforeEach(async () => {
    ada = newViewer()
    conversationId = (await createConversation(one.deps, ada, {})).conversation.id
    const { turn } = await openTurn(one.deps, ada, { writerToken: WRITER, conversationId, turn: { role: 'ASSISTANT' } })
    turnId = turn.id
  })

  /** Writes a turn with each type of part: `Let me see. {c1} {result} It is 3.`, and reasoning before it. */
  async function writeAll(): Promise<void> {
    await writePart({ number: 1, reasoning: {} }, 'Searching ')
    await writePart({ number: 1, isComplete: true }, 'helps.')
    await write('Let me see. ')
    await writePart({ number: 2, toolCall: SEARCH }, '{"for":')
    await writePart({ number: 2, isComplete: true }, '"😀"}')
    await writePart({ number: 3, toolProgress: { callId: 'c1' } }, '50 %')
    await writePart({ number: 4, toolResult: { ...SEARCH, result: 3 } })
    await write('It is 3.')
    await writePart({ number: 5, source: { url: 'https://example.org/', title: 'Example' } })
    await writePart({ number: 6, file: { url: 'https://example.org/a.png', mediaType: 'image/png' } })
    await writePart({ number: 7, data: { chart: [1] } })
  }
  const ALL = [
    { type: 'reasoning', reasoning: 'Searching helps.' },
    text('Let me see. '),
    searched({ for: '😀' }),
    { type: 'toolResult', ...SEARCH, result: 3 },
    text('It is 3.'),
    { type: 'source', url: 'https://example.org/', title: 'Example' },
    { type: 'file', url: 'https://example.org/a.png', mediaType: 'image/png' },
    { type: 'data', data: { chart: [1] } },
  ]

  it('reach readers in every process as they are written, and a later reader at once', async () => {
    const readers = await Promise.all([one, other].map(({ deps }) => read(deps, ada, { conversationId })))
    await writeAll()
    readers.push(await read(other.deps, ada, { conversationId }))
    for (const reading of readers) {
      await reading.until('all parts', () => partsOf(reading, turnId).length === 7)
      const parts = partsOf(reading, turnId)
      expect(parts.map(({ at }) => at)).toEqual([0, 12, 12, 12, 20, 20, 20])
      expect(parts.map((part) => part.text)).toEqual(['Searching helps.', '{"for":"😀"}', '50 %', '', '', '', ''])
      expect(parts.map(({ isComplete }) => isComplete)).toEqual([true, true, false, true, true, true, true])
      expect(parts[1]!.content).toEqual({ type: 'toolCall', ...SEARCH })
      await reading.until('the text', () => textOf(reading, turnId).length === 20)
      await reading.stop()
    }
  })

  it('are in the open turn as far as they are complete, and in the committed turn', async () => {
    await writeAll()
    expect((await stored()).parts).toMatchObject(ALL)
    const pages = await pageOfTurns(one.deps, ada, [conversationId], { first: 10 })
    expect(pages.get(conversationId)!.items[0]!.parts).toMatchObject(ALL)
    const whole = await history(one.deps, ada, [conversationId], {})
    expect(whole.get(conversationId)![0]!.parts).toMatchObject(ALL)
    const committed = await commit()
    expect(committed.parts).toMatchObject(ALL)
    expect(committed.text).toBe('Let me see. It is 3.')
    expect(await stored()).toEqual(committed)
    const { rows } = await sql(one.deps.pool).query('SELECT FROM stream_part WHERE turn_id = $1', [turnId])
    expect(rows).toEqual([])
  })

  it('can all be sent again, in each process, as after a lost connection', async () => {
    await writeAll()
    expect(await writePart({ number: 1, reasoning: {} }, 'Searching ', 0, other)).toBe(16)
    expect(await writePart({ number: 1, isComplete: true }, 'helps.', 10)).toBe(16)
    expect(await writePart({ number: 2, toolCall: SEARCH }, '{"for":', 0, other)).toBe(12)
    expect(await writePart({ number: 4, toolResult: { ...SEARCH, result: 3 } })).toBe(0)
    expect(await writePart({ number: 7, data: { chart: [1] } }, '', 0, other)).toBe(0)
    expect((await commit()).parts).toMatchObject(ALL)
  })

  it('stand where the text ended when they were opened, also if deltas are sent without waiting for replies', async () => {
    await write('ab')
    await writePart({ number: 1, reasoning: {} })
    await Promise.all([write('c'), writePart({ number: 1 }, 'x'), write('d'), writePart({ number: 1 }, 'y')])
    await writePart({ number: 2, data: 1 })
    await write('e')
    expect((await commit()).parts).toEqual([
      text('ab'),
      { type: 'reasoning', reasoning: 'xy' },
      text('cd'),
      { type: 'data', data: 1 },
      text('e'),
    ])
  })

  it.each<[string, Part, string, number | undefined, string]>([
    ['for a number that is not the next', { number: 3, data: 1 }, '', undefined, 'has 1 parts. Part 2 comes next'],
    ['for a part that no delta has opened', { number: 2 }, 'x', undefined, 'Part 2 comes next'],
    ['for another type', { number: 1, data: 1 }, '', undefined, 'differs from its first delta'],
    ['for a gap in the text', { number: 1 }, 'x', 9, 'part 1 of turn'],
    ['for different text', { number: 1 }, 'X', 0, 'differs at 0'],
  ])('fail with Conflict %s', async (_, part, content, start, message) => {
    await writePart({ number: 1, reasoning: {} }, 'abc')
    const error = await writePart(part, content, start).catch((thrown: Error) => thrown)
    expect(error).toBeInstanceOf(Conflict)
    expect((error as Error).message).toContain(message)
    expect((await stored()).parts).toEqual([{ type: 'reasoning', reasoning: 'abc' }])
  })

  it.each([
    ['fewer keys', { a: 1, b: 2 }, { a: 1 }],
    ['another order', [1, 2], [2, 1]],
  ])('fail with Conflict for other data with the same number: %s', async (_, first, second) => {
    await writePart({ number: 1, data: first })
    await expect(writePart({ number: 1, data: second })).rejects.toThrow(Conflict)
    expect((await stored()).parts).toEqual([{ type: 'data', data: first }])
  })

  it('with incomplete tool calls are committed without them, if the commit says so', async () => {
    await write('Let me')
    await writePart({ number: 1, toolCall: SEARCH }, '{"for":')
    await writePart({ number: 2, toolCall: { callId: 'c2', name: 'search' }, isComplete: true }, '{}')
    const { parts } = await commitTurn(one.deps, ada, { writerToken: WRITER, turnId, omitIncompleteCalls: true })
    expect(parts).toEqual([text('Let me'), { type: 'toolCall', callId: 'c2', name: 'search', arguments: {} }])
  })

  it('fail with Conflict for text after the last delta', async () => {
    await writePart({ number: 1, reasoning: {}, isComplete: true }, 'abc')
    await expect(writePart({ number: 1 }, 'd')).rejects.toThrow('Part 1')
    await expect(writePart({ number: 1, reasoning: { signature: 's' } })).rejects.toThrow(Conflict)
    expect(await writePart({ number: 1 })).toBe(3)
  })

  it.each<[string, Part, string]>([
    ['two types', { number: 1, data: 1, reasoning: {} }, ''],
    ['text of a part that has none', { number: 1, data: 1 }, 'x'],
    ['the number 0', { number: 0, data: 1 }, ''],
    [`the number ${MAX_STREAMED_PARTS + 1}`, { number: MAX_STREAMED_PARTS + 1, data: 1 }, ''],
    ['a script as the URL of a source', { number: 1, source: { url: 'javascript:alert(1)' } }, ''],
  ])('fail with InvalidInput for %s', async (_, part, content) => {
    await expect(writePart(part, content)).rejects.toThrow(InvalidInput)
    expect((await stored()).parts).toBeNull()
  })

  it(`can be ${MAX_STREAMED_PARTS}`, async () => {
    for (let number = 1; number <= MAX_STREAMED_PARTS; number++) await writePart({ number, data: 1 })
    expect((await commit()).parts).toHaveLength(MAX_STREAMED_PARTS)
  })

  it(`count towards the ${LIMIT} bytes of the turn, with their text`, async () => {
    await write('a'.repeat(9_000))
    await writePart({ number: 1, reasoning: {} }, 'b'.repeat(9_000))
    await expect(writePart({ number: 1 }, 'c'.repeat(2_500))).rejects.toThrow(InvalidInput)
    await expect(write('c'.repeat(2_500))).rejects.toThrow(`longer than ${LIMIT} bytes`)
    await expect(writePart({ number: 2, data: 'c'.repeat(2_500) })).rejects.toThrow(InvalidInput)
    await commit()
  })

  it('may end in half of a surrogate pair, except the last delta', async () => {
    await writePart({ number: 1, reasoning: {} }, 'a\ud83d')
    await expect(writePart({ number: 1, isComplete: true })).rejects.toThrow(InvalidInput)
    await expect(writePart({ number: 1 }, 'b')).rejects.toThrow(InvalidInput)
    expect(await writePart({ number: 1, isComplete: true }, '\ude00')).toBe(3)
    expect((await commit()).parts).toEqual([{ type: 'reasoning', reasoning: 'a😀' }])
  })

  it('with a tool call whose arguments are not JSON prevent the commit, until it gets the call', async () => {
    await writePart({ number: 1, toolCall: SEARCH, isComplete: true }, '{"for":')
    await expect(commit()).rejects.toThrow('"c1": the text of part 1 is not JSON')
    expect((await stored()).status).toBe('STREAMING')
    const { parts } = await commit([{ toolCall: { ...SEARCH, arguments: { for: 'x' } } }])
    expect(parts).toEqual([searched({ for: 'x' })])
  })

  it('are kept by an abort, except tool calls without a result', async () => {
    await writeAll()
    await writePart({ number: 8, toolCall: { callId: 'c2', name: 'search' }, isComplete: true }, '{}')
    expect((await abort()).parts).toMatchObject(ALL)
  })

  it('are kept when the lease expires, and renew it before', async () => {
    const age = (ms: number) =>
      sql(one.deps.pool).query(
        `WITH c AS (UPDATE chunk SET written_at = now() - $2 * interval '1 ms' WHERE turn_id = $1)
         UPDATE stream SET renewed_at = now() - $2 * interval '1 ms' WHERE turn_id = $1`,
        [turnId, ms],
      )
    await age(31_000)
    await writePart({ number: 1, reasoning: {} }, 'why')
    expect(await abortSilentTurns(one.deps)).toBe(0)
    await age(31_000)
    await abortSilentTurns(one.deps)
    expect(await stored()).toMatchObject({ status: 'ABORTED', parts: [{ type: 'reasoning', reasoning: 'why' }] })
  })

  it('are refused for a closed turn, another writer and an unknown turn', async () => {
    const part = { number: 1, data: 1 }
    const given = { writerToken: 'another token of a writer', turnId, part, text: '' }
    await expect(appendDelta(one.deps, ada, given)).rejects.toThrow(NotAllowed)
    const unknown = { ...given, turnId: `${turnId.slice(0, -1)}${turnId.endsWith('0') ? 1 : 0}` }
    await expect(appendDelta(one.deps, ada, unknown)).rejects.toThrow(NotFound)
    await abort()
    await expect(writePart(part)).rejects.toThrow(StreamClosed)
  })

  it('of a private turn reach its audience only, and are in no message on the bus', async () => {
    const bob = { ...ada, actor: 'bob' }
    const turn = { role: 'ASSISTANT' as const, audience: ['ada'] }
    turnId = (await openTurn(one.deps, ada, { writerToken: WRITER, conversationId, turn })).turn.id
    const [hers, his] = await Promise.all([ada, bob].map((viewer) => read(other.deps, viewer, { conversationId })))
    await writeAll()
    await hers!.until('all parts', () => partsOf(hers!, turnId).length === 7)
    await hers!.until('the progress', () => partsOf(hers!, turnId)[2]?.text === '50 %')
    const { parts } = await commit()
    expect(parts).toMatchObject(ALL)
    await hers!.until('the commit', ({ events }) => events.some(({ type }) => type === 'TurnCommitted'))
    expect(his!.events).toEqual([])
    await Promise.all([hers!.stop(), his!.stop()])
  })
})
