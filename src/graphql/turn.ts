// Turns: the type, and pages of a conversation's transcript; their versions are in version.ts. A page of 50 turns is the most frequent
// read, so most fields are plain properties of the row.

import { turnCursor } from '../domain/turn/history.ts'
import { NO_PAGE } from '../domain/page.ts'
import type { Turn } from '../domain/turn/turn.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { loadConversationOf, loadPageOfTurns } from './loaders.ts'
import { Node } from './node.ts'
import { viewerOf } from './inherited-view.ts'
import { PER_VIEWER, SHAREABLE } from './sharing.ts'
import { viewAs } from './viewer.ts'

export const RoleEnum = builder.enumType('Role', {
  description: "In whose part a turn is said, as models know it. Who said it is the turn's actor.",
  values: {
    SYSTEM: { description: 'Instructions to the model.' },
    USER: { description: 'Said to the model, by a person or by another agent.' },
    ASSISTANT: { description: 'Said by a model, its tool calls included.' },
    TOOL: { description: 'What a tool answered to a call.' },
  } as const,
})

export const TurnStatusEnum = builder.enumType('TurnStatus', {
  description: 'Where a turn stands. Only a STREAMING one still changes, but for erasure.',
  values: {
    STREAMING: { description: 'Being written: its text grows, and it is in no context and no count yet.' },
    COMMITTED: { description: 'Said. Appended turns are so from the start.' },
    ABORTED: {
      description: "Broken off, by its writer or for its writer's silence. What was written until then stands.",
    },
    ERASED: { description: 'Its place remains, its content is gone for good.' },
  } as const,
})

const TokenUsage = builder
  .objectRef<{ prompt: number; completion: number }>('TokenUsage')
  .implement({
    description: 'Numbers of tokens that a provider billed for generating a turn.',
    fields: (t) => ({
      prompt: t.exposeInt('prompt', { description: 'Number of input tokens.' }),
      completion: t.exposeInt('completion', { description: 'Number of output tokens.' }),
    }),
  })

type CitationShape = {
  documentId?: string | null
  documentName?: string | null
  chunk?: string | null
  score?: number | null
}

const Citation = builder
  .objectRef<CitationShape>('Citation')
  .implement({
    description: 'A passage of a document on which a turn is based, as the client gave it.',
    fields: (t) => ({
      documentId: t.exposeString('documentId', {
        nullable: true,
        description: 'Id of the document in the application. Null if not given.',
      }),
      documentName: t.exposeString('documentName', {
        nullable: true,
        description: 'Name of the document, for display. Null if not given.',
      }),
      chunk: t.exposeString('chunk', {
        nullable: true,
        description: 'Text of the passage, or its id in the application. Null if not given.',
      }),
      score: t.exposeFloat('score', {
        nullable: true,
        description: 'Relevance of the passage, on a scale of the application. Null if not given.',
      }),
    }),
  })

const NOTHING = Object.freeze({})
const NO_CITATIONS: CitationShape[] = []

