// Pages of lists: the types, and a function that yields the items of all pages.

import type { PageInfo } from './generated.ts'

/** One page of a list. */
export type Page<Item> = { nodes: Item[]; pageInfo: PageInfo }

/** Selects a page: `first` items after the cursor `after`, or `last` items before the cursor `before`. */
export type PageOptions = { first?: number; after?: string | null; last?: number; before?: string | null }

/**
 * Yields the items of all pages, from the first to the last.
 * @param read reads the page after the cursor; null for the first page
 */
export async function* itemsOf<Item>(read: (after: string | null) => Promise<Page<Item>>): AsyncGenerator<Item, void> {
  let after: string | null = null
  do {
    const { nodes, pageInfo }: Page<Item> = await read(after)
    yield* nodes
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null
  } while (after !== null)
}
