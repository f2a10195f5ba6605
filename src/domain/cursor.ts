// Opaque cursors: an item's place in a list, as text that clients hand back unread. Each list has one format.

import { InvalidInput } from '../errors.ts'

export type CursorFormat<Place> = {
  encode(place: Place): string
  /** @throws InvalidInput, at `argument`, for text that this format did not make */
  decode(cursor: string, argument: string): Place
}

/**
 * A format for one list.
 * @param print the place as text
 * @param pattern what printed places look like, anchored at both ends, so that cursors of other lists are refused
 * @param read the place out of a match of the pattern; null where its numbers are out of range
 * @param list what an error calls the list
 */
export const cursorFormat = <Place>(
  print: (place: Place) => string,
  pattern: RegExp,
  read: (...groups: string[]) => Place | null,
  list = 'this list',
): CursorFormat<Place> => ({
  encode: (place) => Buffer.from(print(place)).toString('base64url'),
  decode(cursor, argument) {
    const groups = pattern.exec(Buffer.from(cursor, 'base64url').toString())?.slice(1)
    const place = groups ? read(...groups) : null
    if (place === null) throw InvalidInput.at(argument, `${JSON.stringify(cursor)} is not a cursor of ${list}`)
    return place
  },
})
