// The states of a streaming turn, which the SQL functions append_chunks and close_turn implement: every state against
// every event. A new status does not compile until the table has a row for it.
//
//              delta            commit         abort         expire
//   STREAMING  STREAMING        COMMITTED      ABORTED       ABORTED
//   COMMITTED  (closed)         (closed)       (closed)      (closed)
//   ABORTED    (closed)         (closed)       (closed)      (closed)
//   ERASED     (closed)         (closed)       (closed)      (closed)

import { beforeAll, describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { eraseTurn } from '../../../../../src/domain/trust/erasure/erase-turn.ts'
import { mergeDeltas } from '../../../../../src/domain/turn/streaming/delta-batch.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import { hashOfWriter } from '../../../../../src/domain/turn/append/turn-input.ts'
import type { TurnStatus } from '../../../../../src/store/generated/enums.ts'
import { appendChunks } from '../../../../../src/store/sql/turn/streaming/append-chunks.ts'
import { closeTurn, type ClosedTurn } from '../../../../../src/store/sql/turn/streaming/close-turn.ts'
import { readOpenTurn } from '../../../../../src/store/sql/turn/streaming/open-content.ts'
import { backends } from '../../../../support/backend.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'

const FIRST = '\ud83d'
const SECOND = '\ude00'
const PAIR = FIRST + SECOND
const LEASE_MS = 30_000

/** STREAMING is tested in three states: empty, with text, and with text that ends in the first half of a pair. */
const OPEN = { nothing: '', text: 'abc', half: `abc${FIRST}` }
/** The other states, with the text of a turn with the text `abc`. */
const CLOSED: Record<Exclude<TurnStatus, 'STREAMING'>, string> = { COMMITTED: 'abc', ABORTED: 'abc', ERASED: '' }
type State = keyof typeof OPEN | keyof typeof CLOSED

type Event = { start: number | null; text: string } | { status: 'COMMITTED' | 'ABORTED'; silentMs?: number }
const delta = (start: number | null, text: string): Event => ({ start, text })

/** An expired lease is the silence of the writer for LEASE_MS. */
const EVENTS = {
  text: delta(null, 'ab'),
  'text at 0': delta(0, 'ab'),
  'text at 3': delta(3, 'ab'),
  'text at 4': delta(4, 'ab'),
  nothing: delta(null, ''),
  'nothing at 3': delta(3, ''),
  'text with a first half': delta(null, `a${FIRST}`),
  'a first half': delta(null, FIRST),
  'a second half with text': delta(null, `${SECOND}b`),
  'a second half with text at 4': delta(4, `${SECOND}b`),
  'a second half and a first half': delta(null, SECOND + FIRST),
  'a pair': delta(null, PAIR),
  commit: { status: 'COMMITTED' },
  abort: { status: 'ABORTED' },
  'expiry within the lease': { status: 'ABORTED', silentMs: LEASE_MS - 5_000 },
  'expiry after the lease': { status: 'ABORTED', silentMs: LEASE_MS + 5_000 },
} satisfies Record<string, Event>
type EventName = keyof typeof EVENTS

/** The outcome, and the text afterwards with a trailing first half; absent if the event changes nothing. */
type Row = Record<EventName, [outcome: string, text?: string]>

const ENDS = {
  commit: ['written'],
  abort: ['written'],
  'expiry within the lease': ['alive'],
  'expiry after the lease': ['written'],
} satisfies Partial<Row>

const TABLE: Record<keyof typeof OPEN, Row> = {
  nothing: {
    ...ENDS,
    text: ['written', 'ab'],
    'text at 0': ['written', 'ab'],
    'text at 3': ['elsewhere'],
    'text at 4': ['elsewhere'],
    nothing: ['renewed'],
    'nothing at 3': ['elsewhere'],
    'text with a first half': ['written', `a${FIRST}`],
    'a first half': ['written', FIRST],
    'a second half with text': ['half'],
    'a second half with text at 4': ['elsewhere'],
    'a second half and a first half': ['half'],
    'a pair': ['written', PAIR],
  },
  text: {
    ...ENDS,
    text: ['written', 'abcab'],
    'text at 0': ['elsewhere'],
    'text at 3': ['written', 'abcab'],
    'text at 4': ['elsewhere'],
    nothing: ['renewed'],
    'nothing at 3': ['renewed'],
    'text with a first half': ['written', `abca${FIRST}`],
    'a first half': ['written', `abc${FIRST}`],
    'a second half with text': ['half'],
    'a second half with text at 4': ['elsewhere'],
    'a second half and a first half': ['half'],
    'a pair': ['written', `abc${PAIR}`],
  },
  half: {
    ...ENDS,
    text: ['half'],
    'text at 0': ['elsewhere'],
    'text at 3': ['elsewhere'],
    'text at 4': ['half'],
    nothing: ['renewed'],
    'nothing at 3': ['elsewhere'],
    'text with a first half': ['half'],
    'a first half': ['half'],
    'a second half with text': ['written', `abc${PAIR}b`],
    'a second half with text at 4': ['written', `abc${PAIR}b`],
    'a second half and a first half': ['written', `abc${PAIR}${FIRST}`],
    'a pair': ['half'],
  },
}
const names = Object.keys(EVENTS) as EventName[]

describe.each(backends)('a streaming turn, on $name', (backend) => {
  const world = useWorld(backend)
  let ada: { tenant: string; actor: string }
  let conversationId: string
  const writer = hashOfWriter(WRITER)

  beforeAll(async () => {
    ada = world.tenant().as('ada')
    conversationId = (await createConversation(world.deps, ada, {})).conversation.id
  })

  async function send(turnId: string, { start, text }: { start: number | null; text: string }) {
    const written = { tenant: ada.tenant, viewer: ada.actor, turnId, writer, part: null, start, text }
    const { chunk } = mergeDeltas([{ delta: written, isUnmergeable: false }])
    return (await appendChunks(world.deps.pool, [chunk], 1_000))[0]!
  }

  async function end(turnId: string, { status, silentMs }: { status: ClosedTurn['status']; silentMs?: number }) {
    const open = await readOpenTurn(world.deps.pool, ada.tenant, turnId, null)
    const { text, partBytes } = open ?? { text: '', partBytes: 0 }
    const by = silentMs === undefined ? { viewer: ada.actor, writer, hash: `${status} once` } : NOBODY
    if (silentMs !== undefined) {
      for (const [table, column] of [
        ['stream', 'renewed_at'],
        ['chunk', 'written_at'],
      ]) {
        await sql(world.deps.pool).query(
          `UPDATE ${table} SET ${column} = now() - $2 * interval '1 millisecond' WHERE turn_id = $1`,
          [turnId, silentMs],
        )
      }
    }
    const { tenant } = ada
    return closeTurn(world.deps.pool, {
      tenant,
      id: turnId,
      status,
      end: text.length,
      partBytes,
      text,
      tokens: 0,
      ...by,
    })
  }
  const NOBODY = { viewer: null, writer: null, hash: null, silentMs: LEASE_MS }

  async function newTurn(state: State): Promise<string> {
    const turn = { role: 'ASSISTANT' as const }
    const { id } = (await openTurn(world.deps, ada, { writerToken: WRITER, conversationId, turn })).turn
    const text = state in OPEN ? OPEN[state as keyof typeof OPEN] : 'abc'
    if (text !== '') expect((await send(id, { start: null, text })).outcome).toBe('written')
    if (state === 'ABORTED' || state === 'COMMITTED') await end(id, { status: state })
    if (state === 'ERASED') {
      await end(id, { status: 'COMMITTED' })
      await eraseTurn(world.deps, ada, { turnId: id })
    }
    return id
  }

  /** Returns the status of the turn, and its text with a trailing first half. */
  async function stored(turnId: string): Promise<[TurnStatus, string]> {
    const { status, text } = (await getTurns(world.deps, ada, [turnId])).get(turnId)!
    if (status !== 'STREAMING') return [status, text ?? '']
    const { end: length, half } = await send(turnId, { start: null, text: '' })
    const whole = text + (half === null ? '' : String.fromCharCode(half))
    expect(length).toBe(whole.length)
    return [status, whole]
  }

  const cells = (Object.keys(OPEN) as (keyof typeof OPEN)[]).flatMap((state) =>
    names.map((name) => [state, name] as const),
  )
  it.each(cells)('with %s × %s', async (state, name) => {
    const event: Event = EVENTS[name]
    const [outcome, text = OPEN[state]] = TABLE[state][name]
    const turnId = await newTurn(state)
    const row = 'text' in event ? await send(turnId, event) : await end(turnId, event)
    expect(row.outcome).toBe(outcome)
    // A first half whose other half never arrives is not stored.
    const expected =
      'status' in event && outcome === 'written' ? [event.status, text.replace(FIRST, '')] : ['STREAMING', text]
    expect(await stored(turnId)).toEqual(expected)
  })

  it.each(Object.entries(CLOSED) as [keyof typeof CLOSED, string][])(
    'that is %s accepts nothing',
    async (state, text) => {
      const turnId = await newTurn(state)
      for (const name of names) {
        const event: Event = EVENTS[name]
        const row = 'text' in event ? await send(turnId, event) : await end(turnId, event)
        const isRepeated = 'status' in event && event.silentMs === undefined && event.status === state
        expect([name, row.outcome, row.status]).toEqual([name, isRepeated ? 'repeated' : 'closed', state])
      }
      expect(await stored(turnId)).toEqual([state, text])
    },
  )
})
