// Executes an operation over HTTP with yoga's plugins, without yoga's Request and Response.

import type { ServerResponse } from 'node:http'
import type { DocumentNode, ExecutionResult } from 'graphql'
import type { Viewer } from '../../domain/kernel/view.ts'
import type { RequestContext } from '../../graphql/kernel/request.ts'
import type { Parameters } from '../live/operation.ts'
import type { Yoga } from './yoga.ts'

/**
 * The operation of a request: its valid document, the parameters of the request, whose `query` is the document's text,
 * and the response that waits for the result.
 */
type RequestedOperation = { document: DocumentNode; params: Parameters; response: ServerResponse }

/** Executes the operation. Returns the result, and the approximate number of bytes of its JSON. */
export async function executeDocument(
  yoga: Yoga,
  viewer: Viewer,
  { document, params, response }: RequestedOperation,
): Promise<{ result: ExecutionResult; bytes: number }> {
  const { schema, contextFactory, execute } = yoga.getEnveloped({ viewer, params, res: response })
  const contextValue = (await contextFactory()) as RequestContext
  const { operationName, variables: variableValues } = params
  const result = (await execute({ schema, document, operationName, variableValues, contextValue })) as ExecutionResult
  return { result, bytes: contextValue.work.bytesAnswered }
}

/** Executes a subscription. Returns its results, or the result with the errors. */
export async function subscribeDocument(
  yoga: Yoga,
  viewer: Viewer,
  { document, params, response }: RequestedOperation,
): Promise<AsyncIterable<ExecutionResult> | ExecutionResult> {
  const { schema, contextFactory, subscribe } = yoga.getEnveloped({ viewer, params, res: response })
  const contextValue = (await contextFactory()) as RequestContext
  const { operationName, variables: variableValues } = params
  return (await subscribe({ schema, document, operationName, variableValues, contextValue })) as
    | AsyncIterable<ExecutionResult>
    | ExecutionResult
}
