// Streaming turns with REDACT=turns: readers get the redacted text, the offsets count the text that the writer sent,
// and no acknowledged text is lost.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readEventsOf } from '../../../../../src/domain/turn/journal/reader.ts'
import { createDeltas } from '../../../../../src/domain/turn/streaming/held-deltas.ts'
import {
  abortSilentTurns,
  appendDelta,
  abortTurn,
  commitTurn,
} from '../../../../../src/domain/turn/streaming/stream.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { Conflict, InvalidInput, NotFound } from '../../../../../src/errors.ts'
import { redact } from '../../../../../src/text/redact/redact.ts'
import { backends } from '../../../../support/backend.ts'
import { casesOf } from '../../../../support/long.ts'
import { useWorld } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { sql } from '../../../../support/sql.ts'

const SECRET = 'ada.lovelace@example.org'
const words = (count: number) => 'some plain words '.repeat(count)

describe.each(backends)('a redacted streaming turn on $name', (backend) => {
  const world = useWorld(backend, { redact: 'turns' })

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
