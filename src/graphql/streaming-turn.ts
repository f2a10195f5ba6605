// Streaming turns: the mutations that open a turn, append deltas, and commit or abort it.

import { abortTurn, appendDelta, commitTurn, type DeltaReceipt } from '../domain/streaming-turn/stream.ts'
import { openTurn } from '../domain/turn/append.ts'
import type { Turn } from '../domain/turn/turn.ts'
import { Conflict, InvalidInput, LimitReached, NotAllowed, NotFound, StreamClosed } from '../errors.ts'
import { appendedPayload, StreamingTurnInput, TokenUsageInput } from './append.ts'
import { WRITER_TOKEN } from '../domain/turn/writer.ts'
import { builder } from './builder.ts'
import { atConversation, conversationRef } from './conversation-ref.ts'
import { ContentPartInput } from './content.ts'
import { loadTurnOf } from './loaders.ts'
import { orErrors, payload } from './result.ts'

const TOKEN_LENGTH = `${WRITER_TOKEN.min} to ${WRITER_TOKEN.max} characters`
const WRITER_TOKEN_DESCRIPTION = 'The writerToken with which the turn was opened. Another token fails with NotAllowed.'

const OpenTurnInput = builder.inputType('OpenTurnInput', {
  description: 'Who begins to speak in which conversation.',
  fields: (t) => ({
    ...conversationRef(t, 'that receives the turn'),
    turn: t.field({ type: StreamingTurnInput, required: true, description: 'The turn, without its content.' }),
    expectedLastSeq: t.int({
      description:
        "The conversation's `lastSeq` as the caller knows it. Fails with Conflict if the journal has newer entries.",
    }),
    writerToken: t.string({
      required: true,
      description:
        `A secret of the writer, ${TOKEN_LENGTH}, for example a random UUID. Every later call about the turn must send `
        + 'it. With the same `turn.clientId` and token, openTurn returns the same turn; with another token, it fails '
        + 'with Conflict.',
    }),
  }),
})

builder.mutationField('openTurn', (t) =>
  t.field({
    type: appendedPayload('OpenTurn', 'The new streaming turn, or the one that an earlier call opened.'),
    description:
      'Begins a turn whose text is still to come. It takes its place in the conversation at once; a writer who is silent for '
      + 'longer than the lease (30 s by default) loses it.',
    errors: orErrors('OpenTurn', [InvalidInput, NotFound, NotAllowed, Conflict, LimitReached]),
    args: {
      input: t.arg({ type: OpenTurnInput, required: true, description: 'The conversation, and who speaks there.' }),
    },
    async resolve(_, { input }, context) {
      const given = await atConversation(context, input, input.turn.actor)
      return openTurn(context.deps, context.viewer, given)
    },
  }),
)

const AppendDeltaPayload = payload<DeltaReceipt>('AppendDelta').implement({
  description: 'Confirms that the text is stored.',
  fields: (t) => ({
    turnId: t.exposeID('turnId', { description: 'The turn that received the text.' }),
    turn: t.field({
      type: 'Turn',
      description: 'The turn with its text so far.',
      resolve: ({ turnId }, _, context) => loadTurnOf(context, context.viewer, turnId),
    }),
    end: t.exposeInt('end', {
      description: 'Length of the text after the delta, in UTF-16 units: the `start` of the next delta.',
    }),
  }),
})

/** Defines the payload of a mutation that ends a streaming turn; `turn` describes the turn. */
const endedPayload = (verb: 'CommitTurn' | 'AbortTurn', description: string, turn: string) =>
  payload<{ turn: Turn }>(verb).implement({
    description,
    fields: (t) => ({ turn: t.expose('turn', { type: 'Turn', description: turn }) }),
  })

const AppendDeltaInput = builder.inputType('AppendDeltaInput', {
  description: 'More text for an open turn.',
  fields: (t) => ({
    turnId: t.id({ required: true, description: 'The open turn.' }),
    writerToken: t.string({ required: true, description: WRITER_TOKEN_DESCRIPTION }),
    text: t.string({ required: true, description: 'The text. Empty, it only says that the writer is alive.' }),
    start: t.int({
      description:
        "Where the text begins, in UTF-16 units; the turn's end when left out. It makes sending again safe: what is "
        + 'there already, and equal, is dropped; a hole or other text is a Conflict.',
    }),
  }),
})

builder.mutationField('appendDelta', (t) =>
  t.field({
    type: AppendDeltaPayload,
    description: "Goes on writing an open turn. What is answered is stored, and renews the writer's lease.",
    errors: orErrors('AppendDelta', [InvalidInput, NotFound, NotAllowed, Conflict, StreamClosed]),
    args: { input: t.arg({ type: AppendDeltaInput, required: true, description: 'The turn, and how it goes on.' }) },
    resolve: (_, { input }, { deps, viewer }) => appendDelta(deps, viewer, input),
  }),
)

const CommitTurnInput = builder.inputType('CommitTurnInput', {
  description: 'How an open turn ends well.',
  fields: (t) => ({
    turnId: t.id({ required: true, description: 'The open turn.' }),
    writerToken: t.string({ required: true, description: WRITER_TOKEN_DESCRIPTION }),
    parts: t.field({
      type: [ContentPartInput],
      description: 'What follows the streamed text, such as tool calls. No text parts.',
    }),
    tokenUsage: t.field({
      type: TokenUsageInput,
      description: 'Numbers of tokens that the provider billed. Omit to keep those set by openTurn.',
    }),
    model: t.string({ description: 'The model that wrote it; the one given on opening stays when left out.' }),
    metadata: t.field({
      type: 'JSON',
      description: 'Takes the place of the metadata given on opening, which stays when left out.',
    }),
  }),
})

builder.mutationField('commitTurn', (t) =>
  t.field({
    type: endedPayload('CommitTurn', 'Result of a commit.', 'The turn with its whole content.'),
    description:
      'Ends an open turn: what was streamed, and the parts given here, is what it says from now on. Sent again with the same '
      + 'input, returns the turn as it is.',
    errors: orErrors('CommitTurn', [InvalidInput, NotFound, NotAllowed, StreamClosed]),
    args: {
      input: t.arg({ type: CommitTurnInput, required: true, description: 'The turn, and what follows its text.' }),
    },
    resolve: async (_, { input }, { deps, viewer }) => ({ turn: await commitTurn(deps, viewer, input) }),
  }),
)

const AbortTurnInput = builder.inputType('AbortTurnInput', {
  description: 'How an open turn is broken off.',
  fields: (t) => ({
    turnId: t.id({ required: true, description: 'The open turn.' }),
    writerToken: t.string({ required: true, description: WRITER_TOKEN_DESCRIPTION }),
    reason: t.string({ description: 'Why, for those who read it; at most 1,000 characters.' }),
  }),
})

builder.mutationField('abortTurn', (t) =>
  t.field({
    type: endedPayload('AbortTurn', 'Result of an abort.', 'The turn with the text that it had when it was aborted.'),
    description:
      'Breaks an open turn off. It keeps its place and the text it has, but not its clientId. Sent again with the same input, '
      + 'returns the turn as it is.',
    errors: orErrors('AbortTurn', [InvalidInput, NotFound, NotAllowed, StreamClosed]),
    args: { input: t.arg({ type: AbortTurnInput, required: true, description: 'The turn, and why it ends.' }) },
    resolve: async (_, { input }, { deps, viewer }) => ({ turn: await abortTurn(deps, viewer, input) }),
  }),
)
