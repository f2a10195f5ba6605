// Facts: the type, and the fields that list facts. The mutations are in fact-mutations.ts.

import { factCursor, getFactPage, type Fact } from '../domain/fact/fact.ts'
import { builder } from './builder.ts'
import { atConversationIfGiven, conversationRef } from './conversation-ref.ts'
import { connectionOf, pagingArgs } from './connection.ts'
import { loadConversation, loadFact, loadPageOfFacts, loadTurn } from './loaders.ts'
import { Node } from './node.ts'
import { ParticipantKindEnum } from './participant.ts'
import { viewerOf } from './inherited-view.ts'
import { PER_VIEWER } from './sharing.ts'

const SupersedeReasonEnum = builder.enumType('SupersedeReason', {
  description: 'Why a fact does not hold any more.',
  values: {
    DUPLICATED: { description: 'Another one says the same in other words.' },
    CONTRADICTED: { description: 'Another one says otherwise, and is to be believed rather.' },
    UPDATED: { description: 'Things have changed, or the turn that it was taken from was edited.' },
    RETRACTED: { description: 'Somebody took it back.' },
  } as const,
})

builder.objectType('Fact', {
  description:
    'One statement, as subject, predicate and object. It is active until it is superseded, and can be read afterwards. '
    + 'It may have several sources: turns, or recordings. An actor who sees any of them sees the fact; it ends with the '
    + 'last of them.',
  interfaces: [Node],
  fields: (t) => ({
    sourceConversation: t.field({
      type: 'Conversation',
      nullable: true,
      description:
        'The conversation of its first source; null if it was recorded without a conversation, or if the viewer sees the '
        + 'fact only through another source.',
      // A viewer may see the fact through a source in another conversation.
      extensions: PER_VIEWER,
      resolve: (fact, _, context) =>
        fact.conversationId === null ? null : loadConversation(context, viewerOf(context, fact), fact.conversationId),
    }),
    userId: t.exposeString('userId', {
      nullable: true,
      description:
        'Whom it is about: named when it was recorded, or else the participant whom the subject names. Null for '
        + 'nobody.',
    }),
    subject: t.exposeString('subject', { description: 'Who or what is spoken of: "Ada", "the harbour".' }),
    predicate: t.exposeString('predicate', { description: 'What is said of the subject: "lives in", "is".' }),
    object: t.exposeString('object', { description: 'With regard to what: "Rome", "closed on Mondays".' }),
    confidence: t.exposeFloat('confidence', { description: 'How sure whoever brought it was, 0 to 1.' }),
    saidBy: t.expose('saidBy', {
      type: ParticipantKindEnum,
      description:
        'The type of actor that stated or recorded it, whichever is less trusted: a person is trusted more than an agent, '
        + 'an agent more than a tool. A less trusted fact never supersedes a more trusted one.',
    }),
    assertedBy: t.exposeString('assertedBy', {
      nullable: true,
      description:
        'The actor who asserted it: the author of the turn it was extracted from, or the actor who recorded it. A '
        + "person's own statements are trusted more than statements by others about that person, which contexts and "
        + 'profiles quote as claims. Null if unknown.',
    }),
    sourceTurn: t.field({
      type: 'Turn',
      nullable: true,
      description:
        'The turn version of its first source; null if no turn states it, or if the viewer sees the fact only through '
        + 'another source.',
      extensions: PER_VIEWER,
      resolve: (fact, _, context) =>
        fact.sourceTurnId === null ? null : loadTurn(context, viewerOf(context, fact), fact.sourceTurnId),
    }),
    contentHash: t.exposeString('contentHash', {
      description:
        'Tells a repeat: the first 32 hex digits of SHA-256 over "subject predicate object", in lower case, with '
        + 'single spaces.',
    }),
    observedAt: t.expose('observedAt', {
      type: 'DateTime',
      description: 'When it was last asserted, by the most trusted of those who did.',
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'When it was written down first. Lists are ordered by it.',
    }),
    supersededBy: t.field({
      type: 'Fact',
      nullable: true,
      description: 'What holds in its place; null for nothing, or nothing that the viewer sees.',
      // The newer fact may belong to another conversation. Viewers who share a view class in this conversation may see
      // different facts there.
      extensions: PER_VIEWER,
      resolve: (fact, _, context) =>
        fact.supersededBy === null ? null : loadFact(context, viewerOf(context, fact), fact.supersededBy),
    }),
    supersededAt: t.expose('supersededAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ceased to hold; null while it does.',
    }),
    supersedeReason: t.expose('supersedeReason', {
      type: SupersedeReasonEnum,
      nullable: true,
      description: 'Why it does not hold any more; null while it does.',
    }),
    supersedeNote: t.exposeString('supersedeNote', {
      nullable: true,
      description: 'The same in the words of whoever took it back; null where they gave none.',
    }),
  }),
})

const { Connection: FactConnection, Edge } = connectionOf<Fact>('Fact', 'facts', factCursor)
export const FactEdge = Edge

const FactFilter = builder.inputType('FactFilter', {
  description: 'Which facts a list holds: those that meet all that is given.',
  fields: (t) => ({
    userId: t.string({ description: 'Facts about this user.' }),
    ...conversationRef(t, 'whose facts are listed'),
    subject: t.string({ description: 'Facts with exactly this subject, in upper or lower case.' }),
    predicate: t.string({ description: 'Facts with exactly this predicate, in upper or lower case.' }),
    text: t.string({
      description:
        'Facts whose subject, predicate or object contains this text, ignoring case; at most 200 characters.',
    }),
    observedAfter: t.field({ type: 'DateTime', description: 'Facts observed at this time or later.' }),
    observedBefore: t.field({ type: 'DateTime', description: 'Facts observed before this time.' }),
    minConfidence: t.float({ description: 'Facts with at least this confidence, 0 to 1.' }),
    saidBy: t.field({
      type: [ParticipantKindEnum],
      description: 'Facts whose `saidBy` is one of these types of actors; an empty list matches none.',
    }),
    includeSuperseded: t.boolean({
      defaultValue: false,
      description: 'Whether facts that do not hold any more are listed too.',
    }),
  }),
})

builder.queryField('facts', (t) =>
  t.field({
    type: FactConnection,
    description:
      "What is known in the viewer's tenant, as far as the viewer sees it: newest first, by when it was written; 50 "
      + 'a page unless `first` says otherwise.',
    args: {
      filter: t.arg({
        type: FactFilter,
        description: 'Leaves out the facts that do not meet it; all that hold without it.',
      }),
      ...pagingArgs(t, 'facts'),
    },
    async resolve(_, { filter, ...page }, context) {
      const { reading, viewer, work } = context
      const given = { ...page, filter: filter && (await atConversationIfGiven(context, filter)) }
      return work.read(() => getFactPage(reading, viewer, given))
    },
  }),
)

builder.objectField('Conversation', 'facts', (t) =>
  t.field({
    type: FactConnection,
    description:
      'What is known from this conversation, as far as the viewer sees it: newest first, by when it was written; 50 a '
      + 'page unless `first` says otherwise.',
    extensions: PER_VIEWER,
    args: {
      ...pagingArgs(t, 'facts'),
      includeSuperseded: t.arg.boolean({
        defaultValue: false,
        description: 'Whether facts that do not hold any more are listed too.',
      }),
    },
    resolve: (conversation, args, context) =>
      loadPageOfFacts(context, viewerOf(context, conversation), conversation.id, args),
  }),
)
