// Connection types as the Relay specification defines them. Pothos's Relay plugin is not used, so that an edge is one
// small object and a cursor is only computed when it is selected.

import type { ObjectRef } from '@pothos/core'
import type { GraphQLResolveInfo } from 'graphql'
import { DEFAULT_PAGE_SIZE, type Page, type RenderedPage } from '../../domain/kernel/page.ts'
import { builder, type ObjectFieldBuilder } from './builder.ts'
import type { RequestContext } from './request.ts'

type Edge<Item, Of extends Page<Item>> = { node: Item; page: Of }

export const PageInfo = builder
  .objectRef<PageShape>('PageInfo')
  .implement({
    description: 'Position of a page in its list, and the cursors of the adjacent pages.',
    fields: (t) => ({
      hasNextPage: t.boolean({
        description: 'Whether the list has items after this page: read them with `after: endCursor`.',
        sharing: 'SHAREABLE',
        resolve: ({ page }) => page.hasNextPage,
      }),
      hasPreviousPage: t.boolean({
        description:
          'Whether the list has items before this page: read them with `before: startCursor`, if the field '
          + 'accepts `before`.',
        sharing: 'SHAREABLE',
        resolve: ({ page }) => page.hasPreviousPage,
      }),
      startCursor: t.string({
        nullable: true,
        description: 'Cursor of the first item of the page. Null if the page is empty.',
        sharing: 'SHAREABLE',
        resolve: ({ page, cursorOf }) => (page.items.length ? cursorOf(page.items[0], page) : null),
      }),
      endCursor: t.string({
        nullable: true,
        description: 'Cursor of the last item of the page. Null if the page is empty.',
        sharing: 'SHAREABLE',
        resolve: ({ page, cursorOf }) => (page.items.length ? cursorOf(page.items.at(-1), page) : null),
      }),
    }),
  })
export type PageShape = { page: Page<unknown>; cursorOf(item: unknown, page: Page<unknown>): string }

const PAGE_SIZE = `Defaults to ${DEFAULT_PAGE_SIZE} if neither is given; at most the server's page size, 200 by default.`

/** The paging arguments of a list; `items` is the plural noun for its items in descriptions. */
export const pagingArgs = ({ arg }: Pick<ObjectFieldBuilder<object>, 'arg'>, items: string) => ({
  first: arg.int({
    description: `Maximum number of ${items} from the start of the list. Exclusive with \`last\`. ${PAGE_SIZE}`,
  }),
  after: arg.string({ description: `Cursor; returns the ${items} after it.` }),
  last: arg.int({ description: `Maximum number of ${items} from the end of the list. Exclusive with \`first\`.` }),
  before: arg.string({ description: `Cursor; returns the ${items} before it.` }),
})

type Ref<Shape> = ObjectRef<(typeof builder)['$inferSchemaTypes'], Shape>

/** Returns whether the page is rendered. Its list is then added to the result after the execution. */
function isRendered(
  page: Page<unknown> | RenderedPage<unknown>,
  context: RequestContext,
  { path }: GraphQLResolveInfo,
): boolean {
  if (!('list' in page)) return false
  context.rendered!.push({ path, list: page.list })
  return true
}

type NodeName =
  | 'ApiKey'
  | 'Approval'
  | 'AuditLine'
  | 'Conversation'
  | 'Fact'
  | 'FactSource'
  | 'Job'
  | 'Participant'
  | 'Run'
  | 'SharedState'
  | 'Summary'
  | 'Turn'
  | 'WakeUp'

/** Defines `<name>Connection` and `<name>Edge` for pages of the object type; `items` is its plural noun. */
export function connectionOf<Item, Of extends Page<Item> = Page<Item>>(
  name: NodeName | 'Reply',
  items: string,
  cursorOf: (item: Item, page: Of) => string,
): { Connection: Ref<Of>; Edge: Ref<Edge<Item, Of>> } {
  // A reply is a turn, in a list with another order than that of turns.
  const type: NodeName = name === 'Reply' ? 'Turn' : name
  const Edge = builder
    .objectRef<Edge<Item, Of>>(`${name}Edge`)
    .implement({
      description: `One of the ${items} of a page, with its cursor.`,
      fields: (t) => ({
        cursor: t.string({
          description:
            'Opaque position of the item in the list. Pass it as `after`, or as `before` if the field '
            + 'accepts it, to continue from here.',
          sharing: 'SHAREABLE',
          resolve: ({ node, page }) => cursorOf(node, page),
        }),
        node: t.expose('node' as never, {
          type,
          description: `The ${name.replace(/\B[A-Z]/g, ' $&').toLowerCase()} at this position.`,
        }),
      }),
    })
  const Connection = builder
    .objectRef<Of>(`${name}Connection`)
    .implement({
      description: `A page of ${items}.`,
      fields: (t) => ({
        edges: t.field({
          type: [Edge],
          description: `The ${items} of this page with their cursors, always in the order of the list.`,
          sharing: 'SHAREABLE',
          resolve: (page, _, context, info) =>
            isRendered(page, context, info) ? [] : page.items.map((node) => ({ node, page })),
        }),
        nodes: t.field({
          type: [type],
          description: `The ${items} of this page without their edges, in the same order.`,
          sharing: 'SHAREABLE',
          resolve: (page, _, context, info) => (isRendered(page, context, info) ? [] : page.items) as never,
        }),
        pageInfo: t.field({
          type: PageInfo,
          description: 'Cursors of this page, and whether adjacent pages exist.',
          sharing: 'SHAREABLE',
          resolve: (page) => ({ page, cursorOf: cursorOf }),
        }),
      }),
    })
  return { Connection, Edge }
}
