// The answers that a conversation waits for.

import { MAX_PENDING_ANSWERS, type PendingAnswer as Pending } from '../../domain/agent/claim/pending-answers.ts'
import { builder } from '../kernel/builder.ts'
import { loadParticipant, loadPendingAnswers, loadRun, loadTurn } from '../kernel/loaders.ts'

const PendingAnswer = builder
  .objectRef<Pending>('PendingAnswer')
  .implement({
    description:
      'An answer that is expected: of a participant that a turn woke up, until it answers or dismisses the turn or the '
      + 'server gives up; or of a run that has not ended.',
    fields: (t) => ({
      actor: t.exposeString('actor', { description: 'Name of the actor who is expected to answer.' }),
      participant: t.field({
        type: 'Participant',
        nullable: true,
        description: 'The actor as a participant. Null for an agent that has not joined before its first reply.',
        sharing: 'SHAREABLE',
        resolve: ({ conversationId, actor }, _, context) => loadParticipant(context, { conversationId, actor }),
      }),
      turn: t.field({
        type: 'Turn',
        nullable: true,
        description:
          'A version of the turn to answer. Null for a run that answers no turn, or one that is no longer in view.',
        sharing: 'PER_VIEWER',
        resolve: ({ turnId }, _, context) => (turnId === null ? null : loadTurn(context, turnId)),
      }),
      run: t.field({
        type: 'Run',
        nullable: true,
        description:
          'The run that answers. Null before the run starts, between the runs of a repeated attempt, and for a participant '
          + 'that the server does not run.',
        sharing: 'PER_VIEWER',
        resolve: ({ runId }, _, context) => (runId === null ? null : loadRun(context, runId)),
      }),
    }),
  })

builder.objectField('Conversation', 'pendingAnswers', (t) =>
  t.field({
    type: [PendingAnswer],
    description:
      `Answers that the conversation waits for, oldest first, as far as the viewer sees the turns to answer and the runs; `
      + `the newest ${MAX_PENDING_ANSWERS}.`,
    sharing: 'PER_VIEWER',
    resolve: ({ id }, _, context) => loadPendingAnswers(context, id),
  }),
)
