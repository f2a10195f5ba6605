// Describes the rights table in words: a clause for the API's descriptions, and the errors of refused calls. Pure.

import { NotAllowed } from '../../../errors.ts'
import type { Right } from './principal.ts'
import type { Permit, Verb, VerbRule } from './rights.ts'

const HOLDERS = {
  OWNER: 'the owner of the conversation',
  ADMINISTRATOR: 'the owner or an administrator of the conversation',
  PARTICIPANT: 'a participant of the conversation',
} as const

/** Returns a predicate that states the permit: "must come from … or needs the right …". */
const demandOf = ({ relation, right }: Permit): string =>
  relation ? `must come from ${HOLDERS[relation]}, or needs the right \`${right}\`` : `needs the right \`${right}\``

/** Returns the right that the permit requires, and the relation in place of it: "`manage` unless …". */
const unless = ({ relation, right }: Permit): string =>
  relation ? `\`${right}\` unless the actor is ${HOLDERS[relation]}` : `\`${right}\``

/**
 * Returns a sentence that states the right of the verb and its permit, and whether parts of its input need more, which
 * the table in docs/rights.md lists.
 */
export function describeRule({ right, permit, conditions }: VerbRule): string {
  const required = permit ? `\`${right}\`, and ${unless(permit)}` : `\`${right}\``
  return `Needs the right ${required}${conditions ? '; some input needs more' : ''}.`
}

/** Returns the error for a credential without a right that every call of the verb needs. */
export const lacksRight = (right: Right, verb: Verb | null = null): NotAllowed =>
  new NotAllowed(
    `This call needs the right \`${right}\`, which this credential does not have. Use a credential that has it.`,
    right,
    verb,
  )

/**
 * Returns the error for a call without the permit.
 * @param when the `when` of the condition, which completes "A call …"; undefined for a permit that every call needs
 */
export function lacksPermit({ relation, right }: Permit, verb: Verb, when?: string): NotAllowed {
  const call = when === undefined ? 'This call' : `A call ${when}`
  const ask = relation
    ? `Ask ${HOLDERS[relation]}, or use a credential that has the right.`
    : 'Use a credential that has it.'
  const message = `${call} ${demandOf({ relation, right })}, which this credential does not have. ${ask}`
  return new NotAllowed(message, right, verb)
}

/** Returns the error for a credential limited to some conversations, if the call does not name one conversation. */
export const beyondConversations = (verb: Verb): NotAllowed =>
  new NotAllowed(
    'This credential is limited to some conversations, but the call is not limited to one of them. Name one '
      + 'conversation in the call, or use a credential without this limit.',
    null,
    verb,
  )
