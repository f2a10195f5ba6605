// The error types of the API, and result unions. A mutation, recall or buildContext returns `<verb>Result`: its payload,
// `<verb>Payload`, or one of its expected errors. Expected errors of other fields are GraphQL errors with the same code.
// server/graphql/yoga.ts masks all other errors.

import { GraphQLError } from 'graphql'
import type { Turn } from '../../domain/turn/turn.ts'
import {
  BudgetTooSmall,
  Conflict,
  DomainError,
  InvalidInput,
  NotAllowed,
  NotFound,
  ProviderFailed,
  QuotaExceeded,
  LimitReached,
  ServerBusy,
  StreamClosed,
  type InputIssue,
} from '../../errors.ts'
import { builder } from './builder.ts'
import { TurnStatusEnum } from '../turn/turn.ts'

const UserError = builder
  .interfaceRef<DomainError>('UserError')
  .implement({
    description: 'Expected error. Every error type of a result union implements it.',
    fields: (t) => ({
      code: t.exposeString('code', { description: 'Stable machine-readable code, for example `NOT_FOUND`.' }),
      message: t.exposeString('message', { description: 'Cause and next step, for developers and logs.' }),
    }),
  })

const InputIssueType = builder
  .objectRef<InputIssue>('InputIssue')
  .implement({
    description: 'One problem with the input.',
    fields: (t) => ({
      path: t.exposeStringList('path', {
        description:
          'Path from the root of the input to the value: names of fields, and indexes in lists. Empty for the input '
          + 'as a whole.',
      }),
      message: t.exposeString('message', { description: 'Problem with the value, for developers and logs.' }),
    }),
  })

const interfaces = [UserError]

builder.objectType(InvalidInput, {
  name: 'InvalidInput',
  description: 'The input breaks a rule or a limit. Nothing was written. Change the input before a retry.',
  interfaces,
  fields: (t) => ({
    path: t.stringList({
      description: 'Path of the first element of `issues`.',
      sharing: 'SHAREABLE',
      resolve: ({ issues }) => [...(issues[0]?.path ?? [])],
    }),
    issues: t.field({
      type: [InputIssueType],
      description: 'All problems of the input; at least one.',
      sharing: 'SHAREABLE',
      resolve: ({ issues }) => issues,
    }),
  }),
})

builder.objectType(NotFound, {
  name: 'NotFound',
  description: 'The object does not exist, or is outside the view. The two cases look the same.',
  interfaces,
})

builder.objectType(NotAllowed, {
  name: 'NotAllowed',
  description: 'The viewer may see the object, but may not perform the operation.',
  interfaces,
  fields: (t) => ({
    right: t.exposeString('right', {
      nullable: true,
      description:
        'Right that the credential lacks, as the API documents name it, for example `act-as`. Null if the operation is '
        + 'refused for another reason.',
    }),
  }),
})

builder.objectType(Conflict, {
  name: 'Conflict',
  description:
    'The conversation changed concurrently, or an idempotency key was already used with different content. Read the '
    + 'current state before a retry.',
  interfaces,
})

builder.objectType(LimitReached, {
  name: 'LimitReached',
  description: 'The conversation or the viewer already has the maximum number of items. Nothing was written or opened.',
  interfaces,
  fields: (t) => ({ limit: t.exposeInt('limit', { description: 'Maximum number of items.' }) }),
})

builder.objectType(StreamClosed, {
  name: 'StreamClosed',
  description: 'The streaming turn has already been committed, aborted or erased.',
  interfaces,
  fields: (t) => ({
    status: t.field({
      type: TurnStatusEnum,
      description: 'Current state of the turn: COMMITTED, ABORTED (also by an expired lease) or ERASED.',
      sharing: 'SHAREABLE',
      resolve: ({ status }) => status as Turn['status'],
    }),
  }),
})

builder.objectType(ProviderFailed, {
  name: 'ProviderFailed',
  description: 'A request to a model provider failed. Changes written before the request are kept.',
  interfaces,
  fields: (t) => ({
    retryable: t.exposeBoolean('retryable', {
      description:
        'Whether the same call may succeed later. If false, the configuration or the input must change first.',
    }),
  }),
})

builder.objectType(QuotaExceeded, {
  name: 'QuotaExceeded',
  description: 'The participant, or the tenant, has used the tokens of the day (UTC). Nothing was written.',
  interfaces,
  fields: (t) => ({
    limit: t.exposeInt('limit', { description: 'Maximum number of tokens in one day.' }),
    used: t.expose('used', { type: 'BigInt', description: 'Number of tokens that runs have used today.' }),
    resetsAt: t.expose('resetsAt', { type: 'DateTime', description: 'Time at which the next day begins.' }),
  }),
})

builder.objectType(BudgetTooSmall, {
  name: 'BudgetTooSmall',
  description: 'The system prompt and the newest turn, which every context includes, exceed the budget.',
  interfaces,
  fields: (t) => ({
    required: t.exposeInt('required', { description: 'Minimum budget that suffices at present, in tokens.' }),
  }),
})

/**
 * Returns the GraphQL error for a domain error that is not a member of a result: its extensions are the code and
 * issues, or the time after which to try again, and its location is that of the wrapping error. Null if no DomainError caused the error.
 */
export function toGraphQLError(error: unknown): GraphQLError | null {
  const located = error instanceof GraphQLError ? error : null
  let cause: unknown = error
  while (cause instanceof GraphQLError) cause = cause.originalError
  if (!(cause instanceof DomainError)) return null
  const issues = cause instanceof InvalidInput ? { issues: cause.issues } : {}
  const retry = cause instanceof ServerBusy ? { retryAfterSeconds: cause.retryAfterSeconds } : {}
  return new GraphQLError(cause.message, {
    nodes: located?.nodes,
    source: located?.source,
    positions: located?.positions,
    path: located?.path,
    originalError: cause,
    extensions: { code: cause.code, ...issues, ...retry },
  })
}

type ErrorClass = new (...args: never[]) => DomainError

/**
 * Returns the `errors` option of a field, which makes its type the union `<verb>Result` of its own type and the errors.
 */
export function orErrors(verb: string, types: ErrorClass[], description = 'The payload, or an error.') {
  return { types, union: { name: `${verb}Result`, description } }
}

/** Returns the reference of `<verb>Payload`, the type that a mutation returns on success. */
export const payload = <Shape extends object>(verb: string) => builder.objectRef<Shape>(`${verb}Payload`)
