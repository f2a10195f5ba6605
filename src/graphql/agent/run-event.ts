// The events of runs in a conversation, and the subscription that follows one run.

import type { RunEvent, VisibleRun } from '../../domain/turn/journal/event.ts'
import { readRunEvents } from '../../domain/agent/run/wait.ts'
import { asArg } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { interfaces } from '../turn/journal/event-interface.ts'

const RUN_EVENTS: Record<RunEvent['type'], string> = {
  RunStarted: 'A run of an agent started. Its replies are turns with events of their own.',
  RunChanged: 'The state of a run changed: it waits, continues, or has ended.',
}

for (const [name, description] of Object.entries(RUN_EVENTS)) {
  builder
    .objectRef<VisibleRun>(name)
    .implement({
      description,
      interfaces,
      fields: (t) => ({ run: t.expose('run', { type: 'Run', description: 'The run, in its current state.' }) }),
    })
}

builder.subscriptionField('runEvents', (t) =>
  t.field({
    verb: 'readRunEvents',
    type: 'Run',
    description:
      'Delivers the run now, and again after each change of its state, its calls or its tokens; changes at almost the same '
      + 'time may be delivered as one. Completes after a run that has ended. The text of the replies is delivered by '
      + '`conversationEvents`.',
    args: { runId: t.arg.id({ required: true, description: 'Id of the run to follow.' }), ...asArg(t) },
    subscribe: (_, { runId }, { deps, principal, viewer }) =>
      readRunEvents(deps, principal, { runId, as: viewer.actor }),
    resolve: (run) => run,
  }),
)
