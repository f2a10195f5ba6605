// What a mutation can answer: what it wrote, or one of the failures that are expected of it. Other failures are bugs.
// A query that can fail in more ways than by finding nothing answers so too.

import type { DomainError } from '../errors.ts'

type ErrorClass = new (...args: never[]) => DomainError

/** The `errors` option of such a field: the union `<verb>Result`, of what the field gives and of those errors. */
export function orErrors(verb: string, description: string, types: ErrorClass[]) {
  return { types, union: { name: `${verb}Result`, description } }
}
