// Facts: the type, and the fields that list facts. The mutations are in fact-mutations.ts and reconciliation.ts.

import { factCursor, getFactPage, MAX_SEARCH, type Fact } from '../../domain/memory/fact/fact.ts'
import { DEFAULT_PAGE_SIZE } from '../../domain/kernel/page.ts'
import { asArg } from '../kernel/view/named.ts'
import { asOfArg, enterPast } from './as-of.ts'
import { builder } from '../kernel/builder.ts'
import { atConversationIfGiven, conversationRef } from '../conversation/conversation-ref.ts'
import { connectionOf, pagingArgs } from '../kernel/connection.ts'
import { loadConversation, loadFact, loadPageOfFacts, loadTurn } from '../kernel/loaders.ts'
import { Node } from '../kernel/node.ts'
import { ParticipantKindEnum } from '../conversation/participant.ts'

const SupersedeReasonEnum = builder.enumType('SupersedeReason', {
  description: 'Reason why a fact was superseded.',
  values: {
    DUPLICATED: { description: 'Another fact states the same in other words.' },
    CONTRADICTED: { description: 'Another fact contradicts it and takes precedence.' },
    UPDATED: { description: 'The turn that stated it was edited.' },
    RETRACTED: { description: 'An actor retracted it.' },
    UNDONE: { description: 'It was merged from duplicates, and an actor undid the merge.' },
  } as const,
})

builder.objectType('Fact', {
  description:
    'A statement with a subject, a predicate and an object. It is active until it is superseded, and is '
    + 'stored and readable afterwards. It may have several sources: turns, or recordings. A viewer who sees '
    + 'any of them sees the fact. When its last source is erased, the fact is deleted; when that source is '
    + 'edited, the fact is superseded.',
  interfaces: [Node],
  fields: (t) => ({
    sourceConversation: t.field({
      type: 'Conversation',
      nullable: true,
      description:
        'Conversation of the first source. Null if the fact was recorded without a conversation, or if the '
        + 'viewer sees it only through another source.',
      // A viewer may see the fact through a source in another conversation.
      sharing: 'PER_VIEWER',
      resolve: (fact, _, context) =>
        fact.conversationId === null ? null : loadConversation(context, fact.conversationId),
    }),
    userId: t.exposeString('userId', {
      nullable: true,
      description:
        'Id of the user whom the fact is about: the user given when the fact was recorded, or otherwise '
        + 'the participant that the subject names. If the subject of an extracted fact names no participant, '
        + 'the person who wrote the turn. Null for none.',
    }),
    subject: t.exposeString('subject', {
      description: 'Person or thing that the statement is about, for example "Ada" or "the harbour".',
    }),
    predicate: t.exposeString('predicate', {
      description: 'Relation or property of the subject, for example "lives in" or "is".',
    }),
    object: t.exposeString('object', {
      description: 'Value of the predicate, for example "Rome" or "closed on Mondays".',
    }),
    confidence: t.exposeFloat('confidence', {
      description: 'Confidence of the extractor or the recorder in the statement, 0 to 1.',
    }),
    saidBy: t.expose('saidBy', {
      type: ParticipantKindEnum,
      description:
        'Kind of the actor that stated or recorded the fact, by the credential with which it did so; the less trusted kind '
        + 'if there are two. A '
        + 'person is trusted more than an agent, and an agent more than a tool. A less trusted fact never '
        + 'supersedes a more trusted one.',
    }),
    assertedBy: t.exposeString('assertedBy', {
      nullable: true,
      description:
        'The actor who asserted the fact: the author of the turn that it was extracted from, or the actor '
        + "who recorded it. A person's own statements are trusted more than statements by others about that "
        + 'person, which contexts and profiles quote as claims. Null if unknown.',
    }),
    sourceTurn: t.field({
      type: 'Turn',
      nullable: true,
      description:
        'Turn version of the first source. Null if no turn states the fact, or if the viewer sees it only '
        + 'through another source.',
      sharing: 'PER_VIEWER',
      resolve: (fact, _, context) => (fact.sourceTurnId === null ? null : loadTurn(context, fact.sourceTurnId)),
    }),
    contentHash: t.exposeString('contentHash', {
      description:
        'Hash that identifies exact duplicates: the first 32 hex digits of SHA-256 over "subject predicate '
        + 'object", in lower case, with single spaces. If the fact has a period, a space and the period follow, for '
        + 'example "2024-05-01T00:00:00.000Z/..".',
    }),
    observedAt: t.expose('observedAt', {
      type: 'DateTime',
      description: 'Time of the newest assertion among the most trusted assertions of the fact.',
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'Time at which the fact was first stored. Lists are ordered by it.',
    }),
  }),
})