builder.objectType('Turn', {
  description:
    'Something said in a conversation, by one actor. It never changes once it is committed: an edit is a newer version '
    + 'beside it.',
  interfaces: [Node],
  fields: (t) => ({
    conversation: t.field({
      type: 'Conversation',
      description: 'The conversation it was said in, in the same view as the turn.',
      extensions: SHAREABLE,
      resolve: (turn, _, context) => loadConversationOf(context, viewerOf(context, turn), turn.conversationId),
    }),
    seq: t.exposeInt('seq', {
      description:
        'Number of the journal entry that created this version. Ascending in the conversation; each version has its own.',
    }),
    actor: t.exposeString('actor', { description: 'Id of the author: a user, an agent or a tool.' }),
    role: t.expose('role', { type: RoleEnum, description: 'In whose part it is said, as models know it.' }),
    status: t.expose('status', {
      type: TurnStatusEnum,
      description: 'Whether it stands, is being written, was broken off or erased.',
    }),
    text: t.exposeString('text', {
      description: 'Its text parts joined; what is there so far while it is being written. May be empty.',
    }),
    audience: t.exposeStringList('audience', {
      nullable: true,
      description: 'The actors it is meant for, its author included: nobody else ever sees it. Null for everybody.',
    }),
    tokenCount: t.exposeInt('tokenCount', {
      description: 'Tokens of its content, as the server counts them; 0 while it is being written.',
    }),
    tokenUsage: t.field({
      type: TokenUsage,
      nullable: true,
      description: 'Numbers of tokens that the provider billed for generating the turn. Null if not given.',
      extensions: SHAREABLE,
      resolve: ({ promptTokens, completionTokens }) =>
        promptTokens === null && completionTokens === null
          ? null
          : { prompt: promptTokens ?? 0, completion: completionTokens ?? 0 },
    }),
    model: t.exposeString('model', {
      nullable: true,
      description: "The model that wrote it, by its provider's name; null where none did or nobody said.",
    }),
    adapter: t.exposeString('adapter', {
      nullable: true,
      description: 'The program that called the model; null if not given.',
    }),
    traceId: t.exposeString('traceId', {
      nullable: true,
      description: "The trace, in the caller's own tracing, that made it; null if not given.",
    }),
    citations: t.field({
      type: [Citation],
      description:
        'Passages of documents on which the turn is based, as the client gave them; empty if none were given.',
      extensions: SHAREABLE,
      resolve: ({ citations }) => (citations as CitationShape[] | null) ?? NO_CITATIONS,
    }),
    pinned: t.exposeBoolean('pinned', { description: 'Whether every context keeps it, however old it is.' }),
    metadata: t.field({
      type: 'JSON',
      description: "The caller's own data, an object; empty when none was given.",
      extensions: SHAREABLE,
      resolve: ({ metadata }) => metadata ?? NOTHING,
    }),
    abortReason: t.exposeString('abortReason', {
      nullable: true,
      description: 'Why it was broken off; null for other turns, or where no reason was given.',
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'When it was written. For an imported turn, the time that the client gave; see `importedAt`.',
    }),
  }),
})

const { Connection: TurnConnection, Edge } = connectionOf<Turn>('Turn', 'turns', turnCursor)
export const TurnEdge = Edge

/** Returns the edge of a turn in Conversation.turns. */
export const turnEdge = (turn: Turn) => ({ node: turn, page: NO_PAGE })

const TurnFilter = builder.inputType('TurnFilter', {
  description: 'Conditions on the turns of a list. A turn must meet all conditions that are given.',
  fields: (t) => ({
    actors: t.stringList({ description: 'Turns by any of these actors; an empty list matches none.' }),
    roles: t.field({ type: [RoleEnum], description: 'Turns in any of these roles; an empty list matches none.' }),
    createdAfter: t.field({ type: 'DateTime', description: 'Turns created at this time or later.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Turns created before this time.' }),
    sinceSeq: t.int({
      description:
        'Turns whose newest version was written, committed or aborted after this journal entry: new turns, and turns '
        + 'edited since, which keep their position. With `includeSuperseded`, selects each version by itself.',
    }),
  }),
})

builder.objectField('Conversation', 'turns', (t) =>
  t.field({
    type: TurnConnection,
    description:
      'A page of the turns that the viewer sees, in ascending order of `position`, and of `seq` for versions of one turn. '
      + 'Returns 50 turns unless `first` or `last` is given.',
    extensions: PER_VIEWER,
    args: {
      first: t.arg.int({
        description: "Turns from the oldest on, at most; up to the server's page size, 200 by default.",
      }),
      after: t.arg.string({ description: 'A cursor of this list: only what follows it.' }),
      last: t.arg.int({ description: 'Turns up to the newest, at most. Not together with `first`.' }),
      before: t.arg.string({ description: 'A cursor of this list: only what lies before it.' }),
      filter: t.arg({
        type: TurnFilter,
        description: 'Leaves out the turns that do not meet it; all turns without it.',
      }),
      includeSuperseded: t.arg.boolean({
        defaultValue: false,
        description: 'Whether superseded versions are listed, too. Defaults to false.',
      }),
      as: t.arg.string({
        description: "In whose view; the viewer's when left out. It holds for all that is selected below.",
      }),
    },
    resolve: (conversation, { as, ...args }, context) =>
      loadPageOfTurns(context, viewAs(viewerOf(context, conversation), as), conversation.id, args),
  }),
)

builder.objectField('Conversation', 'lastTurn', (t) =>
  t.field({
    type: 'Turn',
    nullable: true,
    description: 'The last turn of the history, in its newest version. Null if the viewer sees no turn.',
    extensions: PER_VIEWER,
    async resolve(conversation, _, context) {
      const { items } = await loadPageOfTurns(context, viewerOf(context, conversation), conversation.id, { last: 1 })
      return items[0] ?? null
    },
  }),
)
