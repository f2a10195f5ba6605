// The size of a tree of plain objects and lists: an answer, or data that was read.

import { JsonText } from '../../../runtime/json/text.ts'

/**
 * The number of values, and their size in bytes: the UTF-16 units of texts and of JSON, the bytes of binary data,
 * and LEAF_BYTES for any other leaf.
 */
type Extent = { values: number; bytes: number }

/** Size that is counted for a number, boolean, date or null, in bytes. */
const LEAF_BYTES = 8

/**
 * Counts the values of a tree and their bytes. Stops when one of the two counts exceeds its maximum. Does not recurse,
 * because a JSON value may be nested deeply.
 */
export function extentOf(tree: unknown, max: Extent): Extent {
  const stack: unknown[] = [tree]
  let values = 0
  let bytes = 0
  while (stack.length > 0 && values <= max.values && bytes <= max.bytes) {
    const value = stack.pop()
    values += 1
    if (typeof value === 'string') bytes += value.length
    else if (typeof value !== 'object' || value === null || value instanceof Date) bytes += LEAF_BYTES
    else if (ArrayBuffer.isView(value)) bytes += value.byteLength
    else if (Array.isArray(value)) for (const item of value) stack.push(item)
    else if (value instanceof JsonText) {
      values += value.values - 1
      bytes += value.text.length
    } else if (value instanceof Map) stack.push(...value.values())
    else for (const key in value) stack.push((value as Record<string, unknown>)[key])
  }
  return { values, bytes }
}
