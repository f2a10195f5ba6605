// Turns: the type, its versions, and pages of a conversation's transcript. A page of 50 turns is the most frequent
// read, so most fields are plain properties of the row.

import { turnCursor } from '../domain/turn/history.ts'
import { NO_PAGE } from '../domain/page.ts'
import type { Turn } from '../domain/turn/turn.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { loadNextVersion, loadPageOfTurns, loadConversationOf } from './loaders.ts'
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

const TokenCounts = builder
  .objectRef<{ prompt: number; completion: number }>('TokenCounts')
  .implement({
    description: 'Tokens as a provider billed them for making a turn.',
    fields: (t) => ({
      prompt: t.exposeInt('prompt', { description: 'Tokens the model was shown.' }),
      completion: t.exposeInt('completion', { description: 'Tokens the model wrote.' }),
    }),
  })

type SourceShape = {
  documentId?: string | null
  documentName?: string | null
  chunk?: string | null
  score?: number | null
}

const Source = builder
  .objectRef<SourceShape>('Source')
  .implement({
    description: 'A piece of a document that a turn was drawn from. Kept as the caller gave it.',
    fields: (t) => ({
      documentId: t.exposeString('documentId', {
        nullable: true,
        description: "The document, by the caller's own id; null if not given.",
      }),
      documentName: t.exposeString('documentName', {
        nullable: true,
        description: 'A name to cite the document by; null if not given.',
      }),
      chunk: t.exposeString('chunk', {
        nullable: true,
        description: "The passage itself, or the caller's id of it; null if not given.",
      }),
      score: t.exposeFloat('score', {
        nullable: true,
        description: "How well it matched, on the caller's own scale; null if not given.",
      }),
    }),
  })

const NOTHING = Object.freeze({})
const NO_SOURCES: SourceShape[] = []

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
        'Number of the journal entry that created it, ascending in the conversation. A newer version is listed in the place '
        + 'of the first one.',
    }),
    actor: t.exposeString('actor', { description: 'Who said it: the user, agent or tool.' }),
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
    tokens: t.field({
      type: TokenCounts,
      nullable: true,
      description: 'Tokens as the provider billed them; null where nobody said.',
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
    sources: t.field({
      type: [Source],
      description: 'What it was drawn from, as the caller gave it; empty for nothing.',
      extensions: SHAREABLE,
      resolve: ({ sources }) => (sources as SourceShape[] | null) ?? NO_SOURCES,
    }),
    pinned: t.exposeBoolean('pinned', { description: 'Whether every context keeps it, however old it is.' }),
    metadata: t.field({
      type: 'JSON',
      description: "The caller's own data, an object; empty when none was given.",
      extensions: SHAREABLE,
      resolve: ({ metadata }) => metadata ?? NOTHING,
    }),
    supersededBy: t.field({
      type: 'Turn',
      nullable: true,
      description: 'The next newer version that the viewer sees; null for the newest.',
      extensions: PER_VIEWER,
      resolve: (turn, _, context) =>
        turn.supersededBy === null ? null : loadNextVersion(context, viewerOf(context, turn), turn.id),
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
  description: 'Which turns a page holds: those that meet all that is given.',
  fields: (t) => ({
    actors: t.stringList({ description: 'Turns by any of these actors; an empty list matches none.' }),
    roles: t.field({ type: [RoleEnum], description: 'Turns in any of these roles; an empty list matches none.' }),
    after: t.field({ type: 'DateTime', description: 'Turns said at this time or later.' }),
    before: t.field({ type: 'DateTime', description: 'Turns said earlier than this.' }),
    sinceSeq: t.int({
      description: 'Turns, and newer versions of older ones, that were written after this journal entry.',
    }),
  }),
})

builder.objectField('Conversation', 'turns', (t) =>
  t.field({
    type: TurnConnection,
    description:
      'A page of the transcript as the viewer sees it, oldest first; 50 turns unless `first` or `last` says otherwise.',
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
        description: 'Whether older versions are listed too, before the newer ones.',
      }),
      as: t.arg.string({
        description: "In whose view; the viewer's when left out. It holds for all that is selected below.",
      }),
    },
    resolve: (conversation, { as, ...args }, context) =>
      loadPageOfTurns(context, viewAs(viewerOf(context, conversation), as), conversation.id, args),
  }),
)
