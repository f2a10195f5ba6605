// Random scripts of a conversation with streaming turns, and their execution on several processes. Used by
// stream.interleaving.test.ts.

import fc from 'fast-check'
import { expect } from 'vitest'
import { createConversation } from '../../../src/domain/conversation.ts'
import { abortSilentTurns, abortTurn, appendDelta, commitTurn } from '../../../src/domain/streaming-turn/stream.ts'
import { appendTurn, openTurn } from '../../../src/domain/turn/append.ts'
import { StreamClosed } from '../../../src/errors.ts'
import { readLastSeq } from '../../../src/store/sql/event/read-journal.ts'
import { newViewer, type Process } from '../../support/process.ts'
import { checkWitness, witness, type Stored, type Witness } from './witness.ts'

/** Text, and whether a surrogate half follows it. */
type Piece = { body: string; half: boolean }
type Ending = 'commit' | 'abort' | 'expire'

/** `by`, `turn`, `reader`: indexes into the existing ones, taken modulo their number. */
export type Step =
  | { type: 'open'; by: number }
  | { type: 'delta'; by: number; turn: number; piece: Piece; start: 'left out' | 'given' | 'earlier' | 'repeated' }
  /** Several deltas sent without waiting for each other. */
  | { type: 'burst'; by: number; turn: number; pieces: Piece[]; placed: boolean }
  | { type: 'heartbeat'; by: number; turn: number }
  | { type: 'say'; by: number; count: number }
  /** `after` is a fraction of the journal. */
  | { type: 'join'; by: number; after: number | null; bound: number }
  | { type: 'leave' | 'pause' | 'resume'; reader: number }
  /** The process loses that share of its bus messages, until `restore`. */
  | { type: 'lose'; by: number; share: number }
  | { type: 'restore'; by: number }
  /** A crash during a burst: the writer gets no answer, and sends the burst again to another process. */
  | { type: 'crash'; by: number; turn: number; pieces: Piece[] }
  /** Concurrent with a delta. */
  | { type: 'end'; by: number; turn: number; how: Ending; meanwhile: Piece | null }

const any = fc.nat(7)
const piece: fc.Arbitrary<Piece> = fc.record({
  body: fc.string({ unit: fc.constantFrom('a', 'bc ', 'é', '漢字', '😀', '\n'), maxLength: 4 }),
  half: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
})
const pieces = fc.array(piece, { minLength: 1, maxLength: 5 })
const kind = <T extends Step['type']>(...types: T[]) => fc.constantFrom(...types)

export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: kind('open'), by: any }) },
  {
    weight: 10,
    arbitrary: fc.record({
      type: kind('delta'),
      by: any,
      turn: any,
      piece,
      start: fc.constantFrom('left out', 'given', 'earlier', 'repeated'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: kind('burst'), by: any, turn: any, pieces, placed: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ type: kind('heartbeat'), by: any, turn: any }) },
  { weight: 2, arbitrary: fc.record({ type: kind('say'), by: any, count: fc.constantFrom(1, 1, 2, 9) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: kind('join'),
      by: any,
      after: fc.constantFrom(null, null, 0, 0, 0.3, 0.7, 1),
      bound: fc.constantFrom(1, 2, 5, 256),
    }),
  },
  { weight: 7, arbitrary: fc.record({ type: kind('leave', 'pause', 'pause', 'pause', 'resume'), reader: any }) },
  { weight: 2, arbitrary: fc.record({ type: kind('lose'), by: any, share: fc.constantFrom(0.3, 0.7, 1) }) },
  { weight: 2, arbitrary: fc.record({ type: kind('restore'), by: any }) },
  { weight: 2, arbitrary: fc.record({ type: kind('crash'), by: any, turn: any, pieces }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: kind('end'),
      by: any,
      turn: any,
      how: fc.constantFrom('commit', 'abort', 'expire'),
      meanwhile: fc.option(piece),
    }),
  },
)

const endsInHalf = (text: string) => /[\ud800-\udbff]$/.test(text)
const withoutHalf = (text: string) => (endsInHalf(text) ? text.slice(0, -1) : text)
/** The piece as a valid continuation: a pending surrogate half is completed first. */
const fit = (said: string, { body, half }: Piece) =>
  (endsInHalf(said) ? '\ude00' : '') + body + (half ? '\ud83d' : '') || 'a'

