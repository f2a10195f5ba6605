// Appending turns: their input types, and the mutations that append turns or supersede one with a newer version.

import { JSON_BYTES, JSON_DEPTH } from '../domain/input.ts'
import { appendTurn, appendTurns } from '../domain/turn/append.ts'
import type { Appended, AppendedTurns } from '../domain/turn/appended.ts'
import { supersedeTurn, type Superseded } from '../domain/turn/supersede.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound, LimitReached } from '../errors.ts'
import { builder, type InputFieldBuilder, type ObjectFieldBuilder } from './builder.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'
import { ContentPartInput } from './content.ts'
import { orErrors, payload } from './result.ts'
import { RoleEnum, turnEdge, TurnEdge } from './turn.ts'

export const TokenUsageInput = builder.inputType('TokenUsageInput', {
  description: 'Numbers of tokens that a provider billed for generating a turn.',
  fields: (t) => ({
    prompt: t.int({ required: true, description: 'Number of input tokens.' }),
    completion: t.int({ required: true, description: 'Number of output tokens.' }),
  }),
})

const CitationInput = builder.inputType('CitationInput', {
  description: 'A passage of a document on which a turn is based. Stored as given.',
  fields: (t) => ({
    documentId: t.string({ description: 'Id of the document in your application; at most 1,000 characters.' }),
    documentName: t.string({ description: 'Name of the document, for display; at most 1,000 characters.' }),
    chunk: t.string({ description: 'Text of the passage, or its id in your application; at most 65,536 characters.' }),
    score: t.float({ description: 'Relevance of the passage, on a scale of your own.' }),
  }),
})

/** Fields of every input that writes a turn. */
const turnFields = (t: InputFieldBuilder) => ({
  actor: t.string({
    description: 'Who says it; the viewer when left out. Who is not in the conversation yet joins it by speaking.',
  }),
  role: t.field({ type: RoleEnum, required: true, description: 'In whose part it is said, as models know it.' }),
  clientId: t.string({
    description:
      "Makes sending it again safe: the same actor's same id in the same conversation returns the first turn if the "
      + 'content is the same, and a Conflict if not.',
  }),
  replyToId: t.id({
    description:
      'The turn that this turn replies to, in any version: a turn of the conversation that the author sees. Defaults to '
      + 'null, for none.',
  }),
  pinned: t.boolean({ description: 'Whether every context is to keep it, however old it gets; no when left out.' }),
  tokenUsage: t.field({
    type: TokenUsageInput,
    description: 'Numbers of tokens that the provider billed for generating the turn.',
  }),
  model: t.string({ description: "The model that wrote it, by its provider's name." }),
  adapter: t.string({ description: 'The program that called the model.' }),
  traceId: t.string({ description: 'The trace, in your own tracing, that made it.' }),
  citations: t.field({
    type: [CitationInput],
    description: 'Passages of documents on which the turn is based, at most 100.',
  }),
  metadata: t.field({
    type: 'JSON',
    description:
      `Data of your own: a JSON object of at most ${JSON_BYTES / 1024} KiB, nested at most ` + `${JSON_DEPTH} deep.`,
  }),
  createdAt: t.field({
    type: 'DateTime',
    description:
      'When the turn was written, for imported turns; defaults to now, and must not be in the future. It does not '
      + 'change the order of turns. A turn with this field has `importedAt`.',
  }),
})

/** Content of a turn that is written at once. */
const contentFields = (t: InputFieldBuilder) => ({
  content: t.string({ description: 'Its text: short for one text part. Not together with `parts`.' }),
  parts: t.field({
    type: [ContentPartInput],
    description: 'What it says, in order, at most 1,000 pieces. Not together with `content`.',
  }),
})

/** The audience, which is fixed when a turn is created. */
const audienceField = (t: InputFieldBuilder) => ({
  audience: t.stringList({
    description:
      'The participants it is meant for, at most 1,000; the author is added. Nobody else ever sees it. Everybody '
      + 'when left out.',
  }),
})

const TurnInput = builder.inputType('TurnInput', {
  description: 'A turn to append, with its content in `content` or `parts`.',
  fields: (t) => ({ ...turnFields(t), ...contentFields(t), ...audienceField(t) }),
})

export const StreamingTurnInput = builder.inputType('StreamingTurnInput', {
  description: 'A turn to open. appendDelta sends its text; commitTurn adds other parts.',
  fields: (t) => ({ ...turnFields(t), ...audienceField(t) }),
})

const TurnVersionInput = builder.inputType('TurnVersionInput', {
  description:
    'A newer version of a turn, by the same actor, with its content in `content` or `parts`. `replyToId`, `pinned`, '
    + '`model` and `metadata` of the older version are kept if omitted and cleared by null; other fields are not kept.',
  fields: (t) => ({ ...turnFields(t), ...contentFields(t) }),
})

const AppendTurnInput = builder.inputType('AppendTurnInput', {
  description: 'What is said in which conversation.',
  fields: (t) => ({
    ...conversationRef(t, 'that receives the turn'),
    turn: t.field({ type: TurnInput, required: true, description: 'What is said.' }),
    expectedLastSeq: t.int({
      description:
        'The `lastSeq` that the caller knows. If the journal has moved on, nothing is written, and a Conflict says so.',
    }),
  }),
})

