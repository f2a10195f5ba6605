// The rights of credentials: their enum. Adds the rights that each root field needs to its description, from the table
// in domain/kernel/rights/rights.ts. Records in the audit log which root fields a credential is refused, and which it
// uses as another actor.

import type { GraphQLField, GraphQLSchema } from 'graphql'
import { auditRecord } from '../../../domain/kernel/audit/line.ts'
import { kindOf } from '../../../domain/kernel/id.ts'
import { describeRule } from '../../../domain/kernel/rights/rights-text.ts'
import { VERBS, type Verb } from '../../../domain/kernel/rights/rights.ts'
import type { NotAllowed } from '../../../errors.ts'
import type { RequestContext } from '../request.ts'
import type { Right } from '../../../domain/kernel/rights/principal.ts'
import { builder } from '../builder.ts'

/**
 * Returns the verb of a root field: the option `verb`, or the name of a mutation; null if it needs no right.
 * @internal
 */
export function verbOf({ name, extensions }: Pick<GraphQLField<unknown, unknown>, 'name' | 'extensions'>): Verb | null {
  if (extensions.verb !== undefined) return extensions.verb as Verb | null
  return Object.hasOwn(VERBS, name) ? (name as Verb) : null
}

/** The ids among the arguments of a field or the fields of its input. Other texts could be content. */
function idsIn(args: Record<string, unknown>): string[] {
  const given = { ...args, ...(args['input'] as object | undefined) }
  return Object.values(given).filter((value): value is string => typeof value === 'string' && kindOf(value) !== null)
}

/** Whether the value is a NotAllowed, or a copy of one in a result, which is not an instance of the class. */
const isNotAllowed = (value: unknown): value is Pick<NotAllowed, 'code' | 'right'> =>
  (value as Partial<NotAllowed> | null | undefined)?.code === 'NOT_ALLOWED'

type AuditedContext = Pick<RequestContext, 'deps' | 'viewer'>

/** Notes in the audit log that the credential was refused the root field. Viewers without a principal are not recorded. */
export function noteRefusal(
  { deps, viewer }: AuditedContext,
  field: string,
  error: unknown,
  ids: readonly string[] = [],
): void {
  if (!viewer.principal || !isNotAllowed(error)) return
  const details = error.right === null ? null : { right: error.right }
  deps.audit.note(auditRecord(viewer, field, ids, { outcome: 'DENIED', details }))
}

/** Notes in the audit log that the credential acts as another actor, with one line for each root field. */
export function noteActing({ deps, viewer }: AuditedContext, fields: Iterable<string>): void {
  if (!viewer.principal) return
  for (const field of fields) deps.audit.note(auditRecord(viewer, field, []))
}

type Field = GraphQLField<unknown, RequestContext, Record<string, unknown>>
type Resolver = NonNullable<Field['resolve']>

/** Wraps a resolver to note refusals, which mutations return as results and other fields throw. */
function noting(name: string, resolve: Resolver): Resolver {
  return (source, args, context, info) => {
    if (!context.viewer.principal) return resolve(source, args, context, info)
    const pass = <T>(value: T): T => {
      noteRefusal(context, name, value, idsIn(args))
      return value
    }
    const fail = (error: unknown) => {
      throw pass(error)
    }
    try {
      const result: unknown = resolve(source, args, context, info)
      return result instanceof Promise ? result.then(pass, fail) : pass(result)
    } catch (error) {
      return fail(error)
    }
  }
}

/** Changes and returns the schema: describes and records the rights of its root fields. */
export function withRights(schema: GraphQLSchema): GraphQLSchema {
  const subscription = schema.getSubscriptionType()
  for (const root of [schema.getQueryType(), schema.getMutationType(), subscription]) {
    for (const field of Object.values(root?.getFields() ?? {}) as Field[]) {
      const verb = verbOf(field)
      if (verb) field.description = `${field.description} ${describeRule(VERBS[verb])}`
      const called = root === subscription ? 'subscribe' : 'resolve'
      if (field[called]) field[called] = noting(field.name, field[called])
    }
  }
  return schema
}

/** The rights that a credential can permit. */
export const RightEnum = builder.enumType('Right', {
  description: 'Right of a credential. docs/rights.md lists the right that each operation needs.',
  values: {
    READ: { value: 'read', description: 'Read what the viewer sees, and subscribe to it.' },
    WRITE: { value: 'write', description: 'Create conversations, write turns and facts, and join and leave.' },
    ACT_AS: { value: 'act-as', description: 'Read and write as another actor: `as`, and `actor` of a turn.' },
    MANAGE: {
      value: 'manage',
      description: 'Do in every visible conversation what its owner may do; import turns; search the whole tenant.',
    },
    ERASE: { value: 'erase', description: 'Delete conversations and erase content.' },
    OPERATE: {
      value: 'operate',
      description: 'Observe jobs and audits, and manage API keys, legal holds and the settings of the tenant.',
    },
  } as const satisfies Record<string, { value: Right; description: string }>,
})
