// Streaming turns: the mutations that open a turn, append deltas, and commit or abort it.

import { appendDelta, type DeltaReceipt } from '../../domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn, MAX_ABORT_REASON } from '../../domain/turn/streaming/stream.ts'
import { openTurn, STREAM_LEASE } from '../../domain/turn/append/append.ts'
import { MAX_PARTS } from '../../domain/turn/content.ts'
import type { Turn } from '../../domain/turn/turn.ts'
import { Conflict, InvalidInput, LimitReached, NotAllowed, NotFound, StreamClosed } from '../../errors.ts'
import { appendedPayload, AUTHOR, claimTokenField, StreamingTurnInput, TokenUsageInput } from './append.ts'
import { WRITER_TOKEN } from '../../domain/turn/append/turn-input.ts'
import { asField, asNewField } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { atConversation, conversationRef } from '../conversation/conversation-ref.ts'
import { ContentPartInput } from './content.ts'
import { StreamedPartInput } from './streamed-part.ts'
import { loadTurnOf } from '../kernel/loaders.ts'
import { orErrors, payload } from '../kernel/errors.ts'

const TOKEN_LENGTH = `${WRITER_TOKEN.min} to ${WRITER_TOKEN.max} characters`
const WRITER_TOKEN_DESCRIPTION = 'The `writerToken` passed to openTurn. Another token fails with NotAllowed.'

const OpenTurnInput = builder.inputType('OpenTurnInput', {
  description: "Input of openTurn: a conversation, the turn to open and the writer's token.",
  fields: (t) => ({
    ...conversationRef(t, 'that receives the turn'),
    turn: t.field({ type: StreamingTurnInput, required: true, description: 'Turn to open, without its content.' }),
    ...claimTokenField(t, 'does not expire while the turn is open; committing the turn answers, aborting it releases'),
    expectedLastSeq: t.int({
      description:
        'Expected `lastSeq` of the conversation. If the journal has a newer entry, the call fails with Conflict. '
        + 'Defaults to null, for no check.',
    }),
    writerToken: t.string({
      required: true,
      description:
        `Secret of the writer, ${TOKEN_LENGTH}, for example a random UUID. appendDelta, commitTurn and abortTurn `
        + 'require it. With the same `turn.clientId` and token, openTurn returns the same turn; with another token, '
        + 'it fails with Conflict.',
    }),
    leaseSeconds: t.int({
      description:
        'Duration of the lease, in seconds: the turn is aborted if the writer sends no delta for longer. Each delta '
        + `renews the lease. ${STREAM_LEASE.min} to ${STREAM_LEASE.max}. Defaults to the setting STREAM_LEASE_SECONDS of `
        + 'the server, which is 30 by default.',
    }),
    ...asNewField(t, AUTHOR),
  }),
})

builder.mutationField('openTurn', (t) =>
  t.field({
    type: appendedPayload('OpenTurn', 'The new streaming turn, or the existing turn with the same clientId.'),
    description:
      'Opens a streaming turn. Its position is assigned immediately; appendDelta adds its text. The turn is aborted '
      + 'if the writer sends no delta for longer than its lease; see `leaseSeconds`.',
    introducesActor: true,
    errors: orErrors('OpenTurn', [InvalidInput, NotFound, NotAllowed, Conflict, LimitReached]),
    args: {
      input: t.arg({ type: OpenTurnInput, required: true, description: 'Conversation, turn and writer token.' }),
    },
    async resolve(_, { input }, context) {
      const given = await atConversation(context, input)
      return openTurn(context.deps, context.viewer, given)
    },
  }),
)

