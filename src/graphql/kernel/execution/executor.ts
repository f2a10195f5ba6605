// Executes the operations of all transports, with graphql-js. Lists that Postgres has rendered as JSON do not pass through
// the executor: they are added to its result.

import { execute, subscribe, type ExecutionArgs, type ExecutionResult } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { RequestContext } from '../request.ts'

/** Replaces the empty lists in the result by those that were rendered, and forgets them. */
function withRendered(result: ExecutionResult, { rendered }: RequestContext): ExecutionResult {
  for (const { path, list } of rendered!.splice(0)) {
    const keys: (string | number)[] = []
    for (let at = path.prev; at; at = at.prev) keys.push(at.key)
    let parent: Record<string | number, unknown> | null | undefined = result.data
    for (let key = keys.pop(); key !== undefined && parent; key = keys.pop()) parent = parent[key] as typeof parent
    // An error may have replaced the object with the list by null.
    if (parent) parent[path.key] = list
  }
  return result
}

/** Executes a query or a mutation; or a subscription's document, with one event as the root value. */
export function executeOperation(args: ExecutionArgs): Promise<ExecutionResult> | ExecutionResult {
  const context = args.contextValue as RequestContext
  context.rendered = []
  const result = execute(args)
  return result instanceof Promise
    ? result.then((finished) => withRendered(finished, context))
    : withRendered(result, context)
}

/** The yoga plugin. It must be the first plugin that replaces the executor; the others call the one before them. */
export const useExecutor = (): Plugin<RequestContext> => ({
  onExecute({ setExecuteFn }) {
    setExecuteFn(executeOperation)
  },
  onSubscribe({ args: { contextValue }, setSubscribeFn }) {
    contextValue.rendered = []
    setSubscribeFn(subscribe)
    return {
      onSubscribeResult: () => ({
        onNext({ result, setResult }) {
          setResult(withRendered(result, contextValue))
        },
      }),
    }
  },
})
