// The viewer of an operation: the principal, which the transport determines, or the actor in `as` (view/).

import { RIGHTS } from '../../domain/kernel/rights/principal.ts'
import { derivedId } from '../../domain/kernel/derived-id.ts'
import { asArg } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { Node } from '../kernel/node.ts'
import { ParticipantKindEnum } from './participant.ts'
import { RightEnum } from '../kernel/rights/rights.ts'

builder.objectType('Viewer', {
  interfaces: [Node],
  description: 'Tenant and actor in whose view the operation is answered.',
  fields: (t) => ({
    id: t.id({
      description: 'Global id; pass it to `node`.',
      sharing: 'SHAREABLE',
      resolve: ({ tenant, actor }) => derivedId({ kind: 'viewer', tenant, actor }),
    }),
    tenant: t.exposeString('tenant', { description: 'Isolation boundary: the viewer sees no data of other tenants.' }),
    actor: t.exposeString('actor', {
      description: 'Name of the user, agent or tool. Default author of the turns that the operation writes.',
    }),
    rights: t.field({
      type: [RightEnum],
      description: 'Rights of the credential that sent the operation. All rights if the server does not authenticate.',
      sharing: 'SHAREABLE',
      resolve: ({ principal }) => RIGHTS.filter((right) => principal?.rights.has(right) ?? true),
    }),
    kind: t.field({
      type: ParticipantKindEnum,
      nullable: true,
      description: 'Kind of the actor that the credential authenticates. Null if the server does not authenticate.',
      sharing: 'SHAREABLE',
      resolve: ({ principal }) => principal?.kind,
    }),
    conversationIds: t.idList({
      nullable: true,
      description:
        'Ids of the only conversations that the credential gives access to. Null for all conversations of the '
        + 'tenant.',
      sharing: 'SHAREABLE',
      resolve: ({ principal }) => principal?.conversations && [...principal.conversations],
    }),
    expiresAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'Time from which the credential is refused. Null if it does not expire, or if the server does not authenticate.',
      sharing: 'SHAREABLE',
      resolve: ({ principal }) => principal?.expiresAt,
    }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    verb: null,
    type: 'Viewer',
    description:
      'Returns the viewer of the operation: `as`, or otherwise the viewer of the request, which headers, connection '
      + 'parameters or URL parameters name.',
    args: asArg(t),
    resolve: (_, __, { viewer }) => viewer,
  }),
)