builder.objectFields('Fact', (t) => ({
  importedAt: t.expose('importedAt', {
    type: 'DateTime',
    nullable: true,
    description:
      'Time at which the server received the fact, if a client gave the time `observedAt`: in recordFacts, '
      + 'or as `createdAt` of an imported turn. Null if the server set `observedAt`.',
  }),
  importance: t.exposeFloat('importance', {
    description:
      'How important the fact is, 0 to 1: how often it was stated (0.4), on how many days before today it was recalled '
      + '(0.3), and how many days ago it was stated (0.3, halved every 90 days).',
  }),
  validFrom: t.expose('validFrom', {
    type: 'DateTime',
    nullable: true,
    description: 'Time at which the statement became true. Null if that was not stated.',
  }),
  validTo: t.field({
    type: 'DateTime',
    nullable: true,
    description:
      'Time at which the statement ceased to be true, or will: as was stated, or when the fact that contradicted it '
      + 'became true. Null if neither is known.',
    sharing: 'SHAREABLE',
    resolve: ({ validTo, contradictedFrom }) => validTo ?? contradictedFrom,
  }),
  supersededBy: t.field({
    type: 'Fact',
    nullable: true,
    description: 'The fact that superseded this one. Null if there is none, or if the viewer does not see it.',
    // The newer fact may belong to another conversation. Viewers who share a view class in this conversation may see
    // different facts there.
    sharing: 'PER_VIEWER',
    resolve: (fact, _, context) => (fact.supersededBy === null ? null : loadFact(context, fact.supersededBy)),
  }),
  supersededAt: t.expose('supersededAt', {
    type: 'DateTime',
    nullable: true,
    description: 'Time at which the fact was superseded. Null for an active fact.',
  }),
  supersedeReason: t.expose('supersedeReason', {
    type: SupersedeReasonEnum,
    nullable: true,
    description: 'Reason why the fact was superseded. Null for an active fact.',
  }),
  supersedeNote: t.exposeString('supersedeNote', {
    nullable: true,
    description:
      'Reason given in retractFact, or in undoReconciliation for a merged fact, as free text. Null if none was given.',
  }),
  restoredAt: t.expose('restoredAt', {
    type: 'DateTime',
    nullable: true,
    description: 'Time at which undoReconciliation last made the fact active again. Null if that never happened.',
  }),
  restoreNote: t.exposeString('restoreNote', {
    nullable: true,
    description: 'Reason given in undoReconciliation, as free text. Null if none was given.',
  }),
}))

const { Connection: FactConnection, Edge } = connectionOf<Fact>('Fact', 'facts', factCursor)
export const FactEdge = Edge

const FactFilter = builder.inputType('FactFilter', {
  description: 'Conditions on the facts of a list. A fact must meet all conditions that are given.',
  fields: (t) => ({
    userId: t.string({ description: 'Facts about this user.' }),
    ...conversationRef(t, 'whose facts are listed'),
    subject: t.string({ description: 'Facts with exactly this subject, ignoring case.' }),
    predicate: t.string({ description: 'Facts with exactly this predicate, ignoring case.' }),
    text: t.string({
      description:
        'Facts whose subject, predicate or object contains this text, ignoring case; at most '
        + `${MAX_SEARCH} characters.`,
    }),
    observedAfter: t.field({ type: 'DateTime', description: 'Facts observed at this time or later.' }),
    observedBefore: t.field({ type: 'DateTime', description: 'Facts observed before this time.' }),
    validAt: t.field({
      type: 'DateTime',
      description:
        'Facts that were true at this time, as far as is known: active facts whose period contains it, and facts that a '
        + 'later fact contradicted. A fact without `validFrom` counts as true before, unless it contradicted a fact that '
        + 'was true then. `includeSuperseded` has no effect.',
    }),
    minConfidence: t.float({ description: 'Facts with at least this confidence, 0 to 1.' }),
    minImportance: t.float({ description: 'Facts with at least this importance, 0 to 1.' }),
    saidBy: t.field({
      type: [ParticipantKindEnum],
      description: 'Facts whose `saidBy` is one of these kinds; an empty list matches none.',
    }),
    includeSuperseded: t.boolean({
      defaultValue: false,
      description: 'Whether the list includes superseded facts. Defaults to false.',
    }),
  }),
})

builder.queryField('facts', (t) =>
  t.field({
    verb: 'getFactPage',
    type: FactConnection,
    description:
      "Lists the facts of the viewer's tenant that the viewer sees, in the order of `createdAt`, newest "
      + `first. Defaults to the first ${DEFAULT_PAGE_SIZE}.`,
    args: {
      filter: t.arg({
        type: FactFilter,
        description: 'Conditions that the facts must meet. Null for all active facts.',
      }),
      ...pagingArgs(t, 'facts'),
      ...asOfArg(t),
      ...asArg(t),
    },
    async resolve(_, { filter, asOf, ...page }, context, info) {
      const { viewer, work } = context
      const given = { ...page, filter: filter && (await atConversationIfGiven(context, filter)) }
      await enterPast(context, info, asOf, given.filter?.conversationId)
      return work.read(() => getFactPage(context.reading, viewer, given))
    },
  }),
)

builder.objectField('Conversation', 'facts', (t) =>
  t.field({
    type: FactConnection,
    description:
      'The facts with a source in this conversation that the viewer sees, in the order of `createdAt`, '
      + `newest first. Defaults to the first ${DEFAULT_PAGE_SIZE}.`,
    sharing: 'PER_VIEWER',
    args: {
      ...pagingArgs(t, 'facts'),
      includeSuperseded: t.arg.boolean({
        defaultValue: false,
        description: 'Whether the list includes superseded facts. Defaults to false.',
      }),
    },
    resolve: (conversation, args, context) => loadPageOfFacts(context, conversation.id, args),
  }),
)
