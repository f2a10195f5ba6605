// The events of turns, with and without the text of open turns.

import type {
  TurnEvent,
  VisibleDelta,
  VisiblePartDelta,
  VisibleSuperseded,
  VisibleTurnUpdated,
  WakeUpsStopped,
} from '../../../domain/turn/journal/event.ts'
import { NotFound } from '../../../errors.ts'
import { liveContentOf, streamedContentOf } from '../../../domain/turn/streamed-part.ts'
import { builder } from '../../kernel/builder.ts'
import { ContentPart } from '../content.ts'
import { interfaces } from './event-interface.ts'
import { loadConversationOf, loadPreviousVersion, loadTurn } from '../../kernel/loaders.ts'

const TURN_EVENTS: Record<TurnEvent['type'], [description: string, turn: string]> = {
  TurnAppended: ['A complete turn was appended.', 'The appended turn.'],
  TurnOpened: [
    'A streaming turn was opened. TurnDelta delivers its text, and TurnPartDelta its other parts.',
    'The opened turn. It may already be committed or aborted.',
  ],
  TurnCommitted: ['A streaming turn was committed.', 'The committed turn, with its whole content.'],
  TurnAborted: ['A streaming turn was aborted.', 'The aborted turn, with the text received until then and the reason.'],
  TurnErased: [
    'The content of a version of a turn was erased, one event for each version. Remove all copies of its content. The '
      + 'facts, summaries and profiles made from it are deleted or made again.',
    'The version, without content: its status is ERASED.',
  ],
}

for (const [name, [description, turn]] of Object.entries(TURN_EVENTS)) {
  builder
    .objectRef<TurnEvent>(name)
    .implement({
      description,
      interfaces,
      fields: (t) => ({ turn: t.expose('turn', { type: 'Turn', description: turn }) }),
    })
}

builder.objectRef<VisibleSuperseded>('TurnSuperseded').implement({
  description:
    'A newer version superseded a turn. It is open while it is streamed: TurnDelta and TurnPartDelta then deliver its '
    + 'content, and TurnCommitted or TurnAborted follows.',
  interfaces,
  fields: (t) => ({
    turn: t.field({
      type: 'Turn',
      description: 'The previous version that the viewer sees. If that version no longer exists, the newer version.',
      sharing: 'SHAREABLE',
      async resolve(event, _, context) {
        if (event.turn) return event.turn
        const turn = await loadPreviousVersion(context, event.by.id)
        if (!turn) throw new NotFound('turn', event.by.id)
        return turn
      },
    }),
    by: t.expose('by', { type: 'Turn', description: 'The newer version. It may be open.' }),
  }),
})

builder.objectRef<VisibleTurnUpdated>('TurnUpdated').implement({
  description: 'A turn was pinned or unpinned, without a newer version.',
  interfaces,
  fields: (t) => ({
    turn: t.field({
      type: 'Turn',
      description: 'The newest version that the viewer sees.',
      sharing: 'SHAREABLE',
      async resolve(event, _, context) {
        if (event.turn) return event.turn
        const turn = await loadPreviousVersion(context, event.newestId)
        if (!turn) throw new NotFound('turn', event.newestId)
        return turn
      },
    }),
  }),
})

builder
  .objectRef<WakeUpsStopped>('WakeUpsStopped')
  .implement({
    description:
      'A turn of an agent woke up no participant, although some respond to it, because the number of consecutive turns '
      + 'of agents exceeds `maxAgentTurns` of the conversation. The next turn of a person wakes up participants again.',
    interfaces,
    fields: (t) => ({
      turn: t.expose('turn', { type: 'Turn', description: 'The turn of the agent.' }),
      limit: t.int({
        description: 'Current `maxAgentTurns` of the conversation.',
        sharing: 'SHAREABLE',
        resolve: async (event, _, context) => (await loadConversationOf(context, event.conversationId)).maxAgentTurns,
      }),
    }),
  })

