// Appending turns: their input types, and the mutations that append turns or supersede one with a newer version.

import { appendTurn, appendTurns } from '../../domain/turn/append/append.ts'
import type { Appended, AppendedTurns } from '../../domain/turn/append/appended.ts'
import { MAX_PARTS } from '../../domain/turn/content.ts'
import { supersedeTurn, type Superseded } from '../../domain/turn/supersede.ts'
import { MAX_AUDIENCE } from '../../domain/kernel/input.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound, LimitReached } from '../../errors.ts'
import { asField, asNewField } from '../kernel/view/named.ts'
import { builder, type InputFieldBuilder, type ObjectFieldBuilder } from '../kernel/builder.ts'
import { atConversation, conversationRef } from '../conversation/conversation-ref.ts'
import { ContentPartInput } from './content.ts'
import { METADATA } from '../kernel/metadata.ts'
import { orErrors, payload } from '../kernel/errors.ts'
import { RoleEnum, turnEdge, TurnEdge } from './turn.ts'

export const TokenUsageInput = builder.inputType('TokenUsageInput', {
  description: 'Numbers of tokens that a provider billed for generating a turn.',
  fields: (t) => ({
    prompt: t.int({ required: true, description: 'Number of input tokens.' }),
    completion: t.int({ required: true, description: 'Number of output tokens.' }),
  }),
})

const CitationInput = builder.inputType('CitationInput', {
  description: 'Passage of a document on which a turn is based. Stored as given.',
  fields: (t) => ({
    documentId: t.string({ description: 'Application-defined id of the document; at most 1,000 characters.' }),
    documentName: t.string({ description: 'Name of the document, for display; at most 1,000 characters.' }),
    chunk: t.string({ description: 'Text of the passage, or its application-defined id; at most 65,536 characters.' }),
    score: t.float({ description: 'Relevance of the passage, on an application-defined scale.' }),
  }),
})

/** Describes `as` of an input that writes one turn. */
export const AUTHOR =
  'Author of the turn. An actor that is not a participant joins an OPEN conversation automatically, unless another '
  + 'actor has removed it.'

/** Fields of every input that writes a turn. */
const turnFields = (t: InputFieldBuilder) => ({
  role: t.field({ type: RoleEnum, required: true, description: 'Message role of the turn.' }),
  clientId: t.string({
    description:
      'Idempotency key, unique per actor and conversation; 1 to 200 characters. If the actor already used it for '
      + 'the same content, the call returns the existing turn; for different content, it fails with Conflict. '
      + 'The id of a run, a colon and a number are reserved for the results of runs. Defaults to null, for no key.',
  }),
  replyToId: t.id({
    description:
      'Id of the turn to reply to, in any version. The turn must belong to the conversation and be visible to the '
      + 'author. A new turn defaults to null, for no reply.',
  }),
  contextId: t.id({
    description:
      'Id of the stored context from which the turn was generated. It must be a context of the conversation, built in the '
      + 'view of the author. Defaults to null, for none.',
  }),
  pinned: t.boolean({
    description:
      'Whether contexts include the turn regardless of its age. Pinned turns share one section of the budget; the '
      + 'newest are included first. A new turn defaults to false.',
  }),
  tokenUsage: t.field({
    type: TokenUsageInput,
    description: 'Numbers of tokens that the provider billed for generating the turn.',
  }),
  model: t.string({ description: "Provider's name of the model that generated the turn, 1 to 200 characters." }),
  adapter: t.string({
    description: 'Application-defined name of the program that called the model, 1 to 200 characters.',
  }),
  traceId: t.string({
    description: 'Application-defined id of the trace that produced the turn, 1 to 200 characters.',
  }),
  citations: t.field({
    type: [CitationInput],
    description: 'Passages of documents on which the turn is based, at most 100.',
  }),
  metadata: t.field({ type: 'JSON', description: `${METADATA} A new turn defaults to an empty object.` }),
  createdAt: t.field({
    type: 'DateTime',
    description:
      'Original time of an imported turn; must not be in the future. Defaults to the current time. Does not affect the '
      + 'order of turns. If given, the server sets `importedAt`.',
  }),
})

