// Result unions: a mutation returns the object it wrote or one of its expected errors. A query with expected errors other
// than NotFound has a result union, too.

import type { DomainError } from '../errors.ts'

type ErrorClass = new (...args: never[]) => DomainError

/** The `errors` option of such a field: its type becomes the union `<verb>Result` of its own type and these errors. */
export function orErrors(verb: string, description: string, types: ErrorClass[]) {
  return { types, union: { name: `${verb}Result`, description } }
}
