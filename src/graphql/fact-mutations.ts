// The mutations that record, extract, retract and reconcile facts.

import { extractFacts, MAX_EXTRACTED_TURNS } from '../domain/fact/extract.ts'
import type { Fact } from '../domain/fact/fact.ts'
import type { FactExtraction } from '../domain/fact/fact-extraction.ts'
import { recordFacts, retractFact } from '../domain/fact/record.ts'
import { reconcileFacts, type Reconciliation } from '../domain/fact/reconcile-facts.ts'
import { InvalidInput, NotAllowed, NotFound, ProviderFailed } from '../errors.ts'
import { NO_PAGE } from '../domain/page.ts'
import { builder, type ObjectFieldBuilder } from './builder.ts'
import { atConversation, atConversationIfGiven, conversationRef } from './conversation-ref.ts'
import { FactEdge } from './fact.ts'
import { orErrors, payload } from './result.ts'

const extractionFields = (t: ObjectFieldBuilder<FactExtraction>) => ({
  facts: t.field({
    type: ['Fact'],
    description: 'The facts that are new to the viewer, in the order given.',
    resolve: ({ facts }) => facts,
  }),
  factEdges: t.field({
    type: [FactEdge],
    description: 'The edges of these facts in `facts`.',
    resolve: ({ facts }) => facts.map((fact) => ({ node: fact, page: NO_PAGE })),
  }),
  exactDuplicatesSkipped: t.exposeInt('exactDuplicatesSkipped', {
    description:
      'Number of facts that repeat one which the viewer already sees. Each adds a source to the stored fact.',
  }),
})

const RecordFactsPayload = payload<FactExtraction>('RecordFacts').implement({
  description: 'Facts that are new, and the number of repeated ones.',
  fields: extractionFields,
})

const ExtractFactsPayload = payload<FactExtraction>('ExtractFacts').implement({
  description: 'Facts that the turns state, and whether turns are left to read.',
  fields: (t) => ({
    ...extractionFields(t),
    hasMore: t.exposeBoolean('hasMore', {
      description: 'Whether turns are left to read. Call extractFacts again to read on.',
    }),
  }),
})

const FactInput = builder.inputType('FactInput', {
  description:
    'A statement to be remembered. Of its texts, runs of white space become one space, and what shows nothing is '
    + 'dropped.',
  fields: (t) => ({
    subject: t.string({ required: true, description: 'Who or what is spoken of; at most 200 characters.' }),
    predicate: t.string({ required: true, description: 'What is said of the subject; at most 200 characters.' }),
    object: t.string({ required: true, description: 'With regard to what; at most 2,000 characters.' }),
    confidence: t.float({ defaultValue: 1, description: 'How sure it is: 0 to 1.' }),
    sourceTurnId: t.id({
      description: 'The turn that says so, in its newest version: those who see it will see the fact.',
    }),
    observedAt: t.field({
      type: 'DateTime',
      description:
        "When it was said; defaults to the source turn's time, or to now without one. Must not be in the future.",
    }),
  }),
})

const RecordFactsInput = builder.inputType('RecordFactsInput', {
  description:
    'Facts to record. They belong to the given conversation, or else to the conversation of their source turn; facts '
    + 'without either are visible in the whole tenant.',
  fields: (t) => ({
    ...conversationRef(t, 'whose viewers see the facts'),
    userId: t.string({
      description: 'Whom all of them are about; for each, the participant whom its subject names when left out.',
    }),
    facts: t.field({ type: [FactInput], required: true, description: 'One to 1,000 statements.' }),
  }),
})

builder.mutationField('recordFacts', (t) =>
  t.field({
    type: RecordFactsPayload,
    description:
      'Writes facts down as they are given, all or none. What is known to the letter, of the same user or conversation and '
      + 'for the same people, is not written again: the known fact gets another source. The facts are asserted by the '
      + 'viewer (`assertedBy`).',
    errors: orErrors('RecordFacts', [InvalidInput, NotFound, NotAllowed]),
    args: { input: t.arg({ type: RecordFactsInput, required: true, description: 'What is to be remembered.' }) },
    async resolve(_, { input }, context) {
      const { deps, viewer } = context
      const given = await atConversationIfGiven(context, input)
      return deps.gates.memory.run(viewer.tenant, () => recordFacts(deps, viewer, given))
    },
  }),
)

