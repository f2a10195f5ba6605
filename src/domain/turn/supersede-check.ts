// Decides whether an actor may supersede a turn. Pure: supersede.ts reads the rows under the conversation's lock.

import { Conflict, NotAllowed, NotFound, type DomainError } from '../../errors.ts'
import type { TurnStatus } from '../../store/generated/enums.ts'

/** The version to supersede. */
export type OlderVersion = {
  id: string
  actor: string
  status: TurnStatus
  /** Actors in any order; null for every participant. */
  audience: readonly string[] | null
  /** Id of the next version; null for the newest version. */
  supersededBy: string | null
  /** Time at which retention removed the content; null if the content was not removed. */
  removedAt: Date | null
}

/** The requested edit. */
export type RequestedEdit = {
  actor: string
  /** Whether the actor is a participant who has not left. */
  isPresent: boolean
}

/**
 * Returns the error that refuses the edit, or null if it is allowed. An actor outside the audience gets NotFound before
 * anything else is checked, so that no other error reveals a private turn.
 */
export function refusalOf(older: OlderVersion, edit: RequestedEdit): DomainError | null {
  const { id, actor: author, audience, status, supersededBy, removedAt } = older
  if (audience && !audience.includes(edit.actor)) return new NotFound('turn', id)
  if (author !== edit.actor) {
    return new NotAllowed(
      `Turn ${id} was written by ${JSON.stringify(author)}. Only the author may supersede it; `
        + 'set turn.actor to act as the author.',
    )
  }
  if (!edit.isPresent) {
    return new NotAllowed(`${JSON.stringify(author)} has left the conversation. Add the participant again first.`)
  }
  if (status === 'STREAMING') return new Conflict(`Turn ${id} is still open. Commit or abort it first.`)
  if (removedAt !== null) return new Conflict(`Retention removed the content of turn ${id}. Append a new turn.`)
  if (status === 'ERASED') return new Conflict(`Turn ${id} was erased. Append a new turn.`)
  if (supersededBy !== null) {
    return new Conflict(`Turn ${id} was already superseded by ${supersededBy}. Supersede the newest version.`)
  }
  return null
}
