// The error types of the API. Expected errors of a mutation, recall or buildContext are members of its result union;
// those of other fields are GraphQL errors with the same code. Other errors are hidden from clients (server/yoga.ts).

import { GraphQLError } from 'graphql'
import type { Turn } from '../domain/turn/turn.ts'
import {
  BudgetTooSmall,
  Conflict,
  DomainError,
  InvalidInput,
  NotAllowed,
  NotFound,
  ProviderFailed,
  LimitReached,
  StreamClosed,
  type InputIssue,
} from '../errors.ts'
import { builder } from './builder.ts'
import { TurnStatusEnum } from './turn.ts'

const UserError = builder
  .interfaceRef<DomainError>('UserError')
  .implement({
    description: 'An expected error. Every error in a result union implements it.',
    fields: (t) => ({
      code: t.exposeString('code', { description: 'Stable machine-readable code, for example `NOT_FOUND`.' }),
      message: t.exposeString('message', {
        description: 'Describes the cause and the next step, for developers and logs.',
      }),
    }),
  })

const InputIssueType = builder
  .objectRef<InputIssue>('InputIssue')
  .implement({
    description: 'One thing that is wrong with what was sent.',
    fields: (t) => ({
      path: t.exposeStringList('path', {
        description:
          "Leads to the value from the input's root: names of fields, positions in lists. Empty for the input as a "
          + 'whole.',
      }),
      message: t.exposeString('message', { description: 'What the value must be instead.' }),
    }),
  })

const interfaces = [UserError]

builder.objectType(InvalidInput, {
  name: 'InvalidInput',
  description: 'The input breaks a rule or a limit. Sending it again unchanged fails again.',
  interfaces,
  fields: (t) => ({
    path: t.stringList({
      description: 'Path of the first issue.',
      resolve: ({ issues }) => [...(issues[0]?.path ?? [])],
    }),
    issues: t.field({
      type: [InputIssueType],
      description: 'All that is wrong, not only the first; at least one.',
      resolve: ({ issues }) => issues,
    }),
  }),
})

builder.objectType(NotFound, {
  name: 'NotFound',
  description: "There is no such thing, or it is not for the viewer's eyes: the two look the same on purpose.",
  interfaces,
})

builder.objectType(NotAllowed, {
  name: 'NotAllowed',
  description: 'The viewer may see this, but not do it.',
  interfaces,
})

builder.objectType(Conflict, {
  name: 'Conflict',
  description:
    'Somebody was faster, or a key stands for something else already. Read what is there, then decide again.',
  interfaces,
})

builder.objectType(LimitReached, {
  name: 'LimitReached',
  description: 'The conversation or the viewer already has the maximum number of items. Nothing was written.',
  interfaces,
  fields: (t) => ({ limit: t.exposeInt('limit', { description: 'The maximum number of items.' }) }),
})

builder.objectType(StreamClosed, {
  name: 'StreamClosed',
  description: 'The turn is not being written any more, so its text stands.',
  interfaces,
  fields: (t) => ({
    status: t.field({
      type: TurnStatusEnum,
      description: 'How it ended: committed, aborted (perhaps because its writer fell silent) or erased.',
      resolve: ({ status }) => status as Turn['status'],
    }),
  }),
})

builder.objectType(ProviderFailed, {
  name: 'ProviderFailed',
  description: 'A model that the server asks did not do its part. What had been finished before it stands.',
  interfaces,
  fields: (t) => ({
    retryable: t.exposeBoolean('retryable', {
      description: 'Whether the same call may succeed later; otherwise somebody must mend something first.',
    }),
  }),
})

builder.objectType(BudgetTooSmall, {
  name: 'BudgetTooSmall',
  description: 'The system prompt and the newest turn, which every context includes, exceed the token budget.',
  interfaces,
  fields: (t) => ({
    required: t.exposeInt('required', { description: 'The least budget for which a context can be built now.' }),
  }),
})

/**
 * Returns the GraphQL error for a domain error that is not a member of a result: its extensions are the code and
 * issues, and its location is that of the wrapping error. Null if no DomainError caused the error.
 */
export function toGraphQLError(error: unknown): GraphQLError | null {
  const located = error instanceof GraphQLError ? error : null
  let cause: unknown = error
  while (cause instanceof GraphQLError) cause = cause.originalError
  if (!(cause instanceof DomainError)) return null
  const issues = cause instanceof InvalidInput ? { issues: cause.issues } : {}
  return new GraphQLError(cause.message, {
    nodes: located?.nodes,
    source: located?.source,
    positions: located?.positions,
    path: located?.path,
    originalError: cause,
    extensions: { code: cause.code, ...issues },
  })
}
