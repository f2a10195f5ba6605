// The lease of a streaming turn, whose duration its writer may choose.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortSilentTurns } from '../../../../../src/domain/turn/streaming/stream.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { InvalidInput } from '../../../../../src/errors.ts'
import { readLastSeq } from '../../../../../src/store/sql/turn/journal/read-journal.ts'
import { backends } from '../../../../support/backend.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../support/process.ts'
import { sql } from '../../../../support/sql.ts'
import { WRITER } from '../../../../support/writer.ts'

describe.each(backends)('the lease of a streaming turn, on $name', (backend) => {
  let site: Site
  let one: Process
  let other: Process
  let ada: Viewer
  let conversationId: string
  beforeAll(async () => {
    site = await openSite(backend)
    one = await site.start({ streamLeaseMs: 30_000 })
    other = await site.start({ streamLeaseMs: 30_000 })
  })
  afterAll(() => site.close())
  beforeEach(async () => {
    ada = newViewer()
    conversationId = (await createConversation(one.deps, ada, {})).conversation.id
  })

  const open = async (leaseSeconds?: number | null) =>
    (await openTurn(one.deps, ada, { writerToken: WRITER, conversationId, leaseSeconds, turn: { role: 'ASSISTANT' } }))
      .turn.id
  const statusOf = async (turnId: string) => (await getTurns(one.deps, ada, [turnId])).get(turnId)!
  /** Simulates that time has passed since the last write to each open turn of the conversation. */
  async function advance(seconds: number): Promise<void> {
    for (const statement of [
      'UPDATE stream SET renewed_at = renewed_at - make_interval(secs => $2) WHERE conversation_id = $1',
      `UPDATE chunk SET written_at = written_at - make_interval(secs => $2)
       WHERE turn_id IN (SELECT turn_id FROM stream WHERE conversation_id = $1)`,
    ]) {
      await sql(one.deps.pool).query(statement, [conversationId, seconds])
    }
  }

  it('has the duration that the writer chose, and otherwise that of the server', async () => {
    const [short, usual, long] = [await open(5), await open(), await open(300)]
    await advance(5.1)
    expect(await abortSilentTurns(other.deps)).toBe(1)
    expect(await statusOf(short)).toMatchObject({
      status: 'ABORTED',
      abortReason: 'The writer sent nothing for more than 5 s.',
    })
    await advance(25)
    expect(await abortSilentTurns(other.deps)).toBe(1)
    expect(await statusOf(usual)).toMatchObject({ status: 'ABORTED' })
    await advance(269)
    expect(await abortSilentTurns(other.deps)).toBe(0)
    await advance(2)
    expect(await abortSilentTurns(other.deps)).toBe(1)
    expect(await statusOf(long)).toMatchObject({ status: 'ABORTED' })
  })

  it.each([
    ['a delta', 'x'],
    ['a heartbeat', ''],
  ])('is renewed by %s for its own duration', async (_, text) => {
    const turnId = await open(5)
    for (let beats = 0; beats < 3; beats++) {
      await advance(4)
      await appendDelta(other.deps, ada, { writerToken: WRITER, turnId, text })
      expect(await abortSilentTurns(one.deps)).toBe(0)
    }
    await advance(5.1)
    expect(await abortSilentTurns(one.deps)).toBe(1)
  })

  it.each([4, 301, 5.5, -1])('cannot last %j s: nothing is opened', async (leaseSeconds) => {
    const before = await readLastSeq(one.deps.pool, ada, conversationId)
    const failure: InvalidInput = await open(leaseSeconds).then(
      () => expect.fail('The turn was opened.'),
      (error) => error,
    )
    expect(failure).toBeInstanceOf(InvalidInput)
    expect(failure.issues).toEqual([{ path: ['leaseSeconds'], message: 'must be 5 to 300' }])
    expect(await readLastSeq(one.deps.pool, ada, conversationId)).toBe(before)
  })

  it('does not end while writers could not renew it for its whole duration', async () => {
    const turnId = await open(5)
    await advance(60)
    expect(await abortSilentTurns(one.deps, 4_999)).toBe(0)
    expect(await statusOf(turnId)).toMatchObject({ status: 'STREAMING' })
    expect(await abortSilentTurns(one.deps, 5_000)).toBe(1)
  })
})
