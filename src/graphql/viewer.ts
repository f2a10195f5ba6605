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
  description: 'On whose behalf this request is answered.',
  fields: (t) => ({
    id: t.id({
      description: 'Global id; pass it to `node`.',
      extensions: SHAREABLE,
      resolve: ({ tenant, actor }) => derivedId({ kind: 'viewer', tenant, actor }),
    }),
    tenant: t.exposeString('tenant', {
      description: 'The space whose conversations the viewer may see; nothing is shared between two of them.',
    }),
    actor: t.exposeString('actor', {
      description: 'The user, agent or tool that asks. It is the author of turns that name no actor.',
    }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    type: 'Viewer',
    description: 'Whom the server takes the caller for, by headers or connection parameters.',
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
