// Counts operations for /metrics: their durations by kind and outcome, and the errors by code. Documents, operation
// names and messages are not kept, because clients choose them.

import { getOperationAST, GraphQLError, type DocumentNode, type ExecutionResult } from 'graphql'
import { isAsyncIterable, type Plugin } from 'graphql-yoga'
import { counters, observe, refused, type OperationKind, type OperationOutcome } from '../../runtime/counters.ts'
import { DomainError } from '../../errors.ts'

/** Codes of errors of the server, which the client cannot avoid. */
const FAILURES = new Set(['INTERNAL_SERVER_ERROR', 'UNAVAILABLE', 'READ_TIMEOUT', 'SERVER_BUSY'])

/** Returns the code that the client receives for the error. The error need not be masked yet. */
function codeOf(error: unknown): string {
  if (!(error instanceof GraphQLError)) return error instanceof DomainError ? error.code : 'INTERNAL_SERVER_ERROR'
  const { extensions, originalError } = error
  if (extensions.code && extensions.code !== 'BAD_USER_INPUT') return String(extensions.code)
  return originalError ? codeOf(originalError) : 'INVALID_INPUT'
}

/** Counts one operation and its errors. `started` is a time of `performance.now()`. */
export function measured(kind: OperationKind, started: number, errors: readonly unknown[] = []): void {
  let outcome: OperationOutcome = 'ok'
  for (const error of errors) {
    const code = codeOf(error)
    refused(code)
    if (FAILURES.has(code)) outcome = 'failed'
    else if (outcome === 'ok') outcome = 'refused'
  }
  observe(counters.operations[kind][outcome], (performance.now() - started) / 1000)
}

/** A yoga plugin that measures queries and mutations. It must be the first, to include refusals of other plugins. */
export const useMeasures = (): Plugin => ({
  onExecute({ args: { document, operationName } }) {
    const kind = getOperationAST(document, operationName)?.operation
    if (!kind) return
    const started = performance.now()
    return {
      onExecuteDone({ result }) {
        if (!isAsyncIterable(result)) measured(kind, started, (result as ExecutionResult).errors)
      },
    }
  },
})

/** A yoga plugin that counts invalid documents. It must be the last, to count the error that the client receives. */
export const useDocumentCounts = (): Plugin => ({
  onParse:
    () =>
    ({ result }: { result: DocumentNode | Error | null }) => {
      if (!(result instanceof Error)) return
      refused(String((result as Partial<GraphQLError>).extensions?.code ?? 'GRAPHQL_PARSE_FAILED'))
    },
  onValidate:
    () =>
    ({ valid }) => {
      if (!valid) refused('GRAPHQL_VALIDATION_FAILED')
    },
})
