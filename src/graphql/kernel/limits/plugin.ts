// The yoga plugin that applies the limits to every operation that yoga parses or executes. It must be the last plugin
// that replaces the executor, so that the whole execution is limited.

import { GraphQLError, parse, type ExecutionArgs, type ExecutionResult, type Source } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { Deps } from '../../../domain/deps.ts'
import type { RequestContext } from '../request.ts'
import { documentError } from './document.ts'
import { admit, estimate } from './execute.ts'
import { tooCostly, type OperationLimits } from './limits.ts'

/** Minimum estimated number of values of an answer that waits for the tenant's gate `answers`. @internal */
export const LARGE_ANSWER_VALUES = 750

/** Returns the error to report for a document that cannot be parsed. */
function parseError(error: Error, limits: OperationLimits): Error {
  // The parser calls itself for each level of a document, so a very deep document exceeds the call stack.
  if (error instanceof RangeError) return tooCostly('depth', limits.depth, null)
  const isTooLong = error instanceof GraphQLError && /contains more tha[nt] \d+ tokens/.test(error.message)
  return isTooLong ? tooCostly('tokens', limits.tokens, null) : error
}

/** Removes suggested schema names ("Did you mean …?") from errors without a path: validation and variable errors. */
function hideSuggestions(errors: readonly Error[] = []): void {
  for (const error of errors)
    if (!(error as GraphQLError).path) error.message = error.message.replace(/ Did you mean .*\?$/s, '')
}

const hideSuggestionsOf = ({ result }: { result: unknown }) => hideSuggestions((result as ExecutionResult).errors)

export function useLimits(
  deps: Pick<Deps, 'rates' | 'gates' | 'activity'>,
  limits: OperationLimits,
): Plugin<RequestContext> {
  return {
    onParse({ setParseFn }) {
      setParseFn((source: string | Source) => parse(source, { maxTokens: limits.tokens }))
      return ({ result, replaceParseResult }) => {
        const error = result instanceof Error ? parseError(result, limits) : documentError(result, limits)
        if (error && error !== result) replaceParseResult(error)
      }
    },
    onValidate() {
      return ({ result }) => {
        if (!limits.introspection) hideSuggestions(result)
      }
    },
    onExecute({ args, context, executeFn, setExecuteFn, setResultAndStopExecution }) {
      const { work, principal } = context
      deps.activity.note(principal.tenant)
      const estimated = estimate(args, limits)
      const kind = estimated.operation?.operation ?? 'query'
      const isLarge = kind === 'query' && estimated.values >= LARGE_ANSWER_VALUES
      const proceed = (error: GraphQLError | null) => {
        if (error) return setResultAndStopExecution({ errors: [error] })
        const run = (all: ExecutionArgs) => work.within(kind, () => executeFn(all))
        setExecuteFn(isLarge ? (all) => deps.gates.answers.run(principal.tenant, () => run(all)) : run)
      }
      const error = admit(deps, principal, args, estimated)
      const done = limits.introspection ? undefined : { onExecuteDone: hideSuggestionsOf }
      return error instanceof Promise ? error.then(proceed).then(() => done) : (proceed(error), done)
    },
    async onSubscribe({ args, setResultAndStopExecution }) {
      const { work, principal } = args.contextValue as RequestContext
      const error = await admit(deps, principal, args, estimate(args, limits))
      if (error) return setResultAndStopExecution({ errors: [error] })
      return {
        onSubscribeResult: () => ({
          onNext({ result, setResult }) {
            setResult(work.checked(result))
            work.renew()
          },
        }),
      }
    },
  }
}
