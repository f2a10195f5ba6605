// Opaque cursors: an item's position in a list, encoded as text. Each list has its own format.

import { InvalidInput } from '../../errors.ts'

export type CursorFormat<Position> = {
  encode(position: Position): string
  /** @throws InvalidInput at `argument` for text that is not in this format */
  decode(cursor: string, argument: string): Position
}

/**
 * Creates the cursor format of one list.
 * @param print formats a position as text
 * @param pattern matches printed positions; anchor it at both ends, so that it rejects cursors of other lists
 * @param read converts the groups of a match to a position; returns null if a number is out of range
 * @param list name of the list in error messages; "this list" by default
 */
export const cursorFormat = <Position>(
  print: (position: Position) => string,
  pattern: RegExp,
  read: (...groups: string[]) => Position | null,
  list = 'this list',
): CursorFormat<Position> => ({
  encode: (position) => Buffer.from(print(position)).toString('base64url'),
  decode(cursor, argument) {
    const groups = pattern.exec(Buffer.from(cursor, 'base64url').toString())?.slice(1)
    const position = groups ? read(...groups) : null
    if (position === null) throw InvalidInput.at(argument, `${JSON.stringify(cursor)} is not a cursor of ${list}`)
    return position
  },
})
