// The results of calls that append or open turns.

import type { Turn } from './turn.ts'

/** What a call that appends one turn has done. */
export type Appended = {
  turn: Turn
  /** Whether an earlier call with the same clientId had already written the turn. */
  deduplicated: boolean
  /** Whether the author joined the conversation with this turn. */
  joined: boolean
  /** Seq of the newest entry that the call wrote, or of the turn if it was already there. */
  lastSeq: number
}

/** What a call that appends several turns has done. */
export type AppendedTurns = {
  /** In the order given. */
  turns: Turn[]
  /** Ids of the turns that an earlier call with the same clientId had already written. */
  deduplicatedIds: string[]
  /** The authors who joined the conversation with their first turn. */
  joinedActors: string[]
  /** Seq of the newest entry that the call wrote, or of the newest turn if all were already there. */
  lastSeq: number
}

/** Returns the result of a call that appended one turn. */
export const single = ({ turns, deduplicatedIds, joinedActors, lastSeq }: AppendedTurns): Appended => ({
  turn: turns[0]!,
  deduplicated: deduplicatedIds.length > 0,
  joined: joinedActors.length > 0,
  lastSeq,
})
