// The rights that a credential can permit.

import type { Right } from '../domain/principal.ts'
import { builder } from './builder.ts'

const DESCRIPTIONS: Record<Right, string> = {
  read: 'Read what the actor sees, and subscribe to it.',
  write: 'Create conversations, write turns and facts, join and leave.',
  'act-as': 'Read and write as another actor: `as`, and `actor` of a turn.',
  manage: 'Do in every visible conversation what its owner may do; import turns; search the whole tenant.',
  erase: 'Delete conversations and erase content.',
  operate: 'Administer the tenant: API keys, jobs, audits.',
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
