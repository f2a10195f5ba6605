// The result of an operation that returns its errors as members of a union, sent by `request` of the client.

import { ColloquyError, type Issue } from '../../client/index.ts'

/** Selects the errors of a result. */
export const USER_ERROR = '... on UserError { code message } ... on InvalidInput { issues { path message } }'

type UserError = { code?: string; message?: string; issues?: Issue[] }

/** Returns the payload of a result. @throws ColloquyError if the result is an error */
export function payloadOf<Value>(result: Value): Value {
  const { code, message, issues = [] } = (result ?? {}) as UserError
  if (code === undefined) return result
  throw new ColloquyError(code, message ?? code, { issues })
}
