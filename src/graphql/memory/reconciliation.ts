// The mutations that reconcile facts, and undo reconciliations.

import {
  DEFAULT_FACTS,
  MAX_FACTS,
  reconcileFacts,
  type Reconciliation,
} from '../../domain/memory/fact/reconcile/reconcile-facts.ts'
import { MAX_REASON } from '../../domain/memory/fact/record.ts'
import {
  undoReconciliation,
  type UndoneReconciliation,
} from '../../domain/memory/fact/reconcile/undo-reconciliation.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound, ProviderFailed } from '../../errors.ts'
import { asField } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { atConversationIfGiven, conversationRef } from '../conversation/conversation-ref.ts'
import { orErrors, payload } from '../kernel/errors.ts'

const ReconcileFactsPayload = payload<Reconciliation>('ReconcileFacts').implement({
  description: 'Result of reconciling facts.',
  fields: (t) => ({
    kept: t.exposeInt('kept', {
      description: 'Number of compared facts that are neither duplicates nor contradicted.',
    }),
    merged: t.exposeInt('merged', { description: 'Number of new facts, each of which replaces several duplicates.' }),
    contradicted: t.exposeInt('contradicted', {
      description: 'Number of facts superseded because they contradict another fact.',
    }),
  }),
})

const ReconcileFactsInput = builder.inputType('ReconcileFactsInput', {
  description:
    'Selects the facts to compare: facts about a user, facts from a conversation, or, if both are given, facts about '
    + 'the user from the conversation. Requires a user or a conversation.',
  fields: (t) => ({
    userId: t.string({
      description:
        'Id of the user whom the facts are about. Without a conversation, includes facts from all conversations.',
    }),
    ...conversationRef(t, 'whose facts are compared'),
    n: t.int({
      defaultValue: DEFAULT_FACTS,
      description:
        'Maximum number of facts to compare in each group, newest first. A group has the facts about one user, or about '
        + 'no user from one conversation, with the same visibility. '
        + `Defaults to ${DEFAULT_FACTS}; at most ${MAX_FACTS}.`,
    }),
    ...asField(t),
  }),
})

builder.mutationField('reconcileFacts', (t) =>
  t.field({
    type: ReconcileFactsPayload,
    description:
      'Merges duplicate facts into one. If two facts contradict each other, supersedes the one that was '
      + 'observed earlier, unless it is more trusted; then both stay active. Superseded facts are kept with '
      + 'the reason.',
    errors: orErrors('ReconcileFacts', [InvalidInput, NotFound, NotAllowed, ProviderFailed]),
    args: {
      input: t.arg({
        type: ReconcileFactsInput,
        required: true,
        description: 'The user or the conversation whose facts are compared.',
      }),
    },
    async resolve(_, { input }, context) {
      const { deps, viewer } = context
      const given = await atConversationIfGiven(context, input)
      return deps.gates.memory.run(viewer.tenant, () => reconcileFacts(deps, viewer, given))
    },
  }),
)

const UndoReconciliationInput = builder.inputType('UndoReconciliationInput', {
  description: 'Input of undoReconciliation: the superseded fact, and an optional reason.',
  fields: (t) => ({
    factId: t.id({ required: true, description: 'Id of the fact that was superseded.' }),
    reason: t.string({
      description: `Reason for the change, stored as \`restoreNote\`; at most ${MAX_REASON.toLocaleString('en-US')} characters.`,
    }),
    ...asField(t, 'Actor that undoes the reconciliation.'),
  }),
})

const UndoReconciliationPayload = payload<UndoneReconciliation>('UndoReconciliation').implement({
  description: 'Result of undoing a reconciliation.',
  fields: (t) => ({
    fact: t.expose('fact', { type: 'Fact', description: 'The fact, active.' }),
    otherFacts: t.field({
      type: ['Fact'],
      description:
        'The other facts that became active again, because the same merge had superseded them. Empty if the fact was '
        + 'contradicted, or was active before the call.',
      sharing: 'SHAREABLE',
      resolve: ({ otherFacts }) => otherFacts,
    }),
  }),
})

builder.mutationField('undoReconciliation', (t) =>
  t.field({
    type: UndoReconciliationPayload,
    description:
      'Makes a fact active again that a reconciliation superseded. If it was merged with duplicates, all of them become '
      + 'active, and the merged fact is superseded with the reason UNDONE. If it was contradicted, the other fact stays '
      + 'active, too; retract that one if it is wrong. Later reconciliations keep these facts apart from all facts that '
      + 'are known now, until a new source asserts one of them. A fact that is active does not change. Fails with '
      + 'Conflict if an equal fact is active.',
    errors: orErrors('UndoReconciliation', [InvalidInput, NotFound, NotAllowed, Conflict]),
    args: { input: t.arg({ type: UndoReconciliationInput, required: true, description: 'The fact, and the reason.' }) },
    resolve: (_, { input }, { deps, viewer }) => undoReconciliation(deps, viewer, input),
  }),
)
