// The rights that a credential can permit.

import type { Right } from '../../../domain/kernel/rights/principal.ts'
import { builder } from '../builder.ts'

export const RightEnum = builder.enumType('Right', {
  description: 'Right of a credential. docs/rights.md lists the right that each operation needs.',
  values: {
    READ: { value: 'read', description: 'Read what the viewer sees, and subscribe to it.' },
    WRITE: { value: 'write', description: 'Create conversations, write turns and facts, and join and leave.' },
    ACT_AS: { value: 'act-as', description: 'Read and write as another actor: `as`, and `actor` of a turn.' },
    MANAGE: {
      value: 'manage',
      description: 'Do in every visible conversation what its owner may do; import turns; search the whole tenant.',
    },
    ERASE: { value: 'erase', description: 'Delete conversations and erase content.' },
    OPERATE: {
      value: 'operate',
      description: 'Observe jobs and audits, and manage API keys, legal holds and the settings of the tenant.',
    },
  } as const satisfies Record<string, { value: Right; description: string }>,
})
