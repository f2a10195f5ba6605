// Waits for new turns of a conversation. The events of the journal say what is new, so that a client that continues
// after `lastSeq` gets each turn exactly once.

import type { ConversationEvent, Turn } from '../../client/generated.ts'
import { invalidInput } from '../call.ts'
import type { JsonSchema } from '../json-schema.ts'
import type { Caller, ConversationName } from './caller.ts'

/** Limits of the wait, seconds. Many clients end a call after 60 s. */
export const TIMEOUT: JsonSchema & { default: number; minimum: number; maximum: number } = {
  type: 'integer',
  minimum: 1,
  maximum: 50,
  default: 30,
  description: 'Maximum number of seconds to wait, 1 to 50. Defaults to 30.',
}
/** Time after a turn in which further turns are collected, ms. */
const COLLECT_MS = 100
/** Maximum number of turns of one answer; the next call returns the others. */
const MAX_TURNS = 50
/** Maximum size of the text of these turns, in UTF-16 units; one more turn may exceed it. */
const MAX_TEXT = 256 * 1024

const TYPES = ['TURN_APPENDED', 'TURN_COMMITTED', 'TURN_ABORTED', 'TURN_SUPERSEDED'] as const

/** The answer: complete turns, and edits as the newer version. */
export type Waited = { turns: Turn[]; lastSeq: number; timedOut: boolean }

export const WAIT_OUTPUT: JsonSchema = {
  type: 'object',
  properties: {
    turns: { type: 'array', items: { type: 'object' }, description: 'The new turns, in the order of the journal.' },
    lastSeq: { type: 'integer', description: 'Pass it as `afterSeq` to continue.' },
    timedOut: { type: 'boolean', description: 'Whether the time passed without a new turn.' },
  },
  required: ['turns', 'lastSeq', 'timedOut'],
}

/** Returns the complete turn that an event of TYPES is about: of an edit, the newer version, unless it is still open. */
function turnOf(event: ConversationEvent): Turn | null {
  if (event.__typename === 'TurnSuperseded') return event.by.status === 'STREAMING' ? null : event.by
  const isTurn =
    event.__typename === 'TurnAppended' || event.__typename === 'TurnCommitted' || event.__typename === 'TurnAborted'
  return isTurn ? event.turn : null
}

/** Adds events to the answer until none has arrived for COLLECT_MS, the answer is full, or the signal is aborted. */
async function collect(events: AsyncIterable<ConversationEvent>, waited: Waited, stop: AbortController): Promise<void> {
  let size = 0
  let quiet: NodeJS.Timeout | undefined
  try {
    for await (const event of events) {
      if (event.__typename === 'Gap') waited.lastSeq = event.resumeAfterSeq
      const turn = turnOf(event)
      if (event.seq !== null) waited.lastSeq = event.seq
      // A version that was opened and committed since has an event for each.
      if (!turn || waited.turns.some(({ id }) => id === turn.id)) continue
      waited.turns.push(turn)
      size += turn.text.length
      if (waited.turns.length === MAX_TURNS || size > MAX_TEXT) return
      clearTimeout(quiet)
      quiet = setTimeout(() => stop.abort(), COLLECT_MS)
    }
  } finally {
    clearTimeout(quiet)
    stop.abort()
  }
}

/** @throws VerbFailed */
export async function waitForTurns(
  caller: Caller,
  { timeoutSeconds, afterSeq, ...name }: Record<string, any>,
  signal: AbortSignal,
): Promise<Waited> {
  const { minimum, maximum } = TIMEOUT
  if (!Number.isInteger(timeoutSeconds) || timeoutSeconds < minimum || timeoutSeconds > maximum) {
    throw invalidInput(['timeoutSeconds'], `must be a whole number from ${minimum} to ${maximum}`)
  }
  const from = afterSeq ?? (await caller.call('conversation', name)).lastSeq
  const waited: Waited = { turns: [], lastSeq: from, timedOut: false }
  const stop = new AbortController()
  const ended = AbortSignal.any([signal, stop.signal, AbortSignal.timeout(timeoutSeconds * 1000)])
  const followed = { ...(name as ConversationName), afterSeq: from, types: TYPES }
  await collect(caller.follow(followed, ended), waited, stop)
  return { ...waited, timedOut: waited.turns.length === 0 }
}
