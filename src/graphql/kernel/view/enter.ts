// Sets the viewer of an operation before anything is executed: the actor in `as`, or otherwise the principal. The yoga
// plugin does so for every operation that yoga executes.

import { getOperationAST, GraphQLError, type DocumentNode, type ExecutionArgs, type GraphQLSchema } from 'graphql'
import { z } from 'zod'
import { authorizeActing } from '../../../domain/kernel/rights/authorize.ts'
import { name, parse } from '../../../domain/kernel/input.ts'
import { isRemembered, requireKnownActor } from '../../../domain/kernel/rights/known-actor.ts'
import { actAs } from '../../../domain/kernel/view.ts'
import { toGraphQLError } from '../errors.ts'
import type { RequestContext } from '../request.ts'
import { noteActing, noteRefusal } from '../rights/rights.ts'
import { rootFields } from '../execution/selection.ts'
import { actorOf } from './named.ts'
import type { Plugin } from 'graphql-yoga'

type Operation = {
  schema: GraphQLSchema
  document: DocumentNode
  operationName?: string | null
  variableValues?: ExecutionArgs['variableValues']
}

const given = z.object({ as: name })

/**
 * Sets `context.viewer`. Returns null, or the error that refuses the operation: its root fields name different actors,
 * the credential lacks the right to act as another actor, or the actor is unknown. Reads only for an actor that is not
 * remembered. The document must be valid.
 */
export function enterView(
  context: RequestContext,
  executed: Operation,
): GraphQLError | null | Promise<GraphQLError | null> {
  const { document, operationName } = executed
  const operation = getOperationAST(document, operationName)
  if (!operation) return null
  const { principal, reading, work } = context
  try {
    const { actor, mayBeNew } = actorOf(executed, operation, principal.actor)
    if (actor === principal.actor) return null
    const viewer = actAs(principal, parse(given, { as: actor }).as)
    context.viewer = viewer
    const fields = new Set([...rootFields(document, operation)].map(({ name: { value } }) => value))
    const refusal = refusalOfActing(context, fields)
    if (refusal) return refusal
    const enter = () => {
      noteActing(context, fields)
      return null
    }
    if (mayBeNew || isRemembered(reading, viewer)) return enter()
    return work.read(() => requireKnownActor(reading, viewer)).then(enter, refusalOf)
  } catch (error) {
    return refusalOf(error)
  }
}

/**
 * Returns the error of a credential that may not act as another actor, and notes it in the audit log; null if it may.
 */
function refusalOfActing(context: RequestContext, fields: ReadonlySet<string>): GraphQLError | null {
  try {
    authorizeActing(context.principal)
    return null
  } catch (error) {
    for (const field of fields) noteRefusal(context, field, error)
    return refusalOf(error)
  }
}

/** @throws an unexpected error */
function refusalOf(error: unknown): GraphQLError {
  const refusal = error instanceof GraphQLError ? error : toGraphQLError(error)
  if (!refusal) throw error
  return refusal
}

/** The plugin. It must come after the plugin of the limits, so that an operation beyond them costs no read of the actor. */
export const useView = (): Plugin<RequestContext> => ({
  onExecute({ args, context, setResultAndStopExecution }) {
    const stop = (error: GraphQLError | null) => {
      if (error) setResultAndStopExecution({ errors: [error] })
    }
    const error = enterView(context, args)
    return error instanceof Promise ? error.then(stop) : stop(error)
  },
  async onSubscribe({ args, setResultAndStopExecution }) {
    const error = await enterView(args.contextValue, args)
    if (error) setResultAndStopExecution({ errors: [error] })
  },
})
