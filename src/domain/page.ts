// Pages as defined by the Relay connection specification, in both directions. Pure: reads the arguments, and cuts the page
// out of the rows read.

import { InvalidInput } from '../errors.ts'

export type Paging = { first?: number | null; after?: string | null; last?: number | null; before?: string | null }

/** Items of a page if neither `first` nor `last` is given. */
const DEFAULT_SIZE = 50

export type PageRequest = { size: number; backwards: boolean; after: string | null; before: string | null }

/**
 * Reads the paging arguments; at most `most` items.
 * @throws InvalidInput if both `first` and `last` are given, or if one is negative or above `most`
 */
export function paging(args: Paging, most: number): PageRequest {
  if (args.first != null && args.last != null) throw InvalidInput.at('last', 'give first or last, not both')
  const backwards = args.last != null
  const size = args.last ?? args.first ?? Math.min(DEFAULT_SIZE, most)
  if (!Number.isInteger(size) || size < 0 || size > most) {
    throw InvalidInput.at(backwards ? 'last' : 'first', `is ${size}; it must be 0 to ${most}`)
  }
  return { size, backwards, after: args.after ?? null, before: args.before ?? null }
}

export type Page<T> = { items: T[]; hasNextPage: boolean; hasPreviousPage: boolean }

/**
 * Cuts a page out of `read`, which has one item more than the page if there are more, in the direction of reading. On the
 * other side there is more if a cursor was given.
 */
export function slice<T>(read: T[], { size, backwards, after, before }: PageRequest): Page<T> {
  const more = read.length > size
  const items = more ? read.slice(0, size) : read
  return backwards
    ? { items: items.toReversed(), hasNextPage: before !== null, hasPreviousPage: more }
    : { items, hasNextPage: more, hasPreviousPage: after !== null }
}