/** Content of a turn that is written at once. */
const contentFields = (t: InputFieldBuilder) => ({
  content: t.string({ description: 'Text of the turn, equivalent to a single text part. Exclusive with `parts`.' }),
  parts: t.field({
    type: [ContentPartInput],
    description: `Content parts in order, 1 to ${MAX_PARTS.toLocaleString('en-US')}. Exclusive with \`content\`.`,
  }),
})

/** The audience, which is fixed when a turn is created. */
const audienceField = (t: InputFieldBuilder) => ({
  audience: t.stringList({
    description:
      `Actors that may see the turn, 1 to ${MAX_AUDIENCE.toLocaleString('en-US')}; each must be a present `
      + 'participant, or an author in the same call. The author is added automatically. Defaults to null, for a turn '
      + 'without an audience.',
  }),
})

const newTurnFields = (t: InputFieldBuilder) => ({ ...turnFields(t), ...contentFields(t), ...audienceField(t) })

const TurnInput = builder.inputType('TurnInput', {
  description: 'Turn to append. Its content is either `content` or `parts`.',
  fields: newTurnFields,
})

export const AuthoredTurnInput = builder.inputType('AuthoredTurnInput', {
  description: 'Turn to append in a batch, which may have several authors. Its content is either `content` or `parts`.',
  fields: (t) => ({
    actor: t.string({
      description:
        'Author of the turn, 1 to 200 characters. Defaults to the viewer, which is `as` of appendTurns if given. An '
        + 'actor that is not a participant joins an OPEN conversation automatically, unless another actor has removed '
        + 'it.',
    }),
    ...newTurnFields(t),
  }),
})

export const StreamingTurnInput = builder.inputType('StreamingTurnInput', {
  description: 'Turn to open. appendDelta adds its text; commitTurn adds other parts.',
  fields: (t) => ({ ...turnFields(t), ...audienceField(t) }),
})

const TurnVersionInput = builder.inputType('TurnVersionInput', {
  description:
    'Newer version of a turn by the same actor. Its content is either `content` or `parts`. For `replyToId`, '
    + "`pinned`, `model` and `metadata`, omit the field to keep the older version's value; null clears it. Other "
    + 'fields are not kept.',
  fields: (t) => ({ ...turnFields(t), ...contentFields(t) }),
})

/** The field by which a turn answers the claimed turn. `effect` completes the sentence "The claim …". */
export const claimTokenField = (t: InputFieldBuilder, effect: string) => ({
  claimToken: t.string({
    description:
      'The `claimToken` passed to claimTurn by the author, to answer the claimed turn, which `turn.replyToId` names. The '
      + `claim ${effect}. Fails with Conflict if the claim has ended. Defaults to null, for a turn without a claim.`,
  }),
})

const AppendTurnInput = builder.inputType('AppendTurnInput', {
  description: 'Input of appendTurn: a conversation and the turn to append.',
  fields: (t) => ({
    ...conversationRef(t, 'that receives the turn'),
    turn: t.field({ type: TurnInput, required: true, description: 'Turn to append.' }),
    ...claimTokenField(t, 'ends as answered with this call'),
    expectedLastSeq: t.int({
      description:
        'Expected `lastSeq` of the conversation. If the journal has a newer entry, the call fails with Conflict. '
        + 'Defaults to null, for no check.',
    }),
    ...asNewField(t, AUTHOR),
  }),
})

