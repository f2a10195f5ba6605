// The part of an open turn that a delta adds to.

import { MAX_STREAMED_PARTS } from '../../domain/turn/content.ts'
import { builder } from '../kernel/builder.ts'
import { FileInput, SourceInput, ToolResultInput } from './content.ts'

const CALL_ID = 'Id of the call, 1 to 200 characters.'

const StreamedToolCallInput = builder.inputType('StreamedToolCallInput', {
  description: 'Tool call by a model, whose arguments are the text of the part: JSON. No text means no arguments.',
  fields: (t) => ({
    callId: t.string({ required: true, description: `${CALL_ID} Pass the provider's id if it has one.` }),
    name: t.string({ required: true, description: 'Name of the called tool, 1 to 200 characters.' }),
  }),
})

const ToolProgressInput = builder.inputType('ToolProgressInput', {
  description: 'Progress of a running tool, which is the text of the part. It is not kept when the turn ends.',
  fields: (t) => ({ callId: t.string({ required: true, description: CALL_ID }) }),
})

const StreamedReasoningInput = builder.inputType('StreamedReasoningInput', {
  description: 'Reasoning of a model, which is the text of the part.',
  fields: (t) => ({
    signature: t.string({
      description:
        "Provider's signature of the whole reasoning. Completes the part. Not kept if the server redacts the turn, "
        + 'because the provider would reject a redacted reasoning with it.',
    }),
  }),
})

export const StreamedPartInput = builder.inputType('StreamedPartInput', {
  description:
    'Part of an open turn that a delta adds to. The first delta of a part gives exactly one of the fields from `toolCall` '
    + 'to `data`, which opens the part where the text of the turn ends; later deltas need only the number.',
  fields: (t) => ({
    number: t.int({
      required: true,
      description: `Number of the part in its turn, from 1 without gaps; at most ${MAX_STREAMED_PARTS}.`,
    }),
    toolCall: t.field({ type: StreamedToolCallInput, description: 'Tool call by a model.' }),
    toolProgress: t.field({ type: ToolProgressInput, description: 'Progress of a running tool.' }),
    reasoning: t.field({ type: StreamedReasoningInput, description: 'Reasoning of a model before its answer.' }),
    toolResult: t.field({ type: ToolResultInput, description: 'Result of a tool call. It is complete, without text.' }),
    file: t.field({ type: FileInput, description: 'Reference to a file or an image. It is complete, without text.' }),
    source: t.field({ type: SourceInput, description: 'Source of the answer. It is complete, without text.' }),
    data: t.field({
      type: 'JSON',
      description: 'Application-defined content: any JSON value other than null. It is complete, without text.',
    }),
    isComplete: t.boolean({
      description: 'Whether the delta is the last one of the part. Defaults to false. Committing completes all parts.',
    }),
  }),
})
