// Refuses a body of more than `bodyBytes` unless its operation selects only batch mutations. body-gate.ts admits such a
// body by the header `x-batch` before its content is known, so this plugin checks the operation after parsing.

import type { ServerResponse } from 'node:http'
import { getOperationAST, GraphQLError, Kind, type DocumentNode } from 'graphql'
import type { Plugin } from 'graphql-yoga'

/** Mutations that write many items at once. Only they may have a body of more than `bodyBytes`. */
const BATCH_MUTATIONS = ['appendTurns', 'recordFacts', 'continueImport'] as const

/** Whether the operation selects only batch mutations. False for an operation with fragments. */
function isBatch(document: DocumentNode, operationName?: string | null): boolean {
  const operation = getOperationAST(document, operationName)
  const names: readonly string[] = BATCH_MUTATIONS
  return (
    operation?.selectionSet.selections.every((each) => each.kind === Kind.FIELD && names.includes(each.name.value))
    ?? false
  )
}

export function useBatchBodies(bodyBytes: number): Plugin<{ res?: ServerResponse }> {
  return {
    onExecute({ args, setResultAndStopExecution }) {
      // Over a WebSocket, there is no response, and messages have another limit.
      const response = (args.contextValue as { res?: ServerResponse }).res
      const length = Number(response?.req.headers['content-length'] ?? 0)
      if (length <= bodyBytes || isBatch(args.document, args.operationName)) return
      const message =
        `The body has ${length} bytes; only operations that select nothing but ${BATCH_MUTATIONS.join(', ')} `
        + `may have more than ${bodyBytes}.`
      const extensions = { code: 'BODY_TOO_LARGE', limit: 'bodyBytes', maximum: bodyBytes, actual: length }
      Object.defineProperty(extensions, 'http', { value: { status: 413 }, enumerable: false })
      setResultAndStopExecution({ errors: [new GraphQLError(message, { extensions })] })
    },
  }
}
