// The rights that a credential can permit.

import type { Right } from '../domain/principal.ts'
import { builder } from './builder.ts'

const DESCRIPTIONS: Record<Right, string> = {
  read: 'Reads conversations, facts, summaries and profiles in the view of the actor.',
  write: 'Appends turns, and changes conversations in which the actor takes part.',
  'act-as': 'Reads and writes as another actor, by `as`.',
  manage: 'Changes conversations and participants of other actors.',
  erase: 'Erases turns, users and conversations.',
  operate: 'Manages API keys, and reads jobs and the audit log.',
}

/** The enum `Right`: the rights in upper case, with underscores. */
export const RightEnum = builder.enumType('Right', {
  description: 'A right of an API key or of a JSON Web Token.',
  values: Object.fromEntries(
    Object.entries(DESCRIPTIONS).map(([value, description]) => [
      value.toUpperCase().replace('-', '_'),
      { value: value as Right, description },
    ]),
  ),
})
