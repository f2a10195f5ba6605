// What the rights table means in words: the sentences in the API's descriptions, and the errors of refused calls. Pure.

import { NotAllowed } from '../errors.ts'
import type { Right } from './principal.ts'
import { CONDITIONS, type Permit, type Verb, type VerbRule } from './rights.ts'

const HOLDERS = {
  OWNER: 'the owner of the conversation',
  ADMINISTRATOR: 'the owner or an administrator of the conversation',
  PARTICIPANT: 'a participant of the conversation',
} as const

/** Who passes a permit, as the end of a sentence: "must come from … or needs the right …". */
const demandOf = ({ relation, right }: Permit): string =>
  relation ? `must come from ${HOLDERS[relation]}, or needs the right \`${right}\`` : `needs the right \`${right}\``

/** Returns sentences that state what the verb needs. */
export function describeRule({ right, permit, conditions = [] }: VerbRule): string {
  const sentences = [
    `Needs the right \`${right}\`.`,
    ...(permit ? [`A call ${demandOf(permit)}.`] : []),
    ...conditions.map((condition) => `A call ${CONDITIONS[condition].when} ${demandOf(CONDITIONS[condition])}.`),
  ]
  return sentences.join(' ')
}

/** Returns the error of a credential that lacks a right which the verb always needs. */
export const lacksRight = (right: Right, verb: Verb | null = null): NotAllowed =>
  new NotAllowed(
    `This call needs the right \`${right}\`, which this credential does not have. Use a credential that has it.`,
    right,
    verb,
  )

/**
 * Returns the error of a call without the permit. `when` completes "A call …"; without it, the permit is the verb's.
 */
export function lacksPermit({ relation, right }: Permit, verb: Verb, when?: string): NotAllowed {
  const call = when === undefined ? 'This call' : `A call ${when}`
  const ask = relation
    ? `Ask ${HOLDERS[relation]}, or use a credential that has the right.`
    : 'Use a credential that has it.'
  const message = `${call} ${demandOf({ relation, right })}, which this credential does not have. ${ask}`
  return new NotAllowed(message, right, verb)
}

/** Returns the error of a verb that concerns more than the conversations to which the credential is limited. */
export const beyondConversations = (verb: Verb): NotAllowed =>
  new NotAllowed(
    'This credential is limited to some conversations, and the call concerns more than one of them. Name one '
      + 'conversation in the call, or use a credential without this limit.',
    null,
    verb,
  )