builder
  .objectRef<VisibleDelta>('TurnDelta')
  .implement({
    description:
      'Additional text of an open turn. The first delta that a new subscriber receives starts at 0 and '
      + 'contains all text so far; the deltas together are the text of the turn.',
    interfaces,
    fields: (t) => ({
      turnId: t.exposeID('turnId', { description: 'Id of the open turn.' }),
      start: t.exposeInt('start', { description: 'Offset of the delta in the text of the turn, in UTF-16 units.' }),
      end: t.exposeInt('end', {
        description: 'Offset of the end of the delta, in UTF-16 units: `start` of the next delta.',
      }),
      text: t.exposeString('text', { description: 'Text from `start` up to `end`.' }),
      turn: t.field({
        type: 'Turn',
        nullable: true,
        description:
          'Current state of the turn, with its whole text so far, which may include text after this delta. '
          + 'Null if the turn no longer exists, or is no longer in view.',
        sharing: 'SHAREABLE',
        resolve: (event, _, context) => loadTurn(context, event.turnId),
      }),
    }),
  })

const StreamedPartType = builder.enumType('StreamedPartType', {
  description: 'Type of a part of an open turn.',
  values: {
    TOOL_CALL: { value: 'toolCall', description: 'Tool call by a model. The text is the JSON of its arguments.' },
    TOOL_PROGRESS: { value: 'toolProgress', description: 'Progress of a running tool, which is not kept.' },
    TOOL_RESULT: { value: 'toolResult', description: 'Result of a tool call.' },
    REASONING: { value: 'reasoning', description: 'Reasoning of a model. The text is the reasoning.' },
    FILE: { value: 'file', description: 'File or image.' },
    SOURCE: { value: 'source', description: 'Source of the answer.' },
    DATA: { value: 'data', description: 'Application-defined content.' },
  } as const,
})

const callOf = ({ part }: VisiblePartDelta): { callId?: string; name?: string } => streamedContentOf(part) as object

builder
  .objectRef<VisiblePartDelta>('TurnPartDelta')
  .implement({
    description:
      'A part of an open turn other than its text was opened or completed, or has more text. The first delta of a part '
      + 'that a new subscriber receives starts at 0 and contains all text so far; the deltas together are the text of the '
      + 'part. TurnCommitted and TurnAborted have the whole content, so the last deltas before them may be missing.',
    interfaces,
    fields: (t) => ({
      turnId: t.exposeID('turnId', { description: 'Id of the open turn.' }),
      number: t.int({
        description: 'Number of the part in its turn, from 1 without gaps.',
        sharing: 'SHAREABLE',
        resolve: ({ part }) => part.number,
      }),
      offset: t.int({
        description: 'Offset in the text of the turn at which the part stands, in UTF-16 units.',
        sharing: 'SHAREABLE',
        resolve: ({ part }) => part.at,
      }),
      type: t.field({
        type: StreamedPartType,
        description: 'Type of the part.',
        sharing: 'SHAREABLE',
        resolve: ({ part }) => streamedContentOf(part).type,
      }),
      callId: t.string({
        nullable: true,
        description: 'Id of the tool call. Null unless the part is a tool call, its progress or its result.',
        sharing: 'SHAREABLE',
        resolve: (event) => callOf(event).callId ?? null,
      }),
      toolName: t.string({
        nullable: true,
        description: 'Name of the tool. Null unless the part is a tool call or its result.',
        sharing: 'SHAREABLE',
        resolve: (event) => callOf(event).name ?? null,
      }),
      start: t.exposeInt('start', { description: 'Offset of the delta in the text of the part, in UTF-16 units.' }),
      end: t.int({
        description: 'Offset of the end of the delta, in UTF-16 units: `start` of the next delta of the part.',
        sharing: 'SHAREABLE',
        resolve: ({ part }) => part.text.length,
      }),
      text: t.string({
        description: 'Text from `start` up to `end`. Empty for a part without text, such as a file.',
        sharing: 'SHAREABLE',
        resolve: ({ part, start }) => part.text.slice(start),
      }),
      isComplete: t.boolean({
        description: 'Whether the part has its whole text.',
        sharing: 'SHAREABLE',
        resolve: ({ part }) => part.isComplete,
      }),
      part: t.field({
        type: ContentPart,
        nullable: true,
        description:
          'The part for the turn; the commit may replace a tool call. Null until it is complete, for progress of a tool, '
          + 'for reasoning without text, and for a tool call whose arguments are not JSON.',
        sharing: 'SHAREABLE',
        resolve: ({ part }) => (part.isComplete ? liveContentOf(part) : null),
      }),
    }),
  })