/** Fields of the payload of a mutation that writes one turn. */
const writtenFields = <Written extends Superseded>(t: ObjectFieldBuilder<Written>) => ({
  turn: t.field({
    type: 'Turn',
    description: 'The written version, as its author sees it.',
    resolve: ({ turn }) => turn,
  }),
  turnEdge: t.field({
    type: TurnEdge,
    description: 'The edge of the turn in Conversation.turns.',
    resolve: ({ turn }) => turnEdge(turn),
  }),
  deduplicated: t.boolean({
    description: 'Whether an earlier call with the same clientId had already written the turn.',
    resolve: ({ deduplicated }) => deduplicated,
  }),
  lastSeq: t.int({
    description:
      'Journal sequence number of the newest entry that the call wrote, or of the turn if it was already there.',
    resolve: ({ lastSeq }) => lastSeq,
  }),
})

/** Defines the payload of a mutation that appends one turn. */
export const appendedPayload = (verb: 'AppendTurn' | 'OpenTurn', description: string) =>
  payload<Appended>(verb).implement({
    description,
    fields: (t) => ({
      ...writtenFields(t),
      joined: t.exposeBoolean('joined', { description: 'Whether the author joined the conversation with this turn.' }),
    }),
  })

builder.mutationField('appendTurn', (t) =>
  t.field({
    type: appendedPayload('AppendTurn', 'The new turn, or the one that an earlier call with the same clientId wrote.'),
    description: 'Appends a turn. Returns after the commit.',
    errors: orErrors('AppendTurn', [InvalidInput, NotFound, NotAllowed, Conflict, LimitReached]),
    args: {
      input: t.arg({ type: AppendTurnInput, required: true, description: 'The conversation, and what is said there.' }),
    },
    async resolve(_, { input }, context) {
      const given = await atConversation(context, input, input.turn.actor)
      return appendTurn(context.deps, context.viewer, given)
    },
  }),
)

const AppendTurnsPayload = payload<AppendedTurns>('AppendTurns').implement({
  description: 'The turns of a batch.',
  fields: (t) => ({
    turns: t.field({
      type: ['Turn'],
      description: 'The turns in the order given. New turns have consecutive places in the conversation.',
      resolve: ({ turns }) => turns,
    }),
    turnEdges: t.field({
      type: [TurnEdge],
      description: 'The edges of the turns in Conversation.turns, in the order given.',
      resolve: ({ turns }) => turns.map(turnEdge),
    }),
    deduplicatedIds: t.exposeIDList('deduplicatedIds', {
      description: 'Ids of the turns that an earlier call with the same clientId had already written.',
    }),
    joinedActors: t.exposeStringList('joinedActors', {
      description: 'The authors who joined the conversation with their first turn.',
    }),
    lastSeq: t.exposeInt('lastSeq', {
      description:
        'Journal sequence number of the newest entry that the call wrote, or of the newest turn if all were already '
        + 'there.',
    }),
  }),
})

const AppendTurnsInput = builder.inputType('AppendTurnsInput', {
  description: 'Several things said in one conversation at once.',
  fields: (t) => ({
    ...conversationRef(t, 'that receives the turns'),
    turns: t.field({
      type: [TurnInput],
      required: true,
      description: "What is said, oldest first: one up to the server's batch size, 1,000 by default.",
    }),
  }),
})

builder.mutationField('appendTurns', (t) =>
  t.field({
    type: AppendTurnsPayload,
    description: 'Says several things in one conversation: all of them, with nothing in between, or none.',
    errors: orErrors('AppendTurns', [InvalidInput, NotFound, NotAllowed, Conflict, LimitReached]),
    args: {
      input: t.arg({
        type: AppendTurnsInput,
        required: true,
        description: 'The conversation, and what is said there.',
      }),
    },
    async resolve(_, { input }, context) {
      const given = await atConversation(context, input, input.turns[0]?.actor)
      return appendTurns(context.deps, context.viewer, given)
    },
  }),
)

const SupersedeTurnInput = builder.inputType('SupersedeTurnInput', {
  description: 'What takes the place of which turn.',
  fields: (t) => ({
    turnId: t.id({
      required: true,
      description: 'The newest version of a turn that is not being written. Older versions give a Conflict.',
    }),
    turn: t.field({ type: TurnVersionInput, required: true, description: 'The newer version.' }),
  }),
})

const SupersedeTurnPayload = payload<Superseded>('SupersedeTurn').implement({
  description: 'The newer version, or the one that an earlier call with the same clientId wrote.',
  fields: (t) => writtenFields(t),
})

builder.mutationField('supersedeTurn', (t) =>
  t.field({
    type: SupersedeTurnPayload,
    description: 'Edits or regenerates a turn: a newer version stands in its place, the older ones can still be read.',
    errors: orErrors('SupersedeTurn', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: {
      input: t.arg({ type: SupersedeTurnInput, required: true, description: 'The turn, and what takes its place.' }),
    },
    resolve: (_, { input }, { deps, viewer }) => supersedeTurn(deps, viewer, input),
  }),
)