/** @throws if an invariant is violated afterwards */
export async function play(processes: readonly Process[], script: readonly Step[]): Promise<void> {
  const first = processes[0]!
  const viewer = newViewer()
  const conversationId = (await createConversation(first.deps, viewer, {})).id
  /** The open turns, with the text sent by their writers. */
  let open: { id: string; said: string }[] = []
  const over: typeof open = []
  const readers: Witness[] = []
  const head = async () => (await readLastSeq(first.deps.pool, viewer.tenant, conversationId))!
  type Writing = (typeof open)[number]

  async function write({ deps }: Process, turn: Writing, text: string, start: number | null): Promise<void> {
    const { end } = await appendDelta(deps, viewer, { turnId: turn.id, text, start })
    expect(end).toBeLessThanOrEqual(turn.said.length)
  }

  /** Records the text before it is sent. */
  function say(turn: Writing, piece: Piece): [text: string, at: number] {
    const at = turn.said.length
    const text = fit(turn.said, piece)
    turn.said += text
    return [text, at]
  }

  async function burst(by: Process, turn: Writing, pieces: Piece[], placed: boolean): Promise<void> {
    await Promise.all(
      pieces.map((piece) => {
        const [text, at] = say(turn, piece)
        return write(by, turn, text, placed ? at : null)
      }),
    )
  }

  async function end(by: Process, turn: Writing, how: Ending, meanwhile: Piece | null): Promise<void> {
    const turnId = turn.id
    const { deps } = by
    const ending = async () => {
      if (how === 'commit' && withoutHalf(turn.said).trim() !== '') return commitTurn(deps, viewer, { turnId })
      if (how !== 'expire') return abortTurn(deps, viewer, { turnId })
      await new Promise((resolve) => setTimeout(resolve, 3))
      return Promise.all(processes.map(({ deps }) => abortSilentTurns({ ...deps, streamLeaseMs: 1 })))
    }
    const text = meanwhile && how !== 'expire' ? fit(turn.said, meanwhile) : null
    const writing =
      text
      && appendDelta(deps, viewer, { turnId, text, start: turn.said.length }).then(
        () => {
          turn.said += text
        },
        (error) => {
          if (!(error instanceof StreamClosed)) throw error
        },
      )
    await Promise.all([ending(), writing])
    // A lease expires for all open turns at once.
    const ended = how === 'expire' ? open : [turn]
    over.push(...ended)
    open = open.filter((each) => !ended.includes(each))
  }

  async function run(step: Step): Promise<void> {
    const by = 'by' in step ? processes[step.by % processes.length]! : first
    const turn = 'turn' in step ? open[step.turn % open.length] : undefined
    const reader = 'reader' in step ? readers[step.reader % readers.length] : undefined
    switch (step.type) {
      case 'open': {
        const { id } = await openTurn(by.deps, viewer, { conversationId, turn: { role: 'ASSISTANT' } })
        open.push({ id, said: '' })
        return
      }
      case 'delta': {
        if (!turn) return
        const before = turn.said.slice(-3)
        const [text, at] = step.start === 'repeated' ? ['', turn.said.length] : say(turn, step.piece)
        if (step.start === 'left out') return write(by, turn, text, null)
        if (step.start === 'given') return write(by, turn, text, at)
        return write(by, turn, before + text, at - before.length)
      }
      case 'burst':
        return turn && burst(by, turn, step.pieces, step.placed)
      case 'heartbeat':
        return turn && write(by, turn, '', null)
      case 'say':
        for (let n = 0; n < step.count; n++) {
          await appendTurn(by.deps, viewer, { conversationId, turn: { role: 'USER', content: 'x' } })
        }
        return
      case 'join': {
        const last = await head()
        const after = step.after === null ? null : Math.floor(last * step.after)
        readers.push(
          await witness(by, viewer, { conversationId, after, last, bound: step.bound, open: open.map(({ id }) => id) }),
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
        by.wire.lose = () => Math.random() < step.share
        return
      case 'restore':
        by.wire.lose = () => false
        return by.wire.restore()
      case 'crash': {
        const from = Math.max(0, (turn?.said.length ?? 0) - 3)
        const unheard = turn && Promise.allSettled([burst(by, turn, step.pieces, true)])
        for (const each of readers) if (each.process === by) each.stop()
        await by.crash()
        const another = processes[(processes.indexOf(by) + 1) % processes.length]!
        if (turn) await write(another, turn, turn.said.slice(from), from)
        await unheard
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
      wire.lose = () => false
      wire.restore()
    }
    for (const reader of readers) reader.resume()
    await run({ type: 'say', by: 0, count: 1 })

    const { rows } = await first.deps.pool.query<Stored>(
      `SELECT t.id, t.text, (SELECT max(e.seq) FROM entry e WHERE e.turn_id = t.id) AS ended FROM turn t
       WHERE t.conversation_id = $1`,
      [conversationId],
    )
    const stored = new Map(rows.map((row) => [row.id, row]))
    for (const { id, said } of over) expect(stored.get(id)!.text).toBe(withoutHalf(said))
    const last = await head()
    for (const reader of readers) await checkWitness(reader, stored, last)
  } finally {
    for (const reader of readers) reader.stop()
    for (const { wire } of processes) wire.lose = () => false
  }
}
