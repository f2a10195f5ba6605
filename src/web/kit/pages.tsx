// Lists that grow page by page: all pages that are shown are read again when the list changes.

import { useState } from 'react'
import type { Page } from '../../client/index.ts'
import { useLoad, type Loaded, type LoadOptions } from './load.ts'

/** Number of items that are shown at first, and that a button adds. A server allows pages of this size. */
const PAGE = 50

type Read<Item> = (page: { first: number; after: string | null }) => Promise<Pick<Page<Item>, 'nodes' | 'pageInfo'>>

/**
 * Reads the first `count` items of a list, and whether there are more. @param read reads one page
 * @internal
 */
export async function readFirst<Item>(
  count: number,
  read: Read<Item>,
): Promise<{ items: readonly Item[]; hasMore: boolean }> {
  const items: Item[] = []
  let after: string | null = null
  do {
    const { nodes, pageInfo }: Awaited<ReturnType<Read<Item>>> = await read({
      first: Math.min(PAGE, count - items.length),
      after,
    })
    items.push(...nodes)
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null
  } while (after !== null && items.length < count)
  return { items, hasMore: after !== null }
}

type PagedList<Item> = Omit<Loaded<unknown>, 'value' | 'put'> & {
  /** Null before the first load. */
  items: readonly Item[] | null
  /** Shows the next page; null if there is none. */
  more: (() => void) | null
  /** Whether that page is being loaded. */
  isLoadingMore: boolean
}

/**
 * Loads the first page of a list, and more pages on request. Another list begins with its first page.
 * @param key everything that the list depends on; null to load nothing
 * @param options `version`: see useLoad
 */
export function usePages<Item>(
  read: (page: Parameters<Read<Item>>[0], signal: AbortSignal) => ReturnType<Read<Item>>,
  key: unknown,
  { version = null }: Pick<LoadOptions, 'version'> = {},
): PagedList<Item> {
  const text = JSON.stringify(key)
  const [wanted, setWanted] = useState({ key: text, count: PAGE })
  const count = wanted.key === text ? wanted.count : PAGE
  const { value, error, isLoading, reload } = useLoad((signal) => readFirst(count, (page) => read(page, signal)), key, {
    version: [version, count],
  })
  const items = value?.items ?? null
  return {
    error,
    isLoading,
    reload,
    items,
    more: value?.hasMore ? () => setWanted({ key: text, count: items!.length + PAGE }) : null,
    isLoadingMore: isLoading && items !== null && items.length < count,
  }
}

export const More = ({ more, isLoading }: { more: (() => void) | null; isLoading: boolean }) =>
  more && (
    <button type="button" onClick={more} disabled={isLoading}>
      {isLoading ? 'Loading …' : 'Show more'}
    </button>
  )
