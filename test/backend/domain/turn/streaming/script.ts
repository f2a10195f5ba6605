// Random scripts of a conversation with streaming turns, and their execution on several processes. Used by
// stream.interleaving.test.ts.

import fc from 'fast-check'
import { expect } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortSilentTurns, abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { openVersion } from '../../../../../src/domain/turn/open-version.ts'
import { StreamClosed } from '../../../../../src/errors.ts'
import { readLastSeq } from '../../../../../src/store/sql/turn/journal/read-journal.ts'
import { newViewer, type Process } from '../../../../support/process.ts'
import { checkReader, startReader, type Stored, type TestReader } from './test-reader.ts'
import { WRITER } from '../../../../support/writer.ts'
import { sql } from '../../../../support/sql.ts'
import { nextTime } from '../../../../support/next-time.ts'

/** A text; `half`: whether the first half of a surrogate pair follows it. */
type Piece = { body: string; half: boolean }
type Ending = 'commit' | 'abort' | 'expire'

/**
 * `by`, `turn`, `closed` and `reader` select a process, an open turn, a closed turn and a reader: each is an index, modulo
 * the number of processes, open turns, closed turns or readers.
 */
export type Step =
  | { type: 'open'; by: number }
  /** Opens a newer version of a turn that was closed. */
  | { type: 'reopen'; by: number; closed: number }
  | { type: 'delta'; by: number; turn: number; piece: Piece; start: 'omitted' | 'given' | 'earlier' | 'repeated' }
  /** Several deltas sent without waiting for each other. */
  | { type: 'burst'; by: number; turn: number; pieces: Piece[]; withStarts: boolean }
  | { type: 'heartbeat'; by: number; turn: number }
  | { type: 'append'; by: number; count: number }
  /** `after`: the cursor as a fraction of the journal; null to read live events only. */
  | { type: 'join'; by: number; after: number | null; capacity: number }
  | { type: 'leave' | 'pause' | 'resume'; reader: number }
  /** The process loses this fraction of its bus messages until a `restore`. */
  | { type: 'lose'; by: number; fraction: number }
  | { type: 'restore'; by: number }
  /**
   * A crash during a burst. The writer ignores the outcome of the burst, and sends its text again to another process.
   */
  | { type: 'crash'; by: number; turn: number; pieces: Piece[] }
  /** `meanwhile`: a delta sent concurrently with the commit or abort; null for none. Ignored for `expire`. */
  | { type: 'end'; by: number; turn: number; how: Ending; meanwhile: Piece | null }

const anyIndex = fc.nat(7)
const piece: fc.Arbitrary<Piece> = fc.record({
  body: fc.string({ unit: fc.constantFrom('a', 'bc ', 'é', '漢字', '😀', '\n'), maxLength: 4 }),
  half: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
})
const pieces = fc.array(piece, { minLength: 1, maxLength: 5 })
const kind = <T extends Step['type']>(...types: T[]) => fc.constantFrom(...types)

export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: kind('open'), by: anyIndex }) },
  { weight: 3, arbitrary: fc.record({ type: kind('reopen'), by: anyIndex, closed: anyIndex }) },
  {
    weight: 10,
    arbitrary: fc.record({
      type: kind('delta'),
      by: anyIndex,
      turn: anyIndex,
      piece,
      start: fc.constantFrom('omitted', 'given', 'earlier', 'repeated'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ type: kind('burst'), by: anyIndex, turn: anyIndex, pieces, withStarts: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ type: kind('heartbeat'), by: anyIndex, turn: anyIndex }) },
  { weight: 2, arbitrary: fc.record({ type: kind('append'), by: anyIndex, count: fc.constantFrom(1, 1, 2, 9) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: kind('join'),
      by: anyIndex,
      after: fc.constantFrom(null, null, 0, 0, 0.3, 0.7, 1),
      capacity: fc.constantFrom(1, 2, 5, 256),
    }),
  },
  { weight: 7, arbitrary: fc.record({ type: kind('leave', 'pause', 'pause', 'pause', 'resume'), reader: anyIndex }) },
  { weight: 2, arbitrary: fc.record({ type: kind('lose'), by: anyIndex, fraction: fc.constantFrom(0.3, 0.7, 1) }) },
  { weight: 2, arbitrary: fc.record({ type: kind('restore'), by: anyIndex }) },
  { weight: 2, arbitrary: fc.record({ type: kind('crash'), by: anyIndex, turn: anyIndex, pieces }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: kind('end'),
      by: anyIndex,
      turn: anyIndex,
      how: fc.constantFrom('commit', 'abort', 'expire'),
      meanwhile: fc.option(piece),
    }),
  },
)

