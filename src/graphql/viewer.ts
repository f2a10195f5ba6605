// The viewer of a request, which the transport determines, and `as`, which replaces its actor.

import { z } from 'zod'
import { name, parse } from '../domain/input.ts'
import { actAs, type Viewer } from '../domain/view.ts'
import { derivedId } from '../domain/derived-id.ts'
import { builder } from './builder.ts'
import { Node } from './node.ts'
import { SHAREABLE } from './sharing.ts'

builder.objectType('Viewer', {
  interfaces: [Node],
  description: 'Tenant and actor in whose view the request is answered.',
  fields: (t) => ({
    id: t.id({
      description: 'Global id; pass it to `node`.',
      extensions: SHAREABLE,
      resolve: ({ tenant, actor }) => derivedId({ kind: 'viewer', tenant, actor }),
    }),
    tenant: t.exposeString('tenant', { description: 'Isolation boundary: the viewer sees no data of other tenants.' }),
    actor: t.exposeString('actor', {
      description: 'Name of the user, agent or tool. Default author of the turns that the request writes.',
    }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    type: 'Viewer',
    description: 'Returns the viewer of the request, which headers, connection parameters or URL parameters name.',
    resolve: (_, __, { viewer }) => viewer,
  }),
)

const asArgument = z.object({ as: name })

/**
 * Returns the viewer with `as` as its actor; without `as`, the given viewer.
 * @throws InvalidInput for an invalid actor name
 */
export const viewAs = (viewer: Viewer, as: string | null | undefined): Viewer =>
  as == null ? viewer : actAs(viewer, parse(asArgument, { as }).as)
