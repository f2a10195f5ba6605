// The events of turns, with and without the text of open turns.

import type {
  TurnEvent,
  VisibleDelta,
  VisibleSuperseded,
  VisibleTurnUpdated,
  WakeUpsStopped,
} from '../../../domain/turn/journal/event.ts'
import { NotFound } from '../../../errors.ts'
import { builder } from '../../kernel/builder.ts'
import { interfaces } from './event-interface.ts'
import { loadConversationOf, loadPreviousVersion, loadTurn } from '../../kernel/loaders.ts'

const TURN_EVENTS: Record<TurnEvent['type'], [description: string, turn: string]> = {
  TurnAppended: ['A complete turn was appended.', 'The appended turn.'],
  TurnOpened: [
    'A streaming turn was opened. TurnDelta delivers its text.',
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
  description: 'A newer version superseded a turn.',
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
    by: t.expose('by', { type: 'Turn', description: 'The newer version.' }),
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