/** Fields of the payload of a mutation that writes one turn. */
const writtenFields = <Written extends Superseded>(t: ObjectFieldBuilder<Written>) => ({
  turn: t.field({ type: 'Turn', description: 'Written version.', sharing: 'SHAREABLE', resolve: ({ turn }) => turn }),
  turnEdge: t.field({
    type: TurnEdge,
    description: 'Edge of the turn in Conversation.turns.',
    sharing: 'SHAREABLE',
    resolve: ({ turn }) => turnEdge(turn),
  }),
  deduplicated: t.boolean({
    description: 'Whether an earlier call with the same clientId had already written the turn.',
    sharing: 'SHAREABLE',
    resolve: ({ deduplicated }) => deduplicated,
  }),
  lastSeq: t.int({
    description:
      'Journal sequence number of the newest entry that the call wrote, or of the turn if it already existed.',
    sharing: 'SHAREABLE',
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
    type: appendedPayload('AppendTurn', 'The new turn, or the existing turn with the same clientId.'),
    description: 'Appends a turn to a conversation. Returns after the database commit.',
    introducesActor: true,
    errors: orErrors('AppendTurn', [InvalidInput, NotFound, NotAllowed, Conflict, LimitReached]),
    args: { input: t.arg({ type: AppendTurnInput, required: true, description: 'Conversation and turn.' }) },
    async resolve(_, { input }, context) {
      const given = await atConversation(context, input)
      return appendTurn(context.deps, context.viewer, given)
    },
  }),
)

const AppendTurnsPayload = payload<AppendedTurns>('AppendTurns').implement({
  description: 'Result of appendTurns.',
  fields: (t) => ({
    turns: t.field({
      type: ['Turn'],
      description: 'Turns in the order of the input. No other turn is written between new turns.',
      sharing: 'SHAREABLE',
      resolve: ({ turns }) => turns,
    }),
    turnEdges: t.field({
      type: [TurnEdge],
      description: 'Edges of the turns in Conversation.turns, in the order of the input.',
      sharing: 'SHAREABLE',
      resolve: ({ turns }) => turns.map(turnEdge),
    }),
    deduplicatedIds: t.exposeIDList('deduplicatedIds', {
      description: 'Ids of the turns that an earlier call with the same clientId had already written.',
    }),
    joinedActors: t.exposeStringList('joinedActors', {
      description: 'Authors that joined the conversation automatically with this call.',
    }),
    lastSeq: t.exposeInt('lastSeq', {
      description:
        'Journal sequence number of the newest entry that the call wrote, or of the newest turn if all turns already '
        + 'existed.',
    }),
  }),
})

const AppendTurnsInput = builder.inputType('AppendTurnsInput', {
  description: 'Input of appendTurns: a conversation and the turns to append.',
  fields: (t) => ({
    ...conversationRef(t, 'that receives the turns'),
    turns: t.field({
      type: [AuthoredTurnInput],
      required: true,
      description: "Turns to append, oldest first; at least 1, and at most the server's batch size, 1,000 by default.",
    }),
    ...asNewField(t, 'Actor that appends the turns, and the author of those without `actor`.'),
  }),
})

builder.mutationField('appendTurns', (t) =>
  t.field({
    type: AppendTurnsPayload,
    description:
      'Appends several turns to one conversation atomically: all turns, without other turns between them, or none.',
    introducesActor: true,
    errors: orErrors('AppendTurns', [InvalidInput, NotFound, NotAllowed, Conflict, LimitReached]),
    args: { input: t.arg({ type: AppendTurnsInput, required: true, description: 'Conversation and turns.' }) },
    async resolve(_, { input }, context) {
      const given = await atConversation(context, input)
      return appendTurns(context.deps, context.viewer, given)
    },
  }),
)

const SupersedeTurnInput = builder.inputType('SupersedeTurnInput', {
  description: 'Input of supersedeTurn: a turn and its newer version.',
  fields: (t) => ({
    turnId: t.id({
      required: true,
      description:
        'Id of the newest version of the turn. Fails with Conflict for an older version, an open turn, an erased '
        + 'turn, and a turn with a tool call that waits for approval or was approved or denied.',
    }),
    turn: t.field({ type: TurnVersionInput, required: true, description: 'Newer version.' }),
    ...asField(t, 'Author of the turn.'),
  }),
})

const SupersedeTurnPayload = payload<Superseded>('SupersedeTurn').implement({
  description: 'The newer version, or the existing version with the same clientId.',
  fields: (t) => writtenFields(t),
})

builder.mutationField('supersedeTurn', (t) =>
  t.field({
    type: SupersedeTurnPayload,
    description:
      'Edits or regenerates a turn: writes a newer version with the same position. Older versions can still be '
      + 'read. Only the author of the turn may supersede it.',
    errors: orErrors('SupersedeTurn', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: { input: t.arg({ type: SupersedeTurnInput, required: true, description: 'Turn and its newer version.' }) },
    resolve: (_, { input }, { deps, viewer }) => supersedeTurn(deps, viewer, input),
  }),
)
