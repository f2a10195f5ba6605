// Result unions. A mutation returns `<verb>Result`: its payload, `<verb>Payload`, or one of its expected errors. A
// query with expected errors other than NotFound also has a result union.

import type { DomainError } from '../../errors.ts'
import { builder } from './builder.ts'

type ErrorClass = new (...args: never[]) => DomainError

/**
 * Returns the `errors` option of a field, which makes its type the union `<verb>Result` of its own type and the errors.
 */
export function orErrors(verb: string, types: ErrorClass[], description = 'The payload, or an error.') {
  return { types, union: { name: `${verb}Result`, description } }
}

/** Returns the reference of `<verb>Payload`, the type that a mutation returns on success. */
export const payload = <Shape extends object>(verb: string) => builder.objectRef<Shape>(`${verb}Payload`)
