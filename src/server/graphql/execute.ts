// Executes an operation over HTTP with yoga's plugins, without yoga's Request and Response.

import type { ServerResponse } from 'node:http'
import type { DocumentNode, ExecutionResult } from 'graphql'
import type { Viewer } from '../../domain/kernel/view.ts'
import type { RequestContext } from '../../graphql/kernel/request.ts'
import type { Parameters } from '../live/operation.ts'
import type { Yoga } from './yoga.ts'

/**
 * Executes the document, which must be valid. Returns the result, and the approximate number of bytes of its JSON.
 * @param params the parameters of the request; `query` is the document's text
 */
export async function executeDocument(
  yoga: Yoga,
  viewer: Viewer,
  response: ServerResponse,
  document: DocumentNode,
  params: Parameters,
): Promise<{ result: ExecutionResult; bytes: number }> {
  const { schema, contextFactory, execute } = yoga.getEnveloped({ viewer, params, res: response })
  const contextValue = (await contextFactory()) as RequestContext
  const { operationName, variables: variableValues } = params
  const result = (await execute({ schema, document, operationName, variableValues, contextValue })) as ExecutionResult
  return { result, bytes: contextValue.work.bytesAnswered }
}

/** Executes a subscription, whose document must be valid. Returns its results, or the result with the errors. */
export async function subscribeDocument(
  yoga: Yoga,
  viewer: Viewer,
  response: ServerResponse,
  document: DocumentNode,
  params: Parameters,
): Promise<AsyncIterable<ExecutionResult> | ExecutionResult> {
  const { schema, contextFactory, subscribe } = yoga.getEnveloped({ viewer, params, res: response })
  const contextValue = (await contextFactory()) as RequestContext
  const { operationName, variables: variableValues } = params
  return (await subscribe({ schema, document, operationName, variableValues, contextValue })) as
    | AsyncIterable<ExecutionResult>
    | ExecutionResult
}