const endsInHalf = (text: string) => /[\ud800-\udbff]$/.test(text)
const withoutHalf = (text: string) => (endsInHalf(text) ? text.slice(0, -1) : text)
/** The piece as a valid continuation, never empty: a pending surrogate half is completed first. */
const fit = (sent: string, { body, half }: Piece) =>
  (endsInHalf(sent) ? '\ude00' : '') + body + (half ? '\ud83d' : '') || 'a'

/**
 * Runs the script, then ends all open turns and checks the stored texts and every reader.
 * @throws if an invariant is violated
 */
export async function play(processes: readonly Process[], script: readonly Step[]): Promise<void> {
  const first = processes[0]!
  const viewer = newViewer()
  const conversationId = (await createConversation(first.deps, viewer, {})).conversation.id
  /** The open turns, with the text sent by their writers. */
  let open: { id: string; sent: string }[] = []
  const closedTurns: typeof open = []
  /** The closed turns without a newer version. */
  const newest: string[] = []
  const readers: TestReader[] = []
  const head = async () => (await readLastSeq(first.deps.pool, viewer, conversationId))!
  type OpenTurn = (typeof open)[number]

  async function write({ deps }: Process, turn: OpenTurn, text: string, start: number | null): Promise<void> {
    const { end } = await appendDelta(deps, viewer, { writerToken: WRITER, turnId: turn.id, text, start })
    expect(end).toBeLessThanOrEqual(turn.sent.length)
  }

  /** Returns the text of the next delta and its start, and records the text as sent. */
  function nextDelta(turn: OpenTurn, piece: Piece): [text: string, at: number] {
    const at = turn.sent.length
    const text = fit(turn.sent, piece)
    turn.sent += text
    return [text, at]
  }

  async function burst(by: Process, turn: OpenTurn, pieces: Piece[], withStarts: boolean): Promise<void> {
    await Promise.all(
      pieces.map((piece) => {
        const [text, at] = nextDelta(turn, piece)
        return write(by, turn, text, withStarts ? at : null)
      }),
    )
  }

  async function end(by: Process, turn: OpenTurn, how: Ending, meanwhile: Piece | null): Promise<void> {
    const turnId = turn.id
    const { deps } = by
    const ending = async () => {
      if (how === 'commit' && withoutHalf(turn.sent).trim() !== '')
        return commitTurn(deps, viewer, { writerToken: WRITER, turnId })
      if (how !== 'expire') return abortTurn(deps, viewer, { writerToken: WRITER, turnId })
      await nextTime()
      return Promise.all(processes.map(({ deps }) => abortSilentTurns({ ...deps, streamLeaseMs: 1 })))
    }
    const text = meanwhile && how !== 'expire' ? fit(turn.sent, meanwhile) : null
    const writing =
      text
      && appendDelta(deps, viewer, { writerToken: WRITER, turnId, text, start: turn.sent.length }).then(
        () => {
          turn.sent += text
        },
        (error) => {
          if (!(error instanceof StreamClosed)) throw error
        },
      )
    await Promise.all([ending(), writing])
    // The sweep ends all open turns, because it uses a lease of 1 ms.
    const ended = how === 'expire' ? open : [turn]
    closedTurns.push(...ended)
    newest.push(...ended.map(({ id }) => id))
    open = open.filter((each) => !ended.includes(each))
  }

  async function run(step: Step): Promise<void> {
    const by = 'by' in step ? processes[step.by % processes.length]! : first
    const turn = 'turn' in step ? open[step.turn % open.length] : undefined
    const reader = 'reader' in step ? readers[step.reader % readers.length] : undefined
    switch (step.type) {
      case 'open': {
        const {
          turn: { id },
        } = await openTurn(by.deps, viewer, { writerToken: WRITER, conversationId, turn: { role: 'ASSISTANT' } })
        open.push({ id, sent: '' })
        return
      }
      case 'reopen': {
        const supersedes = newest.splice(step.closed % Math.max(1, newest.length), 1)[0]
        if (!supersedes) return
        const version = { supersedes, writerToken: WRITER, leaseSeconds: null, turn: { role: 'ASSISTANT' as const } }
        open.push({ id: (await openVersion(by.deps, viewer, version)).id, sent: '' })
        return
      }
      case 'delta': {
        if (!turn) return
        const before = turn.sent.slice(-3)
        const [text, at] = step.start === 'repeated' ? ['', turn.sent.length] : nextDelta(turn, step.piece)
        if (step.start === 'omitted') return write(by, turn, text, null)
        if (step.start === 'given') return write(by, turn, text, at)
        return write(by, turn, before + text, at - before.length)
      }
      case 'burst':
        return turn && burst(by, turn, step.pieces, step.withStarts)
      case 'heartbeat':
        return turn && write(by, turn, '', null)
      case 'append':
        for (let n = 0; n < step.count; n++) {
          await appendTurn(by.deps, viewer, { conversationId, turn: { role: 'USER', content: 'x' } })
        }
        return
      case 'join': {
        const last = await head()
        const after = step.after === null ? null : Math.floor(last * step.after)
        readers.push(
          await startReader(by, viewer, {
            conversationId,
            after,
            last,
            capacity: step.capacity,
            open: open.map(({ id }) => id),
          }),
        )
        return
      }
      case 'leave':
        return reader?.stop()
      case 'pause':
        return reader?.pause()
      case 'resume':
        return reader?.resume()
      case 'lose':
        by.wire.drop = () => Math.random() < step.fraction
        return
      case 'restore':
        by.wire.drop = () => false
        return by.wire.restore()
      case 'crash': {
        const from = Math.max(0, (turn?.sent.length ?? 0) - 3)
        const ignored = turn && Promise.allSettled([burst(by, turn, step.pieces, true)])
        for (const each of readers) if (each.process === by) each.stop()
        await by.crash()
        const another = processes[(processes.indexOf(by) + 1) % processes.length]!
        if (turn) await write(another, turn, turn.sent.slice(from), from)
        await ignored
        return
      }
      case 'end':
        return turn && end(by, turn, step.how, step.meanwhile)
    }
  }

  try {
    for (const each of script) await run(each)
    while (open[0]) await end(first, open[0], 'commit', null)
    for (const { wire } of processes) {
      wire.drop = () => false
      wire.restore()
    }
    for (const reader of readers) reader.resume()
    await run({ type: 'append', by: 0, count: 1 })

    const { rows } = await sql(first.deps.pool).query<Stored>(
      `SELECT t.id, t.text, (SELECT max(e.seq) FROM entry e WHERE e.turn_id = t.id) AS ended FROM turn t
       WHERE t.conversation_id = $1`,
      [conversationId],
    )
    const stored = new Map(rows.map((row) => [row.id, row]))
    for (const { id, sent } of closedTurns) expect(stored.get(id)!.text).toBe(withoutHalf(sent))
    const last = await head()
    for (const reader of readers) await checkReader(reader, stored, last)
  } finally {
    for (const reader of readers) reader.stop()
    for (const { wire } of processes) wire.drop = () => false
  }
}
