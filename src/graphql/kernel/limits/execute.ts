// Rejects operations that are too costly or whose principal has too few points left, and executes the events of
// subscriptions within the limits.

import {
  getOperationAST,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLError,
  type GraphQLSchema,
} from 'graphql'
import type { Viewer } from '../../../domain/kernel/view.ts'
import type { Deps } from '../../../domain/deps.ts'
import type { RequestContext } from '../request.ts'
import { executeOperation } from '../execution/executor.ts'
import { rootFields } from '../execution/selection.ts'
import { costOf } from './cost.ts'
import { documentError } from './document.ts'
import { rateLimited, tooCostly, type OperationLimits } from './limits.ts'

/** Number of values that cost one point of the rate limit, in addition to one point for each field of the root type. */
const VALUES_PER_POINT = 1_000

type Estimate = ReturnType<typeof estimate>

type Operation = {
  schema: GraphQLSchema
  document: DocumentNode
  operationName?: string | null
  variableValues?: ExecutionArgs['variableValues']
}

/**
 * Returns the number of values that the operation's answer can have, and the error if it exceeds a limit. A document
 * without an operation of that name has no error: the executor rejects it. The document must be valid.
 */
export function estimate({ schema, document, operationName, variableValues }: Operation, limits: OperationLimits) {
  const operation = getOperationAST(document, operationName)
  if (!operation) return { operation, values: 0, error: null }
  const error = documentError(document, limits)
  if (error) return { operation, values: 0, error }
  const values = costOf(schema, document, operation, variableValues)
  return { operation, values, error: values > limits.values ? tooCostly('values', limits.values, values) : null }
}

/**
 * Returns the error of an operation that is too costly, or whose principal has too few points left; null for an
 * operation that may run. Returns a promise only if a rate limit is configured.
 */
export function admit(
  { rates }: Pick<Deps, 'rates'>,
  principal: Viewer,
  requested: Operation,
  { operation, values, error }: Estimate,
): GraphQLError | null | Promise<GraphQLError | null> {
  if (error || !operation || !rates) return error
  const points = [...rootFields(requested.document, operation)].length + Math.floor(values / VALUES_PER_POINT)
  return rates
    .take(`${principal.tenant}\0${principal.actor}`, points)
    .then((retryAfterMs) => (retryAfterMs === null ? null : rateLimited(rates.points, Math.ceil(retryAfterMs / 1000))))
}

/** Returns the error of a subscription's document that is too costly for one event; null if it may be executed. */
export const costError = (operation: Operation, limits: OperationLimits): GraphQLError | null =>
  estimate(operation, limits).error

/**
 * Executes a subscription's document with one event as the root value. `costError` has accepted the document.
 */
export function executeEvent(
  args: ExecutionArgs & { contextValue: RequestContext },
): Promise<ExecutionResult> | ExecutionResult {
  return args.contextValue.work.within('subscription', () => executeOperation(args))
}
