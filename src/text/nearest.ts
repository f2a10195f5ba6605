// Finds the known name that a misspelt name probably means. Pure.

/** Maximum number of edits, as a share of the length of the known name. */
const MAX_EDITS = 0.4

/**
 * Returns the number of edits from `a` to `b`: characters to insert, delete or replace, and adjacent characters to swap
 * (optimal string alignment).
 */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= a.length; i++) {
    const [above, row] = [rows[i - 1]!, [i]]
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwapped) row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1)
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}

/** Maximum length of a name that is compared, in UTF-16 units. */
const MAX_LENGTH = 100

/** Returns the known name that is most similar to the given one, ignoring case; null if none is similar. */
export function nearest(given: string, known: Iterable<string>): string | null {
  if (given.length > MAX_LENGTH) return null
  let best: { name: string; edits: number } | null = null
  for (const name of known) {
    const edits = distance(given.toLowerCase(), name.toLowerCase())
    if (edits <= name.length * MAX_EDITS && edits < (best?.edits ?? Infinity)) best = { name, edits }
  }
  return best?.name ?? null
}
