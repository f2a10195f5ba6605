// The viewer of an operation: the principal, which the transport determines, or the actor in `as` (view/).

import { RIGHTS, type Right } from '../domain/principal.ts'
import { derivedId } from '../domain/derived-id.ts'
import { asArg } from './as.ts'
import { builder } from './builder.ts'
import { Node } from './node.ts'
import { SHAREABLE } from './sharing.ts'

const RightEnum = builder.enumType('Right', {
  description: 'Right of a credential. docs/security.md lists the right that each operation needs.',
  values: {
    READ: { value: 'read', description: 'Read what the viewer sees, and subscribe to it.' },
    WRITE: { value: 'write', description: 'Create conversations, write turns and facts, and join and leave.' },
    ACT_AS: { value: 'act-as', description: 'Read and write as another actor: `as`, and `actor` of a turn.' },
    MANAGE: {
      value: 'manage',
      description: 'Do in every visible conversation what its owner may do; import turns; search the whole tenant.',
    },
    ERASE: { value: 'erase', description: 'Delete conversations and erase content.' },
    OPERATE: { value: 'operate', description: 'Observe jobs and audits, and administer the tenant.' },
  } as const satisfies Record<string, { value: Right; description: string }>,
})

builder.objectType('Viewer', {
  interfaces: [Node],
  description: 'Tenant and actor in whose view the operation is answered.',
  fields: (t) => ({
    id: t.id({
      description: 'Global id; pass it to `node`.',
      extensions: SHAREABLE,
      resolve: ({ tenant, actor }) => derivedId({ kind: 'viewer', tenant, actor }),
    }),
    tenant: t.exposeString('tenant', { description: 'Isolation boundary: the viewer sees no data of other tenants.' }),
    actor: t.exposeString('actor', {
      description: 'Name of the user, agent or tool. Default author of the turns that the operation writes.',
    }),
    rights: t.field({
      type: [RightEnum],
      description: 'Rights of the credential that sent the operation. All rights if the server does not authenticate.',
      resolve: ({ principal }) => RIGHTS.filter((right) => principal?.rights.has(right) ?? true),
    }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    type: 'Viewer',
    description:
      'Returns the viewer of the operation: `as`, or otherwise the viewer of the request, which headers, connection '
      + 'parameters or URL parameters name.',
    args: asArg(t),
    resolve: (_, __, { viewer }) => viewer,
  }),
)
