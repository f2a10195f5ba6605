// Appending turns: their input types, and the mutations that append turns or supersede one with a newer version.

import { JSON_BYTES, JSON_DEPTH } from '../domain/input.ts'
import { appendTurn, appendTurns } from '../domain/turn/append.ts'
import { supersedeTurn } from '../domain/turn/supersede.ts'
import type { Turn } from '../domain/turn/turn.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound, LimitReached } from '../errors.ts'
import { builder } from './builder.ts'
import { ContentPartInput } from './content.ts'
import { orErrors } from './result.ts'
import { RoleEnum } from './turn.ts'

export const TokenCountsInput = builder.inputType('TokenCountsInput', {
  description: 'Tokens as a provider billed them for making a turn.',
  fields: (t) => ({
    prompt: t.int({ required: true, description: 'Tokens the model was shown.' }),
    completion: t.int({ required: true, description: 'Tokens the model wrote.' }),
  }),
})

const SourceInput = builder.inputType('SourceInput', {
  description: 'A piece of a document that a turn was drawn from. Kept as it is given.',
  fields: (t) => ({
    documentId: t.string({ description: 'The document, by an id of your own; at most 1,000 characters.' }),
    documentName: t.string({ description: 'A name to cite the document by; at most 1,000 characters.' }),
    chunk: t.string({ description: 'The passage itself, or an id of it; at most 65,536 characters.' }),
    score: t.float({ description: 'How well it matched, on a scale of your own.' }),
  }),
})

export const TurnInput = builder.inputType('TurnInput', {
  description:
    'A turn to be written. It says something, in `content` or in `parts`, unless it is being opened for streaming.',
  fields: (t) => ({
    actor: t.string({
      description: 'Who says it; the viewer when left out. Who is not in the conversation yet joins it by speaking.',
    }),
    role: t.field({ type: RoleEnum, required: true, description: 'In whose part it is said, as models know it.' }),
    content: t.string({ description: 'Its text: short for one text part. Not together with `parts`.' }),
    parts: t.field({
      type: [ContentPartInput],
      description: 'What it says, in order, at most 1,000 pieces. Not together with `content`.',
    }),
    clientId: t.string({
      description:
        "Makes sending it again safe: the same actor's same id in the same conversation returns the first turn if the "
        + 'content is the same, and a Conflict if not.',
    }),
    audience: t.stringList({
      description:
        'The participants it is meant for, at most 1,000; the author is added. Nobody else ever sees it. Everybody '
        + 'when left out.',
    }),
    replyToId: t.id({
      description:
        'The turn that this turn replies to, in any version: a turn of the conversation that the author sees. Defaults to '
        + 'null, for none.',
    }),
    pinned: t.boolean({ description: 'Whether every context is to keep it, however old it gets; no when left out.' }),
    tokens: t.field({ type: TokenCountsInput, description: 'Tokens as the provider billed them.' }),
    model: t.string({ description: "The model that wrote it, by its provider's name." }),
    adapter: t.string({ description: 'The program that called the model.' }),
    traceId: t.string({ description: 'The trace, in your own tracing, that made it.' }),
    sources: t.field({ type: [SourceInput], description: 'What it was drawn from, at most 100 passages.' }),
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
  }),
})

const AppendTurnInput = builder.inputType('AppendTurnInput', {
  description: 'What is said in which conversation.',
  fields: (t) => ({
    conversationId: t.id({ required: true, description: 'The conversation it is said in.' }),
    turn: t.field({ type: TurnInput, required: true, description: 'What is said.' }),
    expectedLastSeq: t.int({
      description:
        'The `lastSeq` that the caller knows. If the journal has moved on, nothing is written, and a Conflict says so.',
    }),
  }),
})

builder.mutationField('appendTurn', (t) =>
  t.field({
    type: 'Turn',
    description:
      'Says something. What is answered is committed: it has its place in the conversation, and will not be lost.',
    errors: orErrors('AppendTurn', 'The appended turn, or an error.', [
      InvalidInput,
      NotFound,
      NotAllowed,
      Conflict,
      LimitReached,
    ]),
    args: {
      input: t.arg({ type: AppendTurnInput, required: true, description: 'The conversation, and what is said there.' }),
    },
    resolve: (_, { input }, { deps, viewer }) => appendTurn(deps, viewer, input),
  }),
)

const AppendTurnsPayload = builder
  .objectRef<{ turns: Turn[] }>('AppendTurnsPayload')
  .implement({
    description: 'Turns that were written together.',
    fields: (t) => ({
      turns: t.field({
        type: ['Turn'],
        description:
          'In the order given, one after the other in the conversation; those of a known clientId where they stood '
          + 'already.',
        resolve: ({ turns }) => turns,
      }),
    }),
  })

const AppendTurnsInput = builder.inputType('AppendTurnsInput', {
  description: 'Several things said in one conversation at once.',
  fields: (t) => ({
    conversationId: t.id({ required: true, description: 'The conversation they are said in.' }),
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
    errors: orErrors('AppendTurns', 'The appended turns, or an error.', [
      InvalidInput,
      NotFound,
      NotAllowed,
      Conflict,
      LimitReached,
    ]),
    args: {
      input: t.arg({
        type: AppendTurnsInput,
        required: true,
        description: 'The conversation, and what is said there.',
      }),
    },
    async resolve(_, { input }, { deps, viewer }) {
      return { turns: await appendTurns(deps, viewer, input) }
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
    turn: t.field({
      type: TurnInput,
      required: true,
      description:
        'The newer version, by the same actor. Omit `audience`, which cannot change. `replyToId`, `pinned`, `model` and `metadata` of '
        + 'the older version are kept if omitted, and cleared by null; the other fields are not kept.',
    }),
  }),
})

builder.mutationField('supersedeTurn', (t) =>
  t.field({
    type: 'Turn',
    description: 'Edits or regenerates a turn: a newer version stands in its place, the older ones can still be read.',
    errors: orErrors('SupersedeTurn', 'The new version, or an error.', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: {
      input: t.arg({ type: SupersedeTurnInput, required: true, description: 'The turn, and what takes its place.' }),
    },
    resolve: (_, { input }, { deps, viewer }) => supersedeTurn(deps, viewer, input),
  }),
)
