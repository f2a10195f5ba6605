// The end of a streaming turn on a real database: by commit, by abort, or by an expired lease.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { countOfTurns } from '../../../../../src/domain/turn/history.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import {
  abortSilentTurns,
  abortTurn,
  commitTurn,
  type CommitTurnInput,
} from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { InvalidInput, NotFound, StreamClosed } from '../../../../../src/errors.ts'
import { readLastSeq } from '../../../../../src/store/sql/turn/journal/read-journal.ts'
import { backends } from '../../../../support/backend.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../support/process.ts'
import { lines, read } from '../../../../support/reading.ts'
import { WRITER } from '../../../../support/writer.ts'
import { sql } from '../../../../support/sql.ts'

const LEASE = 30_000

describe.each(backends)('the end of a streaming turn, on $name', (backend) => {
  let site: Site
  let one: Process
  let other: Process
  let ada: Viewer
  let conversationId: string
  let turnId: string

  const open = async () =>
    (await openTurn(one.deps, ada, { writerToken: WRITER, conversationId, turn: { role: 'ASSISTANT' } })).turn.id
  const write = (text: string) => appendDelta(one.deps, ada, { writerToken: WRITER, turnId, text })
  const commit = (more: Partial<CommitTurnInput> = {}) =>
    commitTurn(one.deps, ada, { writerToken: WRITER, turnId, ...more })
  const abort = (reason?: string) => abortTurn(one.deps, ada, { writerToken: WRITER, turnId, reason })
  const stored = async () => (await getTurns(one.deps, ada, [turnId])).get(turnId)!
  const head = () => readLastSeq(one.deps.pool, ada, conversationId)
  const chunks = async () =>
    (await sql(one.deps.pool).query('SELECT count(*) AS n FROM chunk WHERE turn_id = $1', [turnId])).rows[0].n as number

  /** Simulates that time has passed since the last write to each open turn of the conversation. */
  async function advance(ms: number): Promise<void> {
    const { pool } = one.deps
    const ago = `- make_interval(secs => $2::double precision / 1000)`
    await sql(pool).query(`UPDATE stream SET renewed_at = renewed_at ${ago} WHERE conversation_id = $1`, [
      conversationId,
      ms,
    ])
    await sql(pool).query(
      `UPDATE chunk SET written_at = written_at ${ago}
       WHERE turn_id IN (SELECT turn_id FROM stream WHERE conversation_id = $1)`,
      [conversationId, ms],
    )
  }

  beforeAll(async () => {
    site = await openSite(backend)
    one = await site.start({ streamLeaseMs: LEASE, turnBytes: 1000 })
    other = await site.start({ streamLeaseMs: LEASE, turnBytes: 1000 })
  })
  afterAll(() => site.close())
  beforeEach(async () => {
    ada = newViewer()
    conversationId = (await createConversation(one.deps, ada, {})).conversation.id
    turnId = await open()
  })

  afterEach(async () => {
    // Sweeping covers all conversations, so no turn may stay open for the next test.
    await advance(LEASE + 1)
    await abortSilentTurns(one.deps)
  })

  describe('by commit', () => {
    it('gives the turn its text, tokens and counters, in one journal entry, and deletes its chunks', async () => {
      await write('hello ')
      await write('world')
      const before = await head()
      const turn = await commit({ tokenUsage: { prompt: 7, completion: 2 }, model: 'm', metadata: { a: 1 } })
      expect(turn).toMatchObject({
        id: turnId,
        status: 'COMMITTED',
        text: 'hello world',
        parts: null,
        tokenCount: 2,
        promptTokens: 7,
        completionTokens: 2,
        model: 'm',
        metadata: { a: 1 },
      })
      expect(await stored()).toMatchObject({ status: 'COMMITTED', text: 'hello world' })
      expect(await head()).toBe(before! + 1)
      expect((await countOfTurns(one.deps, ada, [conversationId])).get(conversationId)).toMatchObject({
        turnCount: 1,
        tokenCount: 2,
      })
      expect(await chunks()).toBe(0)
    })

    it('keeps the fields given on opening unless the commit replaces them', async () => {
      const turn = { role: 'ASSISTANT', model: 'early', metadata: { by: 'opening' } } as const
      turnId = (await openTurn(one.deps, ada, { writerToken: WRITER, conversationId, turn })).turn.id
      await write('x')
      expect(await commit()).toMatchObject({ model: 'early', metadata: { by: 'opening' } })
    })

    it('puts the given parts after the text, and registers their tool calls', async () => {
      await write('let me look')
      const turn = await commit({ parts: [{ toolCall: { callId: 'c1', name: 'look', arguments: { at: 'sky' } } }] })
      expect(turn.text).toBe('let me look')
      expect(turn.parts).toEqual([
        { type: 'text', text: 'let me look' },
        { type: 'toolCall', callId: 'c1', name: 'look', arguments: { at: 'sky' } },
      ])
      const answer = { role: 'TOOL' as const, parts: [{ toolResult: { callId: 'c1', name: 'look', result: 'blue' } }] }
      await appendTurn(one.deps, ada, { conversationId, turn: answer })
      await expect(
        appendTurn(one.deps, ada, {
          conversationId,
          turn: { ...answer, parts: [{ toolResult: { callId: 'c2', name: 'look', result: '' } }] },
        }),
      ).rejects.toThrow(InvalidInput)
    })

    it('accepts parts without text', async () => {
      const turn = await commit({ parts: [{ toolCall: { callId: 'c1', name: 'look', arguments: {} } }] })
      expect(turn).toMatchObject({ status: 'COMMITTED', text: '' })
      expect(turn.parts).toHaveLength(1)
    })

    it('fails with InvalidInput for a result of an unknown tool call, and the turn stays open', async () => {
      await write('x')
      await expect(commit({ parts: [{ toolResult: { callId: 'none', name: 'look', result: 1 } }] })).rejects.toThrow(
        /"none"/,
      )
      expect(await stored()).toMatchObject({ status: 'STREAMING', text: 'x' })
      expect(await commit()).toMatchObject({ status: 'COMMITTED', text: 'x' })
    })

    it.each<[string, Partial<CommitTurnInput>]>([
      ['text among the parts', { parts: [{ text: 'more' }] }],
      ['an empty list of parts', { parts: [] }],
      ['parts over the limit of bytes', { parts: [{ data: 'x'.repeat(1000) }] }],
    ])('fails with InvalidInput for %s, and the turn stays open', async (_, bad) => {
      await write('x')
      const before = await head()
      await expect(commit(bad)).rejects.toThrow(InvalidInput)
      expect(await stored()).toMatchObject({ status: 'STREAMING', text: 'x' })
      expect(await head()).toBe(before)
    })

    it.each(['', '  \n '])('fails with InvalidInput if the whole text is %j, and the turn stays open', async (text) => {
      if (text) await write(text)
      await expect(commit()).rejects.toThrow(InvalidInput)
      expect((await stored()).status).toBe('STREAMING')
      await write('x')
      expect(await commit()).toMatchObject({ text: `${text}x` })
    })

    it('does not wait for deltas, and loses no acknowledged delta', async () => {
      for (let round = 0; round < 20; round++) {
        turnId = await open()
        await write('base')
        const [written, ended] = await Promise.allSettled([
          appendDelta(other.deps, ada, { writerToken: WRITER, turnId, text: '+' }),
          commit(),
        ])
        expect(ended.status).toBe('fulfilled')
        expect((await stored()).text).toBe(written.status === 'fulfilled' ? 'base+' : 'base')
        if (written.status === 'rejected') expect(written.reason).toBeInstanceOf(StreamClosed)
      }
    })
  })

  describe('by abort', () => {
    it('keeps the text, and records the reason', async () => {
      await write('half a thou')
      const turn = await abort('the user said stop')
      expect(turn).toMatchObject({
        status: 'ABORTED',
        text: 'half a thou',
        abortReason: 'the user said stop',
        supersededBy: null,
      })
      expect(await stored()).toMatchObject({ status: 'ABORTED', text: 'half a thou' })
      expect((await countOfTurns(one.deps, ada, [conversationId])).get(conversationId)?.turnCount ?? 0).toBe(0)
      expect(await chunks()).toBe(0)
    })

    it.each(['', '  \n '])('keeps the text %j, and needs no reason', async (text) => {
      if (text) await write(text)
      expect(await abort()).toMatchObject({ status: 'ABORTED', text, abortReason: null })
      expect(await stored()).toMatchObject({ status: 'ABORTED', text })
    })

    it('keeps a text just below the limit of bytes', async () => {
      await write('漢'.repeat(333))
      expect((await abort()).text).toBe('漢'.repeat(333))
    })
  })

  it('happens once: the same end returns the turn, and every other end or delta fails with StreamClosed', async () => {
    const ends = { commit, other: () => commit({ model: 'm' }), abort: () => abort('late'), delta: () => write('late') }
    for (const [first, status] of [
      ['commit', 'COMMITTED'],
      ['abort', 'ABORTED'],
    ] as const) {
      turnId = await open()
      await write('x')
      await ends[first]()
      const before = await head()
      for (const [name, end] of Object.entries(ends)) {
        if (name === first) {
          expect(await end()).toEqual(await stored())
          continue
        }
        const error = await end().catch((error: Error) => error)
        expect(error).toBeInstanceOf(StreamClosed)
        expect(error).toMatchObject({ status })
      }
      const token = { writerToken: 'another-writers-token', turnId }
      await expect(commitTurn(one.deps, ada, token)).rejects.toThrow(StreamClosed)
      expect(await stored()).toMatchObject({ status, text: 'x' })
      expect(await head()).toBe(before)
    }
  })

  it('is the same for two concurrent calls with the same input', async () => {
    for (let round = 0; round < 5; round++) {
      turnId = await open()
      await write('x')
      const before = await head()
      const input = { writerToken: WRITER, turnId, parts: [{ data: round }] }
      const [first, second] = await Promise.all([one, other].map(({ deps }) => commitTurn(deps, ada, input)))
      expect(second).toEqual(first)
      expect(await head()).toBe(before! + 1)
    }
  })

  it('by an expired lease makes a later commit or abort fail with StreamClosed', async () => {
    turnId = await open()
    await advance(LEASE + 1)
    await abortSilentTurns(one.deps)
    for (const end of [commit, abort]) await expect(end()).rejects.toThrow(StreamClosed)
  })

  it('succeeds for one of a concurrent commit and abort', async () => {
    for (let round = 0; round < 10; round++) {
      turnId = await open()
      await write('x')
      const before = await head()
      const results = await Promise.allSettled([commit(), abortTurn(other.deps, ada, { writerToken: WRITER, turnId })])
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect(await head()).toBe(before! + 1)
      expect((await stored()).status).toBe(results[0].status === 'fulfilled' ? 'COMMITTED' : 'ABORTED')
    }
  })

  it('fails with StreamClosed for turns never opened, with NotFound for unknown turns and other tenants', async () => {
    const {
      turn: { id },
    } = await appendTurn(one.deps, ada, { conversationId, turn: { role: 'USER', content: 'x' } })
    await expect(abortTurn(one.deps, ada, { writerToken: WRITER, turnId: id })).rejects.toThrow(StreamClosed)
    await expect(commitTurn(one.deps, ada, { writerToken: WRITER, turnId: `turn_${'0'.repeat(26)}` })).rejects.toThrow(
      NotFound,
    )
    await expect(commitTurn(one.deps, newViewer(), { writerToken: WRITER, turnId })).rejects.toThrow(NotFound)
    await expect(abortTurn(one.deps, newViewer(), { writerToken: WRITER, turnId })).rejects.toThrow(NotFound)
    expect((await stored()).status).toBe('STREAMING')
  })

  describe('by an expired lease', () => {
    it('keeps the text, happens in any process, and notifies readers', async () => {
      const reading = await read(other.deps, ada, { conversationId, afterSeq: 0 })
      await write('unfinish')
      expect(await abortSilentTurns(other.deps)).toBe(0)
      await advance(LEASE + 1)
      expect(await abortSilentTurns(other.deps)).toBe(1)
      expect(await stored()).toMatchObject({ status: 'ABORTED', text: 'unfinish' })
      expect((await stored()).abortReason).toContain('30 s')
      await expect(write('ed')).rejects.toThrow(StreamClosed)
      await reading.until('the abort', ({ events }) => events.at(-1)?.type === 'TurnAborted')
      expect(lines(reading.events)).toEqual(['1 ParticipantJoined', '2 TurnOpened', '0-8 unfinish', '3 TurnAborted'])
      await reading.stop()
    })

    it('also aborts a turn without text', async () => {
      await advance(LEASE + 1)
      expect(await abortSilentTurns(one.deps)).toBe(1)
      expect(await stored()).toMatchObject({ status: 'ABORTED', text: '' })
    })

    it.each([
      ['text', 'x'],
      ['a heartbeat', ''],
    ])('does not abort a turn whose writer sends %s in time', async (_, text) => {
      for (let beats = 0; beats < 4; beats++) {
        await advance(LEASE * 0.6)
        await write(text)
        expect(await abortSilentTurns(one.deps)).toBe(0)
      }
      await advance(LEASE + 1)
      expect(await abortSilentTurns(one.deps)).toBe(1)
      expect((await stored()).text).toBe(text.repeat(4))
    })

    it('is prevented by a repeated delta, which counts as a heartbeat', async () => {
      await write('x')
      for (let beats = 0; beats < 3; beats++) {
        await advance(LEASE * 0.6)
        await appendDelta(one.deps, ada, { writerToken: WRITER, turnId, text: 'x', start: 0 })
        expect(await abortSilentTurns(one.deps)).toBe(0)
      }
      await abort()
    })

    it('happens once, even if several processes sweep', async () => {
      const turns = [turnId, await open(), await open(), await open()]
      await advance(LEASE + 1)
      const before = await head()
      const counts = await Promise.all([one, other, one, other].map(({ deps }) => abortSilentTurns(deps)))
      expect(counts.reduce((sum, count) => sum + count)).toBe(turns.length)
      expect(await head()).toBe(before! + turns.length)
      expect(await abortSilentTurns(one.deps)).toBe(0)
    })
  })
})
