// The mutations that record, extract and retract facts.

import { extractFacts, MAX_EXTRACTED_TURNS } from '../../domain/memory/fact/extract/extract.ts'
import type { Fact } from '../../domain/memory/fact/fact.ts'
import type { FactExtraction } from '../../domain/memory/fact/extract/fact-extraction.ts'
import { MAX_LENGTHS } from '../../domain/memory/fact/content-hash.ts'
import { MAX_FACTS, MAX_REASON, recordFacts, retractFact } from '../../domain/memory/fact/record.ts'
import { InvalidInput, NotAllowed, NotFound, ProviderFailed } from '../../errors.ts'
import { NO_PAGE } from '../../domain/kernel/page.ts'
import { asField } from '../kernel/view/named.ts'
import { builder, type ObjectFieldBuilder } from '../kernel/builder.ts'
import { atConversation, atConversationIfGiven, conversationRef } from '../conversation/conversation-ref.ts'
import { FactEdge } from './fact.ts'
import { orErrors, payload } from '../kernel/errors.ts'

const extractionFields = (t: ObjectFieldBuilder<FactExtraction>) => ({
  facts: t.field({
    type: ['Fact'],
    description: 'The facts that are new to the viewer, in the order given.',
    sharing: 'SHAREABLE',
    resolve: ({ facts }) => facts,
  }),
  factEdges: t.field({
    type: [FactEdge],
    description: 'Edges of the new facts, as in the connection of the query `facts`.',
    sharing: 'SHAREABLE',
    resolve: ({ facts }) => facts.map((fact) => ({ node: fact, page: NO_PAGE })),
  }),
  exactDuplicatesSkipped: t.exposeInt('exactDuplicatesSkipped', {
    description:
      'Number of assertions that repeat a fact which the viewer already sees. The fact gets the turn or '
      + 'recording as a source if it does not have that source yet.',
  }),
})

const RecordFactsPayload = payload<FactExtraction>('RecordFacts').implement({
  description: 'Result of recording facts.',
  fields: extractionFields,
})

const ExtractFactsPayload = payload<FactExtraction>('ExtractFacts').implement({
  description: 'Result of extracting facts from turns.',
  fields: (t) => ({
    ...extractionFields(t),
    hasMore: t.exposeBoolean('hasMore', {
      description: 'Whether unread turns are left. Call extractFacts again to continue with them.',
    }),
  }),
})

const FactInput = builder.inputType('FactInput', {
  description:
    'A statement to record. In its texts, each run of white space becomes one space, and invisible '
    + 'characters are removed.',
  fields: (t) => ({
    subject: t.string({
      required: true,
      description: `Person or thing that the statement is about; at most ${MAX_LENGTHS.subject} characters.`,
    }),
    predicate: t.string({
      required: true,
      description: `Relation or property of the subject; at most ${MAX_LENGTHS.predicate} characters.`,
    }),
    object: t.string({
      required: true,
      description: `Value of the predicate; at most ${MAX_LENGTHS.object.toLocaleString('en-US')} characters.`,
    }),
    confidence: t.float({ defaultValue: 1, description: 'Confidence in the statement, 0 to 1. Defaults to 1.' }),
    sourceTurnId: t.id({
      description:
        'Id of the committed turn that states the fact, in its newest version. Actors who see the turn see the fact.',
    }),
    observedAt: t.field({
      type: 'DateTime',
      description:
        'Time at which the fact was observed; must not be in the future. Defaults to the time of the '
        + 'source turn, or to the current time without one.',
    }),
    validFrom: t.field({
      type: 'DateTime',
      description: 'Time at which the statement became true, for example "since May 2024". Null if unknown.',
    }),
    validTo: t.field({
      type: 'DateTime',
      description:
        'Time at which the statement ceases to be true; must be after `validFrom`. Null if unknown, or if it is still '
        + 'true.',
    }),
  }),
})

