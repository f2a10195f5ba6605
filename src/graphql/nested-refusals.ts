// Records in the audit log what credentials are refused below the root fields, where rights.ts does not see it. It reads
// the errors of results, so operations without errors cost nothing.

import { GraphQLError, type ExecutionResult } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { NotAllowed } from '../errors.ts'
import { auditRecord, type AuditDetails } from '../domain/audit/line.ts'
import type { RequestContext } from './request.ts'

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
 * The yoga plugin that notes the refusals of queries and mutations. The fields of events need no right but `read`, which
 * their subscription needs too.
 */
export const useNestedRefusals = (): Plugin<RequestContext> => ({
  onExecute: () => ({
    onExecuteDone({ args, result }) {
      noteNestedRefusals(args.contextValue, (result as ExecutionResult).errors)
    },
  }),
})
