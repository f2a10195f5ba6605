// The content parts of a turn: their output types and input types.

import { isDamaged, partsOf, type ContentPart as Part } from '../domain/turn/content.ts'
import { MAX_URL, URL_SCHEMES } from '../domain/turn/file-url.ts'
import { builder } from './builder.ts'
import { SHAREABLE } from './sharing.ts'

type PartOf<Type extends Part['type']> = Extract<Part, { type: Type }>

const TextPart = builder
  .objectRef<PartOf<'text'>>('TextPart')
  .implement({
    description: 'Words for people and models.',
    fields: (t) => ({
      text: t.exposeString('text', { description: 'Plain text or Markdown, as the author wrote it.' }),
    }),
  })

const ToolCallPart = builder
  .objectRef<PartOf<'toolCall'>>('ToolCallPart')
  .implement({
    description: 'A model asks for a tool.',
    fields: (t) => ({
      callId: t.exposeString('callId', {
        description: "The caller's or provider's id of the call, by which a result answers it.",
      }),
      name: t.exposeString('name', { description: 'The tool that is asked for.' }),
      arguments: t.expose('arguments', { type: 'JSON', description: 'What the tool is given, as the model wrote it.' }),
    }),
  })

const ToolResultPart = builder
  .objectRef<PartOf<'toolResult'>>('ToolResultPart')
  .implement({
    description: 'What a tool answered.',
    fields: (t) => ({
      callId: t.exposeString('callId', {
        description: 'The id of the call that this answers. Other turns may have calls with the same id.',
      }),
      callTurnId: t.id({
        nullable: true,
        description:
          'The turn that made the call, in the version that was the newest then. May be a turn that the viewer does not '
          + 'see. Null only for results stored before calls were identified by turn, if several turns made such a call.',
        extensions: SHAREABLE,
        resolve: ({ callTurnId }) => callTurnId ?? null,
      }),
      name: t.exposeString('name', { description: 'The tool that answered.' }),
      result: t.expose('result', {
        type: 'JSON',
        nullable: true,
        description: 'The result, errors included. Null if the tool returned null.',
      }),
    }),
  })

const FilePart = builder
  .objectRef<PartOf<'file'>>('FilePart')
  .implement({
    description: 'A reference to a file or a picture. The bytes are not stored here.',
    fields: (t) => ({
      mediaType: t.exposeString('mediaType', { description: 'What it is, like `image/png`.' }),
      url: t.exposeString('url', { description: 'Where the bytes are. The server never fetches it.' }),
      fileName: t.exposeString('fileName', { nullable: true, description: 'A name to show; null if not given.' }),
    }),
  })

const ReasoningPart = builder
  .objectRef<PartOf<'reasoning'>>('ReasoningPart')
  .implement({
    description: 'What a model thought before it spoke. Some providers want it back together with its tool calls.',
    fields: (t) => ({
      reasoning: t.exposeString('reasoning', {
        description: "The thoughts, or what the provider shows of them. Not part of the turn's text.",
      }),
      signature: t.exposeString('signature', {
        nullable: true,
        description: "The provider's proof that the thoughts are its own; null where it gives none.",
      }),
    }),
  })

const DataPart = builder
  .objectRef<PartOf<'data'>>('DataPart')
  .implement({
    description: "Structured content of the caller's own making, such as a form or a card.",
    fields: (t) => ({ data: t.expose('data', { type: 'JSON', description: 'Any JSON value but null.' }) }),
  })

const TYPES = {
  text: TextPart,
  toolCall: ToolCallPart,
  toolResult: ToolResultPart,
  file: FilePart,
  reasoning: ReasoningPart,
  data: DataPart,
} as const

export const ContentPart = builder.unionType('ContentPart', {
  description: 'One piece of what a turn says.',
  types: Object.values(TYPES),
  resolveType: (part) => TYPES[part.type],
})

builder.objectField('Turn', 'parts', (t) =>
  t.field({
    type: [ContentPart],
    description:
      'All that it says, in order; a plain turn is one text part. Empty while nothing is written, and once erased.',
    extensions: SHAREABLE,
    resolve: (turn, _, { deps }) => {
      if (isDamaged(turn)) deps.log.warn({ turnId: turn.id }, 'left out damaged parts of a turn')
      return partsOf(turn)
    },
  }),
)

const call = "By which call and result belong together: 1 to 200 characters, the provider's own id where there is one."

const ToolCallInput = builder.inputType('ToolCallInput', {
  description: "A model's request for a tool.",
  fields: (t) => ({
    callId: t.string({ required: true, description: call }),
    name: t.string({ required: true, description: 'The tool that is asked for.' }),
    arguments: t.field({
      type: 'JSON',
      required: true,
      description: 'Arguments of the call. A text that contains a JSON object is stored as this object.',
    }),
  }),
})

const ToolResultInput = builder.inputType('ToolResultInput', {
  description:
    "A tool's answer to a call that was made in the same conversation before, or earlier in the same batch or turn.",
  fields: (t) => ({
    callId: t.string({ required: true, description: call }),
    callTurnId: t.id({
      description:
        'The turn that made the call, in any version. Required if the author sees calls of several actors with this '
        + '`callId` and `name`, or several such calls of one actor without a result; then InvalidInput lists the turns.',
    }),
    name: t.string({ required: true, description: 'Name of the tool. Must equal the name in the call.' }),
    result: t.field({
      type: 'JSON',
      description: 'Any JSON value, errors included. Defaults to null, which is a result, too.',
    }),
  }),
})

const FileInput = builder.inputType('FileInput', {
  description: 'A reference to a file or a picture that is kept elsewhere.',
  fields: (t) => ({
    mediaType: t.string({ required: true, description: 'What it is, like `image/png`.' }),
    url: t.string({
      required: true,
      description:
        `Absolute URL of at most ${MAX_URL.toLocaleString('en-US')} characters with the scheme ${URL_SCHEMES}. Data URLs of `
        + 'HTML, XML and SVG documents are refused. The server never fetches it.',
    }),
    fileName: t.string({ description: 'A name to show.' }),
  }),
})

const ReasoningInput = builder.inputType('ReasoningInput', {
  description: 'What a model thought before it spoke.',
  fields: (t) => ({
    reasoning: t.string({
      required: true,
      description: 'The thoughts, or what the provider shows of them. May be empty beside a signature.',
    }),
    signature: t.string({ description: "The provider's proof that the thoughts are its own, which it may want back." }),
  }),
})

export const ContentPartInput = builder.inputType('ContentPartInput', {
  description: 'One piece of what a turn says: exactly one of the fields.',
  isOneOf: true,
  fields: (t) => ({
    text: t.string({ description: 'Words for people and models.' }),
    toolCall: t.field({ type: ToolCallInput, description: 'A model asks for a tool.' }),
    toolResult: t.field({ type: ToolResultInput, description: 'A tool answers a call.' }),
    file: t.field({ type: FileInput, description: 'A file or a picture, by reference.' }),
    reasoning: t.field({ type: ReasoningInput, description: 'What a model thought before it spoke.' }),
    data: t.field({ type: 'JSON', description: 'Structured content of your own making: any JSON value but null.' }),
  }),
})
