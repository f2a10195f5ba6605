// Sets the viewer of an operation before anything is executed: the actor in `as`, or otherwise the principal.

import {
  getOperationAST,
  GraphQLError,
  OperationTypeNode,
  type DocumentNode,
  type ExecutionArgs,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql'
import { z } from 'zod'
import { authorizeActing } from '../../domain/authorize.ts'
import { auditRecord } from '../../domain/audit/line.ts'
import { name, parse } from '../../domain/input.ts'
import { isRemembered, requireKnownActor } from '../../domain/known-actor.ts'
import { actAs, type Viewer } from '../../domain/view.ts'
import { toGraphQLError } from '../errors.ts'
import type { RequestContext } from '../request.ts'
import { rootFields } from '../root-fields.ts'
import { actorOf } from './named.ts'

type Operation = {
  schema: GraphQLSchema
  document: DocumentNode
  operationName?: string | null
  variableValues?: ExecutionArgs['variableValues']
}

/** Maximum number of root fields that a line of the audit log names. */
const MAX_NOTED = 10

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
    const viewer = actAs(principal, parse(given, { as: actor }).as)
    noteActing(context, viewer, document, operation)
    context.viewer = viewer
    if (mayBeNew || isRemembered(reading, viewer)) return null
    return work.read(() => requireKnownActor(reading, viewer)).then(() => null, refusalOf)
  } catch (error) {
    return refusalOf(error)
  }
}

/**
 * Checks that the credential may act as the viewer, and notes queries, subscriptions and refusals in the audit log; the
 * journal records what mutations write. Without authentication, nobody is known who could be noted.
 * @throws NotAllowed
 */
function noteActing(
  { principal, deps: { audit } }: RequestContext,
  viewer: Viewer,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): void {
  if (principal.principal === undefined) return
  const fields = [...rootFields(document, operation)].map((field) => field.name.value)
  const details = { operation: operation.operation, fields: [...new Set(fields)].sort().slice(0, MAX_NOTED).join(' ') }
  try {
    authorizeActing(principal)
  } catch (error) {
    audit.note(auditRecord(viewer, 'actAs', [], { outcome: 'DENIED', details }))
    throw error
  }
  if (operation.operation !== OperationTypeNode.MUTATION) audit.note(auditRecord(viewer, 'actAs', [], { details }))
}

/** @throws an unexpected error */
function refusalOf(error: unknown): GraphQLError {
  const refusal = error instanceof GraphQLError ? error : toGraphQLError(error)
  if (!refusal) throw error
  return refusal
}
