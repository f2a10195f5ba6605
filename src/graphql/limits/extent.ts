// The size of a tree of plain objects and lists: an answer, or data that was read.

/** The number of values, and their length: the UTF-16 units of texts, and LEAF_BYTES for other leaves. */
type Extent = { values: number; bytes: number }

/** Length that is counted for a number, boolean, date or null, in bytes. */
const LEAF_BYTES = 8

/**
 * Counts the values of a tree and the UTF-16 units of its texts. Stops when a number exceeds its maximum. Does not
 * recurse, because a tree of JSON may be deep.
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
    else if (value instanceof Map) stack.push(...value.values())
    else for (const key in value) stack.push((value as Record<string, unknown>)[key])
  }
  return { values, bytes }
}
