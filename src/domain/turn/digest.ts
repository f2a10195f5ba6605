// The digest of a request, by which repeated calls with different content are detected. Pure.

import { createHash } from 'node:crypto'

/** Returns JSON with sorted keys and without null fields, so that equal values have the same text. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner) && !(inner instanceof Date)
      ? Object.fromEntries(
          Object.entries(inner)
            .filter(([, v]) => v !== undefined && v !== null)
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        )
      : inner,
  )
}

/** Digest that detects different content for the same clientId: 32 hex digits of SHA-256 over the canonical input. */
export function digest(input: unknown): string {
  return createHash('sha256').update(canonical(input)).digest('hex').slice(0, 32)
}
