// Stored contexts: the query that reads one, the context of a turn, and the turns that were generated from contexts
// with a turn or a fact.

import { replyCursor } from '../../domain/memory/context/stored.ts'
import { DEFAULT_PAGE_SIZE } from '../../domain/kernel/page.ts'
import type { Turn } from '../../domain/turn/turn.ts'
import { asArg } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { connectionOf, pagingArgs } from '../kernel/connection.ts'
import { Context } from './context-object.ts'
import { loadContext, loadPageOfReplies } from '../kernel/loaders.ts'

builder.queryField('contextById', (t) =>
  t.field({
    verb: 'getContexts',
    type: Context,
    nullable: true,
    description:
      'The stored context with that id: each field has the value that it had when the context was built, unless '
      + '`goneSourceIds` names lost sources. Null if it does not exist, or unless the viewer is the actor in whose view '
      + 'it was built, and sees the conversation.',
    args: { id: t.arg.id({ required: true, description: '`Context.id` of a stored context.' }), ...asArg(t) },
    resolve: (_, { id }, context) => loadContext(context, id),
  }),
)

builder.objectField('Turn', 'context', (t) =>
  t.field({
    type: Context,
    nullable: true,
    description:
      'Stored context from which the turn was generated, as its writer stated. Null if none is known or it was deleted, '
      + 'or unless the viewer is the actor in whose view it was built.',
    sharing: 'PER_VIEWER',
    resolve: (turn, _, context) => (turn.contextId === null ? null : loadContext(context, turn.contextId)),
  }),
)

const { Connection: ReplyConnection } = connectionOf<Turn>('Reply', 'replies', replyCursor)

const usedIn = (source: string) =>
  `Turns that the viewer sees and that were generated from a stored context with ${source}, in ascending order of `
  + `\`createdAt\`. Defaults to the first ${DEFAULT_PAGE_SIZE}.`

builder.objectField('Turn', 'usedIn', (t) =>
  t.field({
    type: ReplyConnection,
    description: usedIn('this version of the turn'),
    sharing: 'PER_VIEWER',
    args: { ...pagingArgs(t, 'turns') },
    resolve: (turn, args, context) => loadPageOfReplies(context, turn.id, args),
  }),
)

builder.objectField('Fact', 'usedIn', (t) =>
  t.field({
    type: ReplyConnection,
    description: usedIn('this fact, or with a profile that was made from it'),
    sharing: 'PER_VIEWER',
    args: { ...pagingArgs(t, 'turns') },
    resolve: (fact, args, context) => loadPageOfReplies(context, fact.id, args),
  }),
)
