// The results of calls that append or open turns.

import type { Turn } from '../turn.ts'

/** Result of a call that appends or opens one turn. */
export type Appended = {
  turn: Turn
  /** Whether an earlier call with the same clientId had already written the turn. */
  deduplicated: boolean
  /** Whether the author joined the conversation with this turn. */
  joined: boolean
  /** Seq of the newest entry that the call wrote, or of the turn if an earlier call had written it. */
  lastSeq: number
}

/** Result of a call that appends several turns. */
export type AppendedTurns = {
  /** The turns in the order of the input. */
  turns: Turn[]
  /** Ids of the turns that an earlier call with the same clientId had already written. */
  deduplicatedIds: string[]
  /** The authors who joined the conversation with their first turn. */
  joinedActors: string[]
  /** Seq of the newest entry that the call wrote, or of the newest turn if earlier calls had written all turns. */
  lastSeq: number
}

/** Returns the result of a call that appended one turn. */
export const single = ({ turns, deduplicatedIds, joinedActors, lastSeq }: AppendedTurns): Appended => ({
  turn: turns[0]!,
  deduplicated: deduplicatedIds.length > 0,
  joined: joinedActors.length > 0,
  lastSeq,
})
