// The client of an MCP request: executes its verbs like operations of the GraphQL API.

import type { ServerResponse } from 'node:http'
import { answerOf, callVerb, operationOf, variablesOf, VerbFailed, type Execute } from '../../../faces/call.ts'
import type { Caller, ConversationEvent } from '../../../faces/mcp/caller.ts'
import { VERBS } from '../../../faces/verbs.ts'
import { OperationTypeNode } from 'graphql'
import type { Viewer } from '../../../domain/kernel/view.ts'
import { executeDocument, subscribeDocument } from '../../graphql/execute.ts'
import { isIterable } from '../../live/operation.ts'
import type { Yoga } from '../../graphql/yoga.ts'

/** Maximum size of the answer of a query, in bytes. A model cannot read more. */
const MAX_ANSWER_BYTES = 1024 * 1024

const tooLarge = (bytes: number) =>
  new VerbFailed(
    'LIMIT_REACHED',
    `The answer has about ${Math.ceil(bytes / 1024)} KiB; the limit is ${MAX_ANSWER_BYTES / 1024} KiB. Ask for less.`,
    { limit: MAX_ANSWER_BYTES },
  )

/** Yields the results until the signal is aborted. */
async function* untilAborted<Value>(values: AsyncIterable<Value>, signal: AbortSignal): AsyncGenerator<Value, void> {
  const iterator = values[Symbol.asyncIterator]()
  const stop = () => void iterator.return?.().catch(() => {})
  signal.addEventListener('abort', stop, { once: true })
  try {
    if (signal.aborted) return
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

/**
 * @param response the response of the request
 * @param onFollow called when a call waits for events, which must not count as a running operation
 */
export function createCaller(yoga: Yoga, viewer: Viewer, response: ServerResponse, onFollow: () => void): Caller {
  const { principal } = viewer
  const [conversationId, ...others] = principal?.conversations ?? []

  return {
    conversationId: others.length === 0 ? (conversationId ?? null) : null,
    rights: principal?.rights ?? null,
    async call(verb, input) {
      let bytes = 0
      const execute: Execute = async (document, query, variables) => {
        const executed = await executeDocument(yoga, viewer, { document, params: { query, variables }, response })
        bytes = executed.bytes
        return executed.result
      }
      const answer = await callVerb(verb, input, execute)
      if (bytes > MAX_ANSWER_BYTES && operationOf(verb).kind === OperationTypeNode.QUERY) throw tooLarge(bytes)
      return answer
    },
    async *follow(followed, signal) {
      const verb = 'conversationEvents'
      const params = { query: VERBS[verb].document, variables: variablesOf(verb, followed) }
      if (signal.aborted) return
      const outcome = await subscribeDocument(yoga, viewer, { document: operationOf(verb).document, params, response })
      if (!isIterable(outcome)) return void answerOf(verb, followed, outcome)
      onFollow()
      for await (const result of untilAborted(outcome, signal)) {
        yield answerOf(verb, followed, result) as ConversationEvent
      }
    },
  }
}