const RetractFactInput = builder.inputType('RetractFactInput', {
  description: 'Which fact is taken back.',
  fields: (t) => ({
    factId: t.id({ required: true, description: 'The fact that does not hold.' }),
    reason: t.string({ description: 'Why, for those who read it; at most 1,000 characters.' }),
  }),
})

const RetractFactPayload = payload<{ fact: Fact }>('RetractFact').implement({
  description: 'Result of a retraction.',
  fields: (t) => ({
    fact: t.expose('fact', { type: 'Fact', description: 'The statement, with the reason why it is superseded.' }),
  }),
})

builder.mutationField('retractFact', (t) =>
  t.field({
    type: RetractFactPayload,
    description:
      'Retracts a fact: supersedes it and stores the reason. A fact that is already superseded does not change. Only the '
      + 'person itself can retract its own statement; others get NotAllowed.',
    errors: orErrors('RetractFact', [InvalidInput, NotFound, NotAllowed]),
    args: { input: t.arg({ type: RetractFactInput, required: true, description: 'The fact, and why it is wrong.' }) },
    resolve: async (_, { input }, { deps, viewer }) => ({ fact: await retractFact(deps, viewer, input) }),
  }),
)

const ExtractFactsInput = builder.inputType('ExtractFactsInput', {
  description: 'Which conversation is read for facts, and how far.',
  fields: (t) => ({
    ...conversationRef(t, 'whose turns are read'),
    through: t.id({ description: 'The last turn to read; the newest one when left out.' }),
  }),
})

builder.mutationField('extractFacts', (t) =>
  t.field({
    type: ExtractFactsPayload,
    description:
      'Reads the turns of a conversation that were not read before, and writes down the facts they tell. '
      + `One call reads at most ${MAX_EXTRACTED_TURNS} turns, the oldest first. Questions, `
      + 'quotations and what tools answer tell none; what agents only repeat is not learned again.',
    errors: orErrors('ExtractFacts', [InvalidInput, NotFound, NotAllowed, ProviderFailed]),
    args: {
      input: t.arg({ type: ExtractFactsInput, required: true, description: 'Which conversation, and how far.' }),
    },
    async resolve(_, { input }, context) {
      const { deps, viewer } = context
      const given = await atConversation(context, input)
      return deps.gates.memory.run(viewer.tenant, () => extractFacts(deps, viewer, given))
    },
  }),
)

const ReconcileFactsPayload = payload<Reconciliation>('ReconcileFacts').implement({
  description: 'What reconciling facts came to.',
  fields: (t) => ({
    kept: t.exposeInt('kept', { description: 'Facts that stay as they were.' }),
    merged: t.exposeInt('merged', { description: 'New facts, each in the place of several that said the same.' }),
    contradicted: t.exposeInt('contradicted', {
      description: 'Facts that gave way to others that hold in their place.',
    }),
  }),
})

const ReconcileFactsInput = builder.inputType('ReconcileFactsInput', {
  description: 'Which facts are compared: those of a user, of a conversation, or of a user in a conversation.',
  fields: (t) => ({
    userId: t.string({ description: 'Facts about this user, from whatever conversation.' }),
    ...conversationRef(t, 'whose facts are compared'),
    n: t.int({ defaultValue: 50, description: 'The newest so many of those that the same people see: 1 to 500.' }),
  }),
})

builder.mutationField('reconcileFacts', (t) =>
  t.field({
    type: ReconcileFactsPayload,
    description:
      'Makes one fact of those that say the same, and of two that cannot both hold lets the one stand that was '
      + 'said last. The others stay, superseded. What is less to be believed displaces nothing that is more so.',
    errors: orErrors('ReconcileFacts', [InvalidInput, NotFound, NotAllowed, ProviderFailed]),
    args: { input: t.arg({ type: ReconcileFactsInput, required: true, description: 'Which facts are compared.' }) },
    async resolve(_, { input }, context) {
      const { deps, viewer } = context
      const given = await atConversationIfGiven(context, input)
      return deps.gates.memory.run(viewer.tenant, () => reconcileFacts(deps, viewer, given))
    },
  }),
)
