// Turns: the type, and pages of a conversation's transcript; the fields about versions are in version.ts. A page of 50
// turns is the most frequent read, so most fields are plain properties of the row.

import { turnCursor } from '../../domain/turn/history.ts'
import { DEFAULT_PAGE_SIZE, NO_PAGE, type Page } from '../../domain/kernel/page.ts'
import type { Turn } from '../../domain/turn/turn.ts'
import { builder } from '../kernel/builder.ts'
import { connectionOf, pagingArgs } from '../kernel/connection.ts'
import { loadConversationOf, loadTurn } from '../kernel/loaders.ts'
import { Node } from '../kernel/node.ts'
import { turnsTemplate } from './turn-json.ts'
import { loadPageOfTurns } from './turn-pages.ts'

export const RoleEnum = builder.enumType('Role', {
  description: 'Message role of a turn, as in the APIs of model providers. The author of the turn is its `actor`.',
  values: {
    SYSTEM: { description: 'Instructions for the model.' },
    USER: { description: 'Message to the model from a person or from another agent.' },
    ASSISTANT: { description: 'Message from a model, including its tool calls.' },
    TOOL: { description: 'Results of tool calls.' },
  } as const,
})

export const TurnStatusEnum = builder.enumType('TurnStatus', {
  description: 'State of a turn. Only a STREAMING turn can still change, except that erasure deletes content.',
  values: {
    STREAMING: { description: 'Open: deltas append text. Counts and contexts exclude the turn.' },
    COMMITTED: {
      description: 'Complete. Turns written by appendTurn, appendTurns and supersedeTurn have this status immediately.',
    },
    ABORTED: {
      description: 'Ended by abortTurn, or because the lease of the writer expired. The streamed text is kept.',
    },
    ERASED: { description: 'Content deleted permanently. The turn keeps its position.' },
  } as const,
})

