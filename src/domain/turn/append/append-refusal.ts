// The errors of refused appends and edits, and the limits that appends check.

import { Conflict, InvalidInput, LimitReached, NotAllowed, NotFound } from '../../../errors.ts'
import type { AppendLimits } from '../../../store/sql/turn/append-call.ts'
import type {
  AppendRow,
  ClaimFault,
  ResultFault,
  UsedClientId,
  WaitingCall,
} from '../../../store/sql/turn/append-turns.ts'
import { MAX_PARTICIPANTS, tooManyParticipants } from '../../conversation/participant/participant.ts'
import { resultProblem } from './tool-results.ts'

/** Maximum numbers of open turns and participants; see docs/limits.md. */
export const APPEND_LIMITS: AppendLimits = {
  participants: MAX_PARTICIPANTS,
  openInConversation: 100,
  openByViewer: 1000,
}

/** Returns the error for a clientId that was used before with different content, or that belongs to another writer. */
export function clientIdInUse({ clientId, turnId, status, holder }: UsedClientId): Conflict {
  const key = JSON.stringify(clientId)
  return new Conflict(
    holder === null
      ? `clientId ${key} was already used for turn ${turnId}, which is ${status}, with different content or by another `
          + 'writer. Read that turn, or use another clientId.'
      : `clientId ${key} is in use by another writer: ${JSON.stringify(holder)} opened turn ${turnId} with it and is `
          + 'still writing. Follow that turn. If it is aborted, the clientId can be used again.',
  )
}

/**
 * Returns the error for a replyToId whose turn does not exist, or is outside the author's view: the text is the same.
 */
export const notInView = (path: string, turnId: string): InvalidInput =>
  InvalidInput.at(path, `is ${turnId}; the author sees no such turn in the conversation`)

/**
 * Returns the error for a contextId whose context does not exist, is of another conversation, or was built in the view
 * of another actor: the text is the same.
 */
export const noStoredContext = (path: string, contextId: string): InvalidInput =>
  InvalidInput.at(path, `is ${contextId}; the author has no such stored context in the conversation`)

const nameOf = ({ callId, turnId }: WaitingCall) => `Call ${JSON.stringify(callId)} of turn ${turnId}`

/** Returns the error for a turn that would change, answer or repeat a call that waits, or answer a denied call. */
export function callWaits(waiting: WaitingCall): Conflict {
  const { approvalId, state, runId } = waiting
  switch (state) {
    case 'DENIED':
      return new Conflict(`${nameOf(waiting)} was denied by approval ${approvalId}. The denial is its only result.`)
    case 'APPROVED':
      return new Conflict(
        `${nameOf(waiting)} waits for its result after approval ${approvalId}. Until run ${runId} has written it, nobody `
          + 'else can answer the call or make another one with its id. A client that executes the call appends the '
          + 'result once the run is WAITING_FOR_TOOLS.',
      )
    default:
      return new Conflict(
        `${nameOf(waiting)} waits for approval ${approvalId}. Until run ${runId} has written the result after the `
          + 'decision, nobody else can supersede the turn, answer the call or make another one with its id.',
      )
  }
}

/** Returns the error for a newer version of a turn with a decided or waiting call, or with a denial. */
export function callStands(call: WaitingCall): Conflict {
  const { approvalId, state } = call
  if (state !== 'APPROVED' && state !== 'DENIED') return callWaits(call)
  const decided = state === 'APPROVED' ? 'approved' : 'denied'
  return new Conflict(
    `${nameOf(call)} was ${decided} by approval ${approvalId}. A turn with the call, or with its denial, cannot be `
      + 'superseded. Append a new turn.',
  )
}

/** Returns the error for a token without a live claim on the turn. */
export function claimNotHeld({ turnId, state, answerId }: ClaimFault): Conflict {
  switch (state) {
    case 'ANSWERED':
      return new Conflict(`This claim has ended: turn ${answerId} has answered turn ${turnId}.`)
    case 'ANSWERING':
      return new Conflict(`Turn ${answerId} answers turn ${turnId} with this claim. Commit or abort it first.`)
    case 'EXPIRED':
      return new Conflict(`This claim on turn ${turnId} has expired. Claim the turn again.`)
    case 'RELEASED':
      return new Conflict(`This claim on turn ${turnId} has been released. Claim the turn again.`)
    default:
      return new Conflict(
        `You have no claim on turn ${turnId} with this claimToken. Claim the turn, or send the token of its claim.`,
      )
  }
}

/** Returns the error for a streaming turn beyond a limit of open turns. */
export function tooManyOpen(limit: 'open_in_conversation' | 'open_by_viewer'): LimitReached {
  const { openInConversation, openByViewer } = APPEND_LIMITS
  return limit === 'open_in_conversation'
    ? new LimitReached(
        `The conversation has ${openInConversation} open turns, the maximum. Commit or abort one first.`,
        openInConversation,
      )
    : new LimitReached(`You have ${openByViewer} open turns, the maximum. Commit or abort one first.`, openByViewer)
}

/** Returns the error for a refused call, given its first row; null if the call was not refused. */
export function refusalOf(
  conversationId: string,
  { outcome, detail, index }: AppendRow,
  path: (index: number) => string,
): Error | null {
  switch (outcome) {
    case 'unknown':
      return new NotFound('conversation', conversationId)
    case 'left':
      return new NotAllowed(
        `${JSON.stringify(detail)} has left the conversation. A participant must add the actor again.`,
      )
    case 'moved_on':
      return new Conflict(
        `expectedLastSeq does not match: the newest journal entry is ${detail}. Read the new entries, then try again.`,
      )
    case 'other_content':
    case 'held':
      return clientIdInUse(JSON.parse(detail!) as UsedClientId)
    case 'stranger':
      return InvalidInput.at(
        `${path(index)}.audience`,
        `${JSON.stringify(detail)} is not a participant; add the participant first`,
      )
    case 'no_call':
    case 'other_name':
    case 'ambiguous':
      return InvalidInput.at(`${path(index)}.parts`, resultProblem(outcome, JSON.parse(detail!) as ResultFault))
    case 'waiting':
      return callWaits(JSON.parse(detail!) as WaitingCall)
    case 'no_reply':
      return notInView(`${path(index)}.replyToId`, detail!)
    case 'no_context':
      return noStoredContext(`${path(index)}.contextId`, detail!)
    case 'no_claim':
      return claimNotHeld(JSON.parse(detail!) as ClaimFault)
    case 'removed':
      return new NotAllowed(
        `${JSON.stringify(detail)} was removed from the conversation. Another actor must add the participant again.`,
      )
    case 'participants':
      return tooManyParticipants()
    case 'open_in_conversation':
    case 'open_by_viewer':
      return tooManyOpen(outcome)
    case 'written':
    case 'stopped':
    case 'repeated':
      return null
  }
}
