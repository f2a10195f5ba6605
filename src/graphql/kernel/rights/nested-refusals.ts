// Records in the audit log that a credential was refused a field below the root fields; rights.ts records refusals of
// root fields. Only errors of results are read, so operations without errors cost nothing.

import { GraphQLError, type ExecutionResult } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { NotAllowed } from '../../../errors.ts'
import { auditRecord, type AuditDetails } from '../../../domain/kernel/audit/line.ts'
import type { RequestContext } from '../request.ts'

/** Returns the NotAllowed that caused the error; null for another cause. */
function refusalIn(error: unknown): NotAllowed | null {
  let cause = error
  while (cause instanceof GraphQLError) cause = cause.originalError
  return cause instanceof NotAllowed ? cause : null
}

/**
 * Notes the refusals among the errors of a result, except those of root fields. A line names the verb, or the field if
 * no verb refused it; aliases, which clients choose, are not recorded.
 */
function noteNestedRefusals(
  { deps, viewer }: Pick<RequestContext, 'deps' | 'viewer'>,
  errors: readonly GraphQLError[] | undefined,
): void {
  if (!errors || !viewer.principal) return
  for (const error of errors) {
    const refusal = error.path && error.path.length > 1 ? refusalIn(error) : null
    if (!refusal) continue
    const [node] = error.nodes ?? []
    const field = node?.kind === 'Field' ? node.name.value : 'unknown'
    const details: AuditDetails = refusal.right === null ? { field } : { field, right: refusal.right }
    deps.audit.note(auditRecord(viewer, refusal.verb ?? field, [], { outcome: 'DENIED', details }))
  }
}

/**
 * The yoga plugin that notes the refusals of queries and mutations. Subscriptions need no such plugin: the fields of
 * their events need only the right `read`, and so does the subscription itself.
 */
export const useNestedRefusals = (): Plugin<RequestContext> => ({
  onExecute: () => ({
    onExecuteDone({ args, result }) {
      noteNestedRefusals(args.contextValue, (result as ExecutionResult).errors)
    },
  }),
})
