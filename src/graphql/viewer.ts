// The viewer of a request, which the transport determines, and `as`, which replaces its actor.

import { z } from 'zod'
import { name, parse } from '../domain/input.ts'
import { actAs, type Viewer } from '../domain/view.ts'
import { builder } from './builder.ts'

builder.objectType('Viewer', {
  description: 'On whose behalf this request is answered.',
  fields: (t) => ({
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
