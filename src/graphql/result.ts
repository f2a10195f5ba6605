// Result unions: a mutation returns the object that it wrote or one of its expected errors. A query with expected
// errors other than NotFound also has a result union.

import type { DomainError } from '../errors.ts'

type ErrorClass = new (...args: never[]) => DomainError

/**
 * Returns the `errors` option of a field, which makes its type the union `<verb>Result` of its own type and the errors.
 */
export function orErrors(verb: string, description: string, types: ErrorClass[]) {
  return { types, union: { name: `${verb}Result`, description } }
}