const RecordFactsInput = builder.inputType('RecordFactsInput', {
  description:
    'Facts to record. They belong to the given conversation, or otherwise to the conversation of their '
    + 'source turn. Facts without either are visible in the whole tenant.',
  fields: (t) => ({
    ...conversationRef(t, 'whose viewers see the facts'),
    userId: t.string({
      description:
        'Id of the user whom all the facts are about. By default, each fact is about the participant that '
        + 'its subject names.',
    }),
    facts: t.field({
      type: [FactInput],
      required: true,
      description: `The statements, 1 to ${MAX_FACTS.toLocaleString('en-US')}.`,
    }),
    ...asField(t, 'Actor that asserts the facts (`assertedBy`).'),
  }),
})

builder.mutationField('recordFacts', (t) =>
  t.field({
    type: RecordFactsPayload,
    description:
      'Records the given facts, all or none. An exact duplicate of a stored fact about the same user or '
      + 'from the same conversation, with the same visibility, is not stored again: the stored fact gets '
      + 'another source. The facts are asserted by the viewer.',
    errors: orErrors('RecordFacts', [InvalidInput, NotFound, NotAllowed]),
    args: {
      input: t.arg({
        type: RecordFactsInput,
        required: true,
        description: 'The facts, and the conversation that they belong to.',
      }),
    },
    async resolve(_, { input }, context) {
      const { deps, viewer } = context
      const given = await atConversationIfGiven(context, input)
      return deps.gates.memory.run(viewer.tenant, () => recordFacts(deps, viewer, given))
    },
  }),
)

const RetractFactInput = builder.inputType('RetractFactInput', {
  description: 'Input of retractFact: the fact, and an optional reason.',
  fields: (t) => ({
    factId: t.id({ required: true, description: 'Id of the fact to retract.' }),
    reason: t.string({
      description:
        'Reason for the retraction, stored as `supersedeNote`; at most '
        + `${MAX_REASON.toLocaleString('en-US')} characters.`,
    }),
    ...asField(t, 'Actor that retracts the fact.'),
  }),
})

const RetractFactPayload = payload<{ fact: Fact }>('RetractFact').implement({
  description: 'Result of a retraction.',
  fields: (t) => ({
    fact: t.expose('fact', { type: 'Fact', description: 'The statement, now superseded, with the reason.' }),
  }),
})

builder.mutationField('retractFact', (t) =>
  t.field({
    type: RetractFactPayload,
    description:
      'Retracts a fact: supersedes it and stores the reason. A fact that is already superseded does not '
      + 'change. Fails with NotAllowed if a person stated the fact about themselves and the viewer is not '
      + 'that person.',
    errors: orErrors('RetractFact', [InvalidInput, NotFound, NotAllowed]),
    args: {
      input: t.arg({
        type: RetractFactInput,
        required: true,
        description: 'The fact, and the reason for the retraction.',
      }),
    },
    resolve: async (_, { input }, { deps, viewer }) => ({ fact: await retractFact(deps, viewer, input) }),
  }),
)

const ExtractFactsInput = builder.inputType('ExtractFactsInput', {
  description: 'Input of extractFacts: the conversation, and the last turn to read.',
  fields: (t) => ({
    ...conversationRef(t, 'whose turns are read'),
    through: t.id({ description: 'Id of the last turn to read. Defaults to the newest turn.' }),
    ...asField(t),
  }),
})

builder.mutationField('extractFacts', (t) =>
  t.field({
    type: ExtractFactsPayload,
    description:
      'Extracts facts from the turns of a conversation that were not read before, and stores them. One '
      + `call reads at most ${MAX_EXTRACTED_TURNS.toLocaleString('en-US')} turns, the oldest first. System `
      + 'turns, tool results, questions and quotations yield no facts. Facts that agents or tools merely '
      + 'repeat are not stored again.',
    errors: orErrors('ExtractFacts', [InvalidInput, NotFound, NotAllowed, ProviderFailed]),
    args: {
      input: t.arg({
        type: ExtractFactsInput,
        required: true,
        description: 'The conversation, and the last turn to read.',
      }),
    },
    async resolve(_, { input }, context) {
      const { deps, viewer } = context
      const given = await atConversation(context, input)
      return deps.gates.memory.run(viewer.tenant, () => extractFacts(deps, viewer, given))
    },
  }),
)
