// Pages as the Relay connection specification has them, both ways. Pure: what to ask for, and what came of it.

import { InvalidInput } from '../errors.ts'

export type Paging = { first?: number | null; after?: string | null; last?: number | null; before?: string | null }

/** Items of a page that asks for no number. */
const DEFAULT_SIZE = 50

export type Asked = { size: number; backwards: boolean; after: string | null; before: string | null }

/**
 * What the arguments ask for.
 * @throws InvalidInput for both first and last, for one that is negative or above `most`
 */
export function paging(args: Paging, most: number): Asked {
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
 * The page out of one item more than it holds, read in its direction. The side it was not read towards has more where a
 * cursor cuts it off.
 */
export function slice<T>(read: T[], { size, backwards, after, before }: Asked): Page<T> {
  const more = read.length > size
  const items = more ? read.slice(0, size) : read
  return backwards
    ? { items: items.toReversed(), hasNextPage: before !== null, hasPreviousPage: more }
    : { items, hasNextPage: more, hasPreviousPage: after !== null }
}