export const TokenUsage = builder
  .objectRef<{ prompt: number; completion: number }>('TokenUsage')
  .implement({
    description: 'Numbers of tokens that a provider billed for generating a turn, or for several calls of a provider.',
    fields: (t) => ({
      prompt: t.expose('prompt', { type: 'BigInt', description: 'Number of input tokens.' }),
      completion: t.expose('completion', { type: 'BigInt', description: 'Number of output tokens.' }),
      total: t.field({
        type: 'BigInt',
        description: 'Sum of both.',
        sharing: 'SHAREABLE',
        resolve: ({ prompt, completion }) => prompt + completion,
      }),
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
    description: 'Passage of a document on which a turn is based, as provided by the client.',
    fields: (t) => ({
      documentId: t.exposeString('documentId', {
        nullable: true,
        description: 'Application-defined id of the document. Null if not given.',
      }),
      documentName: t.exposeString('documentName', {
        nullable: true,
        description: 'Name of the document, for display. Null if not given.',
      }),
      chunk: t.exposeString('chunk', {
        nullable: true,
        description: 'Text of the passage, or its application-defined id. Null if not given.',
      }),
      score: t.exposeFloat('score', {
        nullable: true,
        description: 'Relevance of the passage, on an application-defined scale. Null if not given.',
      }),
    }),
  })

const NOTHING = Object.freeze({})
const NO_CITATIONS: CitationShape[] = []

builder.objectType('Turn', {
  description:
    'One message of a conversation, written by one actor. The content of a committed turn does not change: '
    + 'an edit writes a newer version with the same position.',
  interfaces: [Node],
  fields: (t) => ({
    conversation: t.field({
      type: 'Conversation',
      description: 'Conversation of the turn, in the same view as the turn.',
      sharing: 'SHAREABLE',
      resolve: (turn, _, context) => loadConversationOf(context, turn.conversationId),
    }),
    seq: t.exposeInt('seq', {
      description:
        'Sequence number of the journal entry that created this version, ascending in the conversation. Each '
        + 'version has its own `seq`.',
    }),
    actor: t.exposeString('actor', { description: 'Name of the author: a user, an agent or a tool.' }),
    role: t.expose('role', { type: RoleEnum, description: 'Message role of the turn.' }),
    status: t.expose('status', {
      type: TurnStatusEnum,
      description: 'State of this version: streaming, committed, aborted or erased.',
    }),
    text: t.exposeString('text', {
      description: 'Concatenated text parts. For an open turn, the text streamed so far. May be empty.',
    }),
    audience: t.exposeStringList('audience', {
      nullable: true,
      description:
        'Actors that may see the turn, including its author. Null for a turn without an audience, which every '
        + 'participant may see.',
    }),
    tokenCount: t.exposeInt('tokenCount', {
      description: 'Number of tokens of the content, counted by the server. 0 while the turn is open.',
    }),
    tokenUsage: t.field({
      type: TokenUsage,
      nullable: true,
      description: 'Numbers of tokens that the provider billed for generating the turn. Null if not given.',
      sharing: 'SHAREABLE',
      resolve: ({ promptTokens, completionTokens }) =>
        promptTokens === null && completionTokens === null
          ? null
          : { prompt: promptTokens ?? 0, completion: completionTokens ?? 0 },
    }),
    model: t.exposeString('model', {
      nullable: true,
      description: "Provider's name of the model that generated the turn. Null if not given.",
    }),
    adapter: t.exposeString('adapter', {
      nullable: true,
      description: 'Application-defined name of the program that called the model. Null if not given.',
    }),
    traceId: t.exposeString('traceId', {
      nullable: true,
      description: 'Application-defined id of the trace that produced the turn. Null if not given.',
    }),
    citations: t.field({
      type: [Citation],
      description: 'Passages of documents on which the turn is based, as provided by the client. Empty if not given.',
      sharing: 'SHAREABLE',
      resolve: ({ citations }) => (citations as CitationShape[] | null) ?? NO_CITATIONS,
    }),
    pinned: t.exposeBoolean('pinned', {
      description:
        'Whether contexts include the turn regardless of its age, as far as the budget allows. Equal for all versions '
        + 'of a turn. `pinTurn` and `unpinTurn` change it.',
    }),
    metadata: t.field({
      type: 'JSON',
      description: 'Application-defined metadata: a JSON object. Empty if not given.',
      sharing: 'SHAREABLE',
      resolve: ({ metadata }) => metadata ?? NOTHING,
    }),
    abortReason: t.exposeString('abortReason', {
      nullable: true,
      description: 'Reason for which the turn was aborted. Null for other turns, or if no reason was given.',
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description:
        'Time at which the version was written. For an imported turn, the time given by the client; see `importedAt`.',
    }),
  }),
})

builder.objectFields('Turn', (t) => ({
  replyTo: t.field({
    type: 'Turn',
    nullable: true,
    description:
      'The turn to which this turn replies, in the version given by `replyToId`. Null if there is none, if the viewer '
      + 'does not see it, or if it was erased.',
    sharing: 'PER_VIEWER',
    resolve: async (turn, _, context) => {
      if (turn.replyToId === null) return null
      const target = await loadTurn(context, turn.replyToId)
      return target === null || target.status === 'ERASED' ? null : target
    },
  }),
  importedAt: t.expose('importedAt', {
    type: 'DateTime',
    nullable: true,
    description:
      'Time at which the server received an imported turn, whose `createdAt` is the time that the client '
      + 'gave. Null for other turns, whose `createdAt` the server set.',
  }),
}))

const { Connection: TurnConnection, Edge } = connectionOf<Turn>('Turn', 'turns', turnCursor)
export const TurnEdge = Edge

/** Returns the edge of a turn in Conversation.turns. */
export const turnEdge = (turn: Turn) => ({ node: turn, page: NO_PAGE })

const TurnFilter = builder.inputType('TurnFilter', {
  description: 'Conditions on the turns of a list. A turn must meet all conditions that are given.',
  fields: (t) => ({
    actors: t.stringList({
      description: 'Turns by any of these actors, at most 1,000. An empty list matches no turn.',
    }),
    roles: t.field({ type: [RoleEnum], description: 'Turns with any of these roles. An empty list matches no turn.' }),
    createdAfter: t.field({ type: 'DateTime', description: 'Turns whose `createdAt` is this time or later.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Turns whose `createdAt` is before this time.' }),
    pinned: t.boolean({
      description: 'Turns that are pinned, or are not. Defaults to null, for pinned and other turns.',
    }),
    sinceSeq: t.int({
      description:
        'Turns whose newest version was written, committed or aborted after this journal entry: new turns, and '
        + 'older turns that changed since, at their position. With `includeSuperseded`, each version is selected '
        + 'separately.',
    }),
  }),
})

builder.objectField('Conversation', 'turns', (t) =>
  t.field({
    type: TurnConnection,
    description:
      'Turns that the viewer sees, in ascending order of `position`; versions of one turn in ascending order of '
      + `\`seq\`. Returns the first ${DEFAULT_PAGE_SIZE} turns unless \`first\` or \`last\` is given. A page has `
      + 'fewer turns if they are large.',
    sharing: 'PER_VIEWER',
    args: {
      ...pagingArgs(t, 'turns'),
      filter: t.arg({
        type: TurnFilter,
        description: 'Conditions that a turn must meet. Defaults to null, for all turns.',
      }),
      includeSuperseded: t.arg.boolean({
        defaultValue: false,
        description: 'Whether to list superseded versions, too. Defaults to false.',
      }),
    },
    resolve: (conversation, args, context, info) =>
      loadPageOfTurns(context, conversation.id, args, turnsTemplate(context, info)) as Promise<Page<Turn>>,
  }),
)

builder.objectField('Conversation', 'lastTurn', (t) =>
  t.field({
    type: 'Turn',
    nullable: true,
    description: 'Newest version of the turn with the highest position. Null if the viewer sees no turn.',
    sharing: 'PER_VIEWER',
    async resolve(conversation, _, context) {
      const { items } = await loadPageOfTurns(context, conversation.id, { last: 1 })
      return items[0] ?? null
    },
  }),
)
