// Computes the names by which a query may refer to a participant. Pure.

import type { NamedParticipant } from '../../../store/sql/memory/recall/read-turn-index.ts'
import { STOP_WORDS } from '../../../text/words/stop-words.ts'
import { words } from '../../../text/words/words.ts'

/** A current or former participant, with the names by which a query may refer to it, in lower case. */
export type NamedActor = { conversationId: string; actor: string; names: readonly string[] }

/** Returns the full name and its first word, in lower case. Omits stop words and single characters. */
export function namesOf(name: string): string[] {
  const all = words(name)
  const first = all[0]
  return [...new Set([all.join(' '), first ?? ''])].filter((each) => each.length > 1 && !STOP_WORDS.en.has(each))
}

export const toNamed = ({ conversationId, actor, displayName }: NamedParticipant): NamedActor => ({
  conversationId,
  actor,
  names: [...namesOf(actor), ...namesOf(displayName ?? '')],
})
