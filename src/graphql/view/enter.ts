// Sets the viewer of an operation before anything is executed: the actor in `as`, or otherwise the principal.

import { getOperationAST, GraphQLError, type DocumentNode, type ExecutionArgs, type GraphQLSchema } from 'graphql'
import { z } from 'zod'
import { authorizeActing } from '../../domain/authorize.ts'
import { name, parse } from '../../domain/input.ts'
import { isRemembered, requireKnownActor } from '../../domain/known-actor.ts'
import { actAs } from '../../domain/view.ts'
import { toGraphQLError } from '../errors.ts'
import type { RequestContext } from '../request.ts'
import { actorOf } from './named.ts'

type Operation = {
  schema: GraphQLSchema
  document: DocumentNode
  operationName?: string | null
  variableValues?: ExecutionArgs['variableValues']
}

const given = z.object({ as: name })

/**
 * Sets `context.viewer`. Returns null, or the error that refuses the operation: its root fields name different actors,
 * the credential lacks the right to act as another actor, or the actor is unknown. Reads only for an actor that is not remembered. The document must be valid.
 */
export function enterView(
  context: RequestContext,
  { schema, document, operationName, variableValues }: Operation,
): GraphQLError | null | Promise<GraphQLError | null> {
  const operation = getOperationAST(document, operationName)
  if (!operation) return null
  const { principal, reading, work } = context
  try {
    const { actor, mayBeNew } = actorOf(schema, document, operation, variableValues, principal.actor)
    if (actor === principal.actor) return null
    authorizeActing(principal)
    const viewer = actAs(principal, parse(given, { as: actor }).as)
    context.viewer = viewer
    if (mayBeNew || isRemembered(reading, viewer)) return null
    return work.read(() => requireKnownActor(reading, viewer)).then(() => null, refusalOf)
  } catch (error) {
    return refusalOf(error)
  }
}

/** @throws an unexpected error */
function refusalOf(error: unknown): GraphQLError {
  const refusal = error instanceof GraphQLError ? error : toGraphQLError(error)
  if (!refusal) throw error
  return refusal
}
