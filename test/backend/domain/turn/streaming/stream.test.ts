// Writing a streaming turn on a real database: the position of each delta, and the rejection of invalid deltas.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import type { VisibleEvent } from '../../../../../src/domain/turn/journal/event.ts'
import { appendDelta, type AppendDeltaInput } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { Conflict, InvalidInput, NotFound, StreamClosed } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../support/process.ts'
import { deltasOf, range, read, textOf } from '../../../../support/reading.ts'
import { WRITER } from '../../../../support/writer.ts'

const FIRST = '\ud83d'
const SECOND = '\ude00'

describe.each(backends)('deltas of a streaming turn, on $name', (backend) => {
  let site: Site
  let one: Process
  let other: Process
  let ada: Viewer
  let conversationId: string
  let turnId: string

  const open = async () =>
    (await openTurn(one.deps, ada, { writerToken: WRITER, conversationId, turn: { role: 'ASSISTANT' } })).turn.id
  const write = (text: string, start?: number | null, { deps } = one) =>
    appendDelta(deps, ada, { writerToken: WRITER, turnId, text, start }).then(({ end }) => end)
  const stored = async () => (await getTurns(one.deps, ada, [turnId])).get(turnId)?.text

  beforeAll(async () => {
    site = await openSite(backend)
    one = await site.start({ turnBytes: 1000 })
    other = await site.start({ turnBytes: 1000 })
  })
  afterAll(() => site.close())
  beforeEach(async () => {
    ada = newViewer()
    conversationId = (await createConversation(one.deps, ada, {})).conversation.id
    turnId = await open()
  })

  it('are appended to the turn, and return the new end in UTF-16 units', async () => {
    expect(await write('héllo ')).toBe(6)
    expect(await write('漢字')).toBe(8)
    expect(await write('😀', 8)).toBe(10)
    expect(await stored()).toBe('héllo 漢字😀')
  })

  it('are ignored if they repeat existing text', async () => {
    await write('hello')
    expect(await write('hello', 0)).toBe(5)
    expect(await write('ll', 2)).toBe(5)
    expect(await write('', 5)).toBe(5)
    expect(await stored()).toBe('hello')
  })

  it('append only their part beyond the existing text', async () => {
    await write('hello')
    expect(await write('lo, world', 3)).toBe(12)
    expect(await stored()).toBe('hello, world')
  })

  it('fail with Conflict beyond the end, and the error names the end', async () => {
    await write('hello')
    const error = await write('x', 6).catch((error: Error) => error)
    expect(error).toBeInstanceOf(Conflict)
    expect((error as Error).message).toContain('ends at 5')
    expect(await stored()).toBe('hello')
  })

  it.each([
    ['within', 'heLLo', 0],
    ['at the end', 'lO!', 3],
  ])('fail with Conflict if the existing text differs, %s', async (_, text, start) => {
    await write('hello')
    await expect(write(text, start)).rejects.toThrow(Conflict)
    expect(await stored()).toBe('hello')
  })

  it('can be empty, as a heartbeat, at the end or anywhere before it', async () => {
    expect(await write('')).toBe(0)
    await write('hello')
    expect(await write('')).toBe(5)
    expect(await write('', 5)).toBe(5)
    await expect(write('', 6)).rejects.toThrow(Conflict)
    expect(await stored()).toBe('hello')
  })

  describe('with a surrogate pair split over two of them', () => {
    it('keep the first half back until the second arrives', async () => {
      expect(await write(`a${FIRST}`)).toBe(2)
      expect(await stored()).toBe('a')
      expect(await write(`${SECOND}b`)).toBe(4)
      expect(await stored()).toBe('a😀b')
    })

    it('keep the first half back if each half arrives alone', async () => {
      expect(await write(FIRST)).toBe(1)
      expect(await write(SECOND)).toBe(2)
      expect(await write(FIRST)).toBe(3)
      expect(await write(SECOND)).toBe(4)
      expect(await stored()).toBe('😀😀')
    })

    it('keep the first half back if they give their start', async () => {
      expect(await write(FIRST, 0)).toBe(1)
      expect(await write(SECOND, 1)).toBe(2)
      expect(await write(`a${FIRST}`, 2)).toBe(4)
      expect(await write(`${SECOND}${FIRST}`, 4)).toBe(6)
      expect(await write(`${SECOND}b`, 6)).toBe(8)
      expect(await stored()).toBe('😀a😀😀b')
    })

    it('can repeat either half, or both', async () => {
      await write(`a${FIRST}`)
      expect(await write(FIRST, 1)).toBe(2)
      expect(await write(`a${FIRST}`, 0)).toBe(2)
      expect(await write(`a${FIRST}${SECOND}`, 0)).toBe(3)
      expect(await write(SECOND, 2)).toBe(3)
      expect(await write(`${SECOND}b`, 2)).toBe(4)
      expect(await write(`${FIRST}${SECOND}b`, 1)).toBe(4)
      expect(await stored()).toBe('a😀b')
    })

    it('are stored without the first half if the second never arrives', async () => {
      await write(`a${FIRST}`)
      expect((await commitTurn(one.deps, ada, { writerToken: WRITER, turnId })).text).toBe('a')
      expect(await stored()).toBe('a')
    })

    it('fail with InvalidInput if the next unit is not a second half, and lose nothing', async () => {
      await write(`a${FIRST}`)
      await expect(write('b')).rejects.toThrow(InvalidInput)
      await expect(write(FIRST)).rejects.toThrow(InvalidInput)
      await expect(write('b', 2)).rejects.toThrow(InvalidInput)
      expect(await write(SECOND)).toBe(3)
      expect(await stored()).toBe('a😀')
    })

    it.each([
      ['a second half without a first', SECOND],
      ['a first half inside the text', `a${FIRST}b`],
      ['a second half inside the text', `a${SECOND}b`],
      ['two first halves', `${FIRST}${FIRST}`],
    ])('fail with InvalidInput for %s', async (_, text) => {
      await expect(write(text)).rejects.toThrow(InvalidInput)
      await expect(write(text, 0)).rejects.toThrow(InvalidInput)
      expect(await stored()).toBe('')
    })

    it('can be sent without waiting for answers', async () => {
      const ends = await Promise.all([write(`a${FIRST}`), write(`${SECOND}b`), write('c')])
      expect(ends).toEqual([2, 4, 5])
      expect(await stored()).toBe('a😀bc')
    })

    it('show readers whole characters only', async () => {
      const reading = await read(one.deps, ada, { conversationId, afterSeq: 0 })
      for (const text of ['a', FIRST, `${SECOND}${FIRST}`, SECOND, 'b', FIRST]) await write(text)
      await commitTurn(one.deps, ada, { writerToken: WRITER, turnId })
      await reading.until('the end of the turn', ({ events }) => events.at(-1)?.type === 'TurnCommitted')
      expect(textOf(reading, turnId)).toBe('a😀😀b')
      for (const { text } of deltasOf(reading, turnId)) expect(text.isWellFormed()).toBe(true)
      await reading.stop()
    })
  })

  describe('sent by one writer without waiting', () => {
    it('keep their order', async () => {
      const words = range(1, 100).map((n) => `${n} `)
      const ends = await Promise.all(words.map((word) => write(word)))
      expect(await stored()).toBe(words.join(''))
      expect(ends).toEqual(words.map((_, n) => words.slice(0, n + 1).join('').length))
    })

    it('keep their order when each gives its start', async () => {
      const words = range(1, 100).map((n) => `${n} `)
      let at = 0
      const ends = await Promise.all(words.map((word) => write(word, (at += word.length) - word.length)))
      expect(await stored()).toBe(words.join(''))
      expect(ends.at(-1)).toBe(words.join('').length)
    })

    it('are combined into few writes and few events', async () => {
      const reading = await read(one.deps, ada, { conversationId, afterSeq: 0 })
      await Promise.all(range(1, 100).map((n) => write(`${n} `)))
      await reading.until('all text', (each) => textOf(each, turnId).endsWith('100 '))
      expect(deltasOf(reading, turnId).length).toBeLessThan(20)
      await reading.stop()
    })

    it('can all be sent again, as after a lost connection', async () => {
      const words = range(1, 40).map((n) => `${n} `)
      const starts = words.map((_, n) => words.slice(0, n).join('').length)
      for (const n of range(0, 19)) await write(words[n]!, starts[n])
      const again = await Promise.allSettled(words.map((word, n) => write(word, starts[n])))
      expect(again.filter(({ status }) => status === 'rejected')).toEqual([])
      expect(await stored()).toBe(words.join(''))
    })

    it('do not affect each other: a valid delta is written even if the next one exceeds the limit', async () => {
      const [first, second] = await Promise.allSettled([write('a'.repeat(600)), write('b'.repeat(600))])
      expect([first.status, second.status]).toEqual(['fulfilled', 'rejected'])
      expect(await stored()).toBe('a'.repeat(600))
    })
  })

  it('of two writers with equal starts but different texts: one succeeds, the other fails with Conflict', async () => {
    for (let round = 0; round < 10; round++) {
      turnId = await open()
      await write('base ')
      const results = await Promise.allSettled([write('left', 5, one), write('right', 5, other)])
      const text = await stored()
      const rejected = results.filter((result) => result.status === 'rejected')
      expect(rejected).toHaveLength(1)
      expect(rejected[0]!.reason).toBeInstanceOf(Conflict)
      expect(text).toBe(results[0].status === 'fulfilled' ? 'base left' : 'base right')
    }
  })

  it('of two concurrent writers with the same start and text are written once', async () => {
    for (let round = 0; round < 10; round++) {
      turnId = await open()
      expect(await Promise.all([write('same', 0, one), write('same', 0, other)])).toEqual([4, 4])
      expect(await stored()).toBe('same')
    }
  })

  it('fail with InvalidInput over the limit of UTF-8 bytes, and the turn stays unchanged', async () => {
    await write('漢'.repeat(330))
    const error = await write('漢字漢字').catch((error: Error) => error)
    expect(error).toBeInstanceOf(InvalidInput)
    expect((error as Error).message).toContain('1000')
    expect(await write('0123456789')).toBe(340)
    await expect(write('x')).rejects.toThrow(InvalidInput)
    expect((await commitTurn(one.deps, ada, { writerToken: WRITER, turnId })).text).toBe(
      `${'漢'.repeat(330)}0123456789`,
    )
  })

  it('fail with StreamClosed and the status after the commit, with any text', async () => {
    await write('hello')
    await commitTurn(one.deps, ada, { writerToken: WRITER, turnId })
    for (const [text, start] of [
      [' more', null],
      ['hello', 0],
      ['', null],
      [SECOND, null],
    ] as const) {
      const error = await write(text, start).catch((error: Error) => error)
      expect(error).toBeInstanceOf(StreamClosed)
      expect(error).toMatchObject({ code: 'STREAM_CLOSED', status: 'COMMITTED' })
    }
    expect(await stored()).toBe('hello')
  })

  it('fail with StreamClosed for a turn that was never open', async () => {
    const {
      turn: { id },
    } = await appendTurn(one.deps, ada, { conversationId, turn: { role: 'USER', content: 'x' } })
    turnId = id
    await expect(write('y')).rejects.toThrow(StreamClosed)
  })

  it('fail with NotFound for unknown turns and other tenants', async () => {
    await expect(appendDelta(one.deps, newViewer(), { writerToken: WRITER, turnId, text: 'x' })).rejects.toThrow(
      NotFound,
    )
    await expect(
      write('x').then(() =>
        appendDelta(one.deps, ada, { writerToken: WRITER, turnId: `turn_${'0'.repeat(26)}`, text: 'x' }),
      ),
    ).rejects.toThrow(NotFound)
    expect(await stored()).toBe('x')
  })

  it.each<[string, Partial<AppendDeltaInput>]>([
    ['an invalid turn id', { turnId: 'conv_00000000000000000000000000' }],
    ['U+0000', { text: 'a\0b' }],
    ['a negative start', { start: -1 }],
    ['a fractional start', { start: 1.5 }],
  ])('fail with InvalidInput for %s', async (_, bad) => {
    await expect(appendDelta(one.deps, ada, { writerToken: WRITER, turnId, text: 'x', ...bad })).rejects.toThrow(
      InvalidInput,
    )
    expect(await stored()).toBe('')
  })

  it('reach readers in every process after they are written', async () => {
    const reading = await read(other.deps, ada, { conversationId, afterSeq: 0 })
    await write('hello ')
    await write('world')
    await reading.until('the text', (each) => textOf(each, turnId) === 'hello world')
    const ofTurn = (event: VisibleEvent) => event.type === 'TurnDelta' && event.turnId === turnId
    expect(reading.events.filter(ofTurn).every((event) => event.seq === null)).toBe(true)
    await reading.stop()
  })
})