const AppendDeltaPayload = payload<DeltaReceipt>('AppendDelta').implement({
  description: 'Receipt for a stored delta.',
  fields: (t) => ({
    turnId: t.exposeID('turnId', { description: 'Id of the turn that received the text.' }),
    turn: t.field({
      type: 'Turn',
      description: 'The turn with the content streamed so far.',
      sharing: 'PER_VIEWER',
      resolve: ({ turnId }, _, context) => loadTurnOf(context, turnId),
    }),
    end: t.exposeInt('end', {
      description:
        'Length of the text after the delta, in UTF-16 code units, as the writer sent it, before redaction. For a delta '
        + 'of a part, the length of the text of this part. Pass it as `start` of the next delta.',
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
  description:
    "Input of appendDelta: an open turn, the writer's token, and the text to append to the turn or to a part of it.",
  fields: (t) => ({
    turnId: t.id({ required: true, description: 'Id of the open turn.' }),
    writerToken: t.string({ required: true, description: WRITER_TOKEN_DESCRIPTION }),
    text: t.string({
      required: true,
      description:
        'Text to append. An empty text is a heartbeat, which only renews the lease, unless it opens or completes a '
        + '`part`.',
    }),
    start: t.int({
      description:
        'Offset of the text in the text of the turn, or of the `part`, in UTF-16 code units, as the writer sent it, before '
        + 'redaction. Defaults to the end. With it, the call can be retried: text that is already stored is dropped. A '
        + 'gap or different text fails with Conflict.',
    }),
    part: t.field({
      type: StreamedPartInput,
      description: "Part that receives the text. Defaults to null, for the turn's own text.",
    }),
    ...asField(t),
  }),
})

builder.mutationField('appendDelta', (t) =>
  t.field({
    type: AppendDeltaPayload,
    description:
      "Appends text to an open turn or to a part of it, and renews the writer's lease. Returns after the database commit.",
    errors: orErrors('AppendDelta', [InvalidInput, NotFound, NotAllowed, Conflict, StreamClosed]),
    args: { input: t.arg({ type: AppendDeltaInput, required: true, description: 'Turn and text.' }) },
    resolve: (_, { input }, { deps, viewer }) => appendDelta(deps, viewer, input),
  }),
)

const CommitTurnInput = builder.inputType('CommitTurnInput', {
  description: "Input of commitTurn: an open turn, the writer's token and the rest of the content.",
  fields: (t) => ({
    turnId: t.id({ required: true, description: 'Id of the open turn.' }),
    writerToken: t.string({ required: true, description: WRITER_TOKEN_DESCRIPTION }),
    parts: t.field({
      type: [ContentPartInput],
      description:
        `Parts to append after the streamed content, such as tool calls; at most ${MAX_PARTS.toLocaleString('en-US')} with `
        + 'that content. Must not contain text parts. A tool call replaces the streamed one with the same `callId`.',
    }),
    tokenUsage: t.field({
      type: TokenUsageInput,
      description: 'Numbers of tokens that the provider billed. Omit to keep the numbers set by openTurn.',
    }),
    model: t.string({
      description: "Provider's name of the model that generated the turn. Omit to keep the model set by openTurn.",
    }),
    metadata: t.field({ type: 'JSON', description: 'Replaces the metadata set by openTurn. Omit to keep it.' }),
    omitIncompleteCalls: t.boolean({
      description:
        'Whether to leave out streamed tool calls that have not had their last delta and are not in `parts`, for example '
        + 'if the model has reached its token limit. Defaults to false: they are completed, and must be JSON.',
    }),
    ...asField(t),
  }),
})

builder.mutationField('commitTurn', (t) =>
  t.field({
    type: endedPayload('CommitTurn', 'Result of commitTurn.', 'Committed turn.'),
    description:
      'Commits an open turn. Its content is the streamed text, with the streamed parts where they were opened, followed '
      + 'by `parts`. Progress of tools is not kept. Repeated with the same input, the call returns the current turn.',
    errors: orErrors('CommitTurn', [InvalidInput, NotFound, NotAllowed, Conflict, StreamClosed]),
    args: {
      input: t.arg({ type: CommitTurnInput, required: true, description: 'Turn, and the content after its text.' }),
    },
    resolve: async (_, { input }, { deps, viewer }) => ({ turn: await commitTurn(deps, viewer, input) }),
  }),
)

const AbortTurnInput = builder.inputType('AbortTurnInput', {
  description: "Input of abortTurn: an open turn, the writer's token and the reason.",
  fields: (t) => ({
    turnId: t.id({ required: true, description: 'Id of the open turn.' }),
    writerToken: t.string({ required: true, description: WRITER_TOKEN_DESCRIPTION }),
    reason: t.string({
      description: `Stored as \`abortReason\` of the turn; at most ${MAX_ABORT_REASON.toLocaleString('en-US')} characters.`,
    }),
    ...asField(t),
  }),
})

builder.mutationField('abortTurn', (t) =>
  t.field({
    type: endedPayload('AbortTurn', 'Result of abortTurn.', 'Aborted turn, with the content streamed so far.'),
    description:
      'Aborts an open turn. The turn keeps its position and content, except tool calls and results that do not answer each '
      + 'other in the turn; its clientId can be used again. Repeated with the same input, the call returns the turn.',
    errors: orErrors('AbortTurn', [InvalidInput, NotFound, NotAllowed, StreamClosed]),
    args: { input: t.arg({ type: AbortTurnInput, required: true, description: 'Turn and reason.' }) },
    resolve: async (_, { input }, { deps, viewer }) => ({ turn: await abortTurn(deps, viewer, input) }),
  }),
)
