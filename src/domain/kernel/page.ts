// Pages as the Relay connection specification defines them, in both directions: validates the arguments, and builds the
// page from the rows that were read. Pure.

import { InvalidInput } from '../../errors.ts'
import type { JsonText } from '../../runtime/json/text.ts'

export type Paging = { first?: number | null; after?: string | null; last?: number | null; before?: string | null }

/** Page size if neither `first` nor `last` is given. */
export const DEFAULT_PAGE_SIZE = 50

export type PageRequest = { size: number; backwards: boolean; after: string | null; before: string | null }

/**
 * Validates the paging arguments. The default size is DEFAULT_PAGE_SIZE, or `maxSize` if that is less.
 * @throws InvalidInput if both `first` and `last` are given, or if one is negative or above `maxSize`
 */
export function paging(args: Paging, maxSize: number): PageRequest {
  if (args.first != null && args.last != null) throw InvalidInput.at('last', 'give first or last, not both')
  const backwards = args.last != null
  const size = args.last ?? args.first ?? Math.min(DEFAULT_PAGE_SIZE, maxSize)
  if (!Number.isInteger(size) || size < 0 || size > maxSize) {
    throw InvalidInput.at(backwards ? 'last' : 'first', `is ${size}; it must be 0 to ${maxSize}`)
  }
  return { size, backwards, after: args.after ?? null, before: args.before ?? null }
}

export type Page<T> = { items: T[]; hasNextPage: boolean; hasPreviousPage: boolean }

/** The page of an empty list. */
export const NO_PAGE: Page<never> = { items: [], hasNextPage: false, hasPreviousPage: false }

/**
 * A page whose items were rendered as one JSON list. `items` has only the first and the last item, for cursors, or none.
 */
export type RenderedPage<T> = Page<T> & { list: JsonText }

/**
 * Builds a page from `rows`, which are in the direction of paging and include one row beyond the page if there is one.
 * @param isCut whether further rows exist that were not read, because the rows together are too large
 */
export function slice<T>(rows: T[], request: PageRequest, isCut = false): Page<T> {
  const items = rows.slice(0, request.size)
  return {
    items: request.backwards ? items.toReversed() : items,
    ...neighbours(request, rows.length > request.size || isCut),
  }
}

/**
 * Returns whether pages exist before and after the page. In the direction opposite to paging, another page is assumed to
 * exist if a cursor was given.
 * @param isMore whether the list has more items in the direction of paging
 */
export const neighbours = ({ backwards, after, before }: PageRequest, isMore: boolean): Omit<Page<never>, 'items'> =>
  backwards
    ? { hasNextPage: before !== null, hasPreviousPage: isMore }
    : { hasNextPage: isMore, hasPreviousPage: after !== null }
