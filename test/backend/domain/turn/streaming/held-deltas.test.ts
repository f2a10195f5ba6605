// Streaming turns with REDACT=turns: readers get the redacted text, the offsets count the text that the writer sent,
// and no acknowledged text is lost.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readEventsOf } from '../../../../../src/domain/turn/journal/reader.ts'
import { createDeltas } from '../../../../../src/domain/turn/streaming/held-deltas.ts'
import { appendDelta, type AppendDeltaInput } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortSilentTurns, abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { Conflict, InvalidInput, NotFound } from '../../../../../src/errors.ts'
import { redact } from '../../../../../src/text/redact/redact.ts'
import { backends } from '../../../../support/backend.ts'
import { casesOf } from '../../../../support/long.ts'
import { useWorld } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { sql } from '../../../../support/sql.ts'
import { lines, partsOf, read } from '../../../../support/reading.ts'

type Part = NonNullable<AppendDeltaInput['part']>

const SECRET = 'ada.lovelace@example.org'
const words = (count: number) => 'some plain words '.repeat(count)

describe.each(backends)('a redacted streaming turn on $name', (backend) => {
  const world = useWorld(backend, { redact: 'turns' })

  type Opened = Awaited<ReturnType<typeof open>>
  async function open() {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const viewer = tenant.as('ada')
    const { turn } = await openTurn(world.deps, viewer, {
      writerToken: WRITER,
      conversationId,
      turn: { role: 'ASSISTANT' },
    })
    const given = { writerToken: WRITER, turnId: turn.id }
    return {
      conversationId,
      viewer,
      turnId: turn.id,
      append: (text: string, start?: number, deps = world.deps) => appendDelta(deps, viewer, { ...given, text, start }),
      commit: () => commitTurn(world.deps, viewer, given),
      abort: () => abortTurn(world.deps, viewer, given),
      /** Returns the text that was published to readers. */
      async published() {
        const { rows } = await sql(world.deps.pool).query<{ text: string }>(
          `SELECT coalesce(string_agg(text, '' ORDER BY start), '') AS text FROM chunk WHERE turn_id = $1`,
          [turn.id],
        )
        return rows[0]!.text
      },
    }
  }

  /** Sends the text of a part in deltas of up to `size` units; `given` opens the part. */
  async function appendPart(turn: Opened, given: Part, text: string, size: number): Promise<void> {
    const send = (part: Part, delta: string, start: number) =>
      appendDelta(world.deps, turn.viewer, { writerToken: WRITER, turnId: turn.turnId, part, text: delta, start })
    await send(given, '', 0)
    for (let start = 0; start < text.length; start += size) {
      const isComplete = start + size >= text.length
      await send({ number: given.number, isComplete }, text.slice(start, start + size), start)
    }
  }

  it.each([1, 7, 1_000])('has parts without sensitive values, from deltas of %i units', async (size) => {
    const turn = await open()
    const reading = await read(world.deps, turn.viewer, { conversationId: turn.conversationId })
    await turn.append(`Mail ${SECRET} `)
    await appendPart(turn, { number: 1, reasoning: { signature: null } }, `I write to ${SECRET}.`, size)
    const call = { callId: 'c1', name: 'send' }
    await appendPart(turn, { number: 2, toolCall: call }, JSON.stringify({ to: SECRET, [SECRET]: ['é', 1] }), size)
    await appendPart(turn, { number: 3, toolResult: { ...call, result: { sent: SECRET } } }, '', size)
    await reading.until(
      'all parts',
      () => partsOf(reading, turn.turnId).filter(({ isComplete }) => isComplete).length === 3,
    )
    const shown = partsOf(reading, turn.turnId).map(({ text, content }) => [text, content])
    await turn.append('Done.')
    const { parts } = await turn.commit()
    expect(parts).toEqual([
      { type: 'text', text: 'Mail [EMAIL] ' },
      { type: 'reasoning', reasoning: 'I write to [EMAIL].' },
      { type: 'toolCall', ...call, arguments: { to: '[EMAIL]', '[EMAIL]': ['é', 1] } },
      expect.objectContaining({ type: 'toolResult', ...call, result: { sent: '[EMAIL]' } }),
      { type: 'text', text: 'Done.' },
    ])
    expect(shown[0]![0]).toBe('I write to [EMAIL].')
    expect(JSON.parse(shown[1]![0] as string)).toEqual({ to: '[EMAIL]', '[EMAIL]': ['é', 1] })
    expect(JSON.stringify(reading.events)).not.toContain(SECRET)
    await reading.stop()
  })

  it('publishes the name of a tool at once, and its arguments when they are complete', async () => {
    const turn = await open()
    const given = { writerToken: WRITER, turnId: turn.turnId }
    const append = (part: Part, text: string) => appendDelta(world.deps, turn.viewer, { ...given, part, text })
    const reading = await read(world.deps, turn.viewer, { conversationId: turn.conversationId })
    await append({ number: 1, toolCall: { callId: 'c1', name: 'send' } }, '{"to":')
    await reading.until('the call', () => partsOf(reading, turn.turnId).length === 1)
    expect(await append({ number: 1 }, '"bob"')).toMatchObject({ end: 11 })
    expect(await append({ number: 1, isComplete: true }, '}')).toMatchObject({ end: 12 })
    await reading.until('the arguments', () => partsOf(reading, turn.turnId)[0]!.isComplete)
    expect(lines(reading.events)).toEqual(['1: 0-0 ', '1: 0-12 {"to":"bob"}.'])
    await reading.stop()
  })

  it('keeps reasoning and complete parts when it is aborted or committed while text is held back', async () => {
    for (const end of ['abort', 'commit'] as const) {
      const turn = await open()
      await appendPart(turn, { number: 1, reasoning: {} }, `Why ${SECRET}`, 5)
      const given = { writerToken: WRITER, turnId: turn.turnId, text: `so ${SECRET}` }
      await appendDelta(world.deps, turn.viewer, { ...given, part: { number: 2, reasoning: {} } })
      const call = { callId: 'c1', name: 'send' }
      const args = { ...given, text: `{"to":"${SECRET}"}` }
      await appendDelta(world.deps, turn.viewer, { ...args, part: { number: 3, toolCall: call } })
      const { parts } = await turn[end]()
      expect(parts).toEqual([
        { type: 'reasoning', reasoning: 'Why [EMAIL]' },
        { type: 'reasoning', reasoning: 'so [EMAIL]' },
        ...(end === 'commit' ? [{ type: 'toolCall', ...call, arguments: { to: '[EMAIL]' } }] : []),
      ])
    }
  })

  it.each([
    ['a repeated key', `{"to":"${SECRET}","to":"bob"}`, '{"to":"bob"}'],
    ['arguments that are not JSON', `{"to":"${SECRET.replace('@', '\\u0040')}",`, '{'],
  ])('publishes nothing of a value in %s', async (_, given, published) => {
    const turn = await open()
    await appendPart(turn, { number: 1, toolCall: { callId: 'c1', name: 'send' } }, given, 1_000)
    const { rows } = await sql(world.deps.pool).query<{ text: string }>(
      'SELECT text FROM chunk WHERE turn_id = $1 AND part = 1',
      [turn.turnId],
    )
    expect(rows).toEqual([{ text: published }])
  })

  it('contains a part that is written while it is committed', async () => {
    const turn = await open()
    await turn.append('Some text.')
    const given = { writerToken: WRITER, turnId: turn.turnId, text: `Why ${SECRET}` }
    const late = appendDelta(world.deps, turn.viewer, { ...given, part: { number: 1, reasoning: {} } }).then(
      () => true,
      () => false,
    )
    const { parts } = await turn.commit()
    const whole = [
      { type: 'text', text: 'Some text.' },
      { type: 'reasoning', reasoning: 'Why [EMAIL]' },
    ]
    expect(parts).toEqual((await late) ? whole : null)
  })

  it('counts the held-back text of its parts towards its limit', async () => {
    const turn = await open()
    const given = { writerToken: WRITER, turnId: turn.turnId, text: 'a'.repeat(150_000) }
    await appendDelta(world.deps, turn.viewer, { ...given, part: { number: 1, toolCall: { callId: 'c', name: 'n' } } })
    const second = { ...given, part: { number: 2, toolCall: { callId: 'd', name: 'n' } } }
    await expect(appendDelta(world.deps, turn.viewer, second)).rejects.toThrow(InvalidInput)
  })

  it('has deltas that join to the stored text, which is the redacted text, however the text is split', async () => {
    const piece = fc.constantFrom(SECRET, '4111 1111 1111 1111', words(3), 'token: aB3xYz9', '😀', 'Oslo, ', words(20))
    const texts = fc.array(piece, { minLength: 1, maxLength: 12 }).map((pieces) => pieces.join(' '))
    const lengths = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(texts, lengths, async (text, each) => {
        const turn = await open()
        const events = await readEventsOf(world.deps, turn.viewer, { conversationId: turn.conversationId, afterSeq: 0 })
        const sent: Promise<unknown>[] = []
        for (let at = 0, n = 0; at < text.length; n++) {
          const next = at + each[n % each.length]!
          sent.push(turn.append(text.slice(at, next), at))
          at = next
        }
        await Promise.all(sent)
        const { text: stored } = await turn.commit()
        expect(stored).toBe(redact(text).text)
        let joined = ''
        for await (const event of events) {
          if (event.type === 'TurnDelta') {
            expect([event.start, event.end]).toEqual([joined.length, joined.length + event.text.length])
            joined += event.text
          }
          if (event.type === 'TurnCommitted') break
        }
        expect(joined).toBe(stored)
      }),
      { numRuns: casesOf(60) },
    )
  })

  it('counts offsets in the text that the writer sent, and accepts a repeated delta', async () => {
    const turn = await open()
    const text = `${SECRET} ${words(40)}`
    expect(await turn.append(text)).toMatchObject({ end: text.length })
    expect(await turn.published()).toMatch(/^\[EMAIL\] some plain words/)
    expect(await turn.append('more', text.length)).toMatchObject({ end: text.length + 4 })
    expect(await turn.append('more', text.length)).toMatchObject({ end: text.length + 4 })
    expect(await turn.append('more and', text.length)).toMatchObject({ end: text.length + 8 })
    await expect(turn.append('less', text.length)).rejects.toThrow(Conflict)
    await expect(turn.append('x', text.length + 100)).rejects.toThrow(Conflict)
    expect((await turn.commit()).text).toBe(`[EMAIL] ${words(40)}more and`)
  })

  it('keeps acknowledged text that was held back when another process continues the turn', async () => {
    const turn = await open()
    await turn.append(`${words(1)}ada.love`)
    expect(await turn.published()).toBe('')
    const deps = { ...world.deps, deltas: createDeltas(world.deps, world.deps.pool) }
    await turn.append('lace@example.org', undefined, deps)
    expect((await turn.commit()).text).toBe(`${words(1)}[EMAIL]`)
  })

  it('stores none of the held text after the turn has ended', async () => {
    const turn = await open()
    await turn.append(`mail ${SECRET}`)
    expect((await turn.abort()).text).toBe('mail [EMAIL]')
    expect((await sql(world.deps.pool).query('SELECT FROM held_text WHERE turn_id = $1', [turn.turnId])).rowCount).toBe(
      0,
    )
  })

  it('is aborted with all of its text when the writer is silent', async () => {
    const turn = await open()
    await turn.append(`mail ${SECRET}`)
    const late = { ...world.deps, streamLeaseMs: 0 }
    await abortSilentTurns(late)
    await abortSilentTurns(late)
    const { rows } = await sql(world.deps.pool).query('SELECT status, text FROM turn WHERE id = $1', [turn.turnId])
    expect(rows).toEqual([{ status: 'ABORTED', text: 'mail [EMAIL]' }])
  })

  it('loses no acknowledged delta that is sent together with the commit', async () => {
    const turn = await open()
    const [delta, committed] = await Promise.allSettled([turn.append('sent at the same time'), turn.commit()])
    const text = committed.status === 'fulfilled' ? committed.value.text : ''
    if (delta.status === 'fulfilled' && committed.status === 'fulfilled') expect(text).toBe('sent at the same time')
  })

  it('rejects text beyond the limit, unpaired surrogates, and other writers, like other streaming turns', async () => {
    const turn = await open()
    await expect(turn.append('x'.repeat(262_145))).rejects.toThrow(InvalidInput)
    await turn.append('elsewhere', 0)
    await expect(turn.append('other', 0)).rejects.toThrow(Conflict)
    await turn.append(' half \ud83d')
    await expect(turn.append('x')).rejects.toThrow(InvalidInput)
    expect(await turn.append('\ude00')).toMatchObject({ end: 17 })
    const stranger = { tenant: 'other', actor: 'ada' }
    await expect(
      appendDelta(world.deps, stranger, { writerToken: WRITER, turnId: turn.turnId, text: 'x' }),
    ).rejects.toThrow(NotFound)
    await expect(
      appendDelta(world.deps, turn.viewer, { writerToken: 'y'.repeat(20), turnId: turn.turnId, text: 'x' }),
    ).rejects.toThrow('another writer')
    expect((await turn.commit()).text).toBe('elsewhere half 😀')
  })
})
