// The sources of facts: the type, and the field of Fact that lists them.

import { factSourceCursor, MAX_SOURCES, type FactSource } from '../domain/fact/source.ts'
import { builder } from './builder.ts'
import { connectionOf, pagingArgs } from './connection.ts'
import { viewerOf } from './inherited-view.ts'
import { loadConversation, loadPageOfSources, loadTurn } from './loaders.ts'
import { ParticipantKindEnum } from './participant.ts'
import { PER_VIEWER } from './sharing.ts'

builder.objectType('FactSource', {
  description: 'One assertion of a fact: a turn that states it, or a recording by a client.',
  fields: (t) => ({
    turn: t.field({
      type: 'Turn',
      nullable: true,
      description: 'The turn version that states the fact; null for a recording without a source turn.',
      extensions: PER_VIEWER,
      resolve: (source, _, context) =>
        source.turnId === null ? null : loadTurn(context, viewerOf(context, source), source.turnId),
    }),
    conversation: t.field({
      type: 'Conversation',
      nullable: true,
      description: 'The conversation of the turn or recording; null for a recording without a conversation.',
      extensions: PER_VIEWER,
      resolve: (source, _, context) =>
        source.conversationId === null
          ? null
          : loadConversation(context, viewerOf(context, source), source.conversationId),
    }),
    assertedBy: t.exposeString('assertedBy', {
      nullable: true,
      description: 'The actor who asserts the fact: the author of the turn, or the recorder. Null if unknown.',
    }),
    saidBy: t.expose('saidBy', {
      type: ParticipantKindEnum,
      description: 'The type of actor that asserts the fact, which determines its trust.',
    }),
    confidence: t.exposeFloat('confidence', {
      description: 'Confidence of the extractor or the recorder in this assertion, 0 to 1.',
    }),
    observedAt: t.expose('observedAt', {
      type: 'DateTime',
      description: 'When the fact was asserted; of a source that repeated it, the latest time.',
    }),
    importedAt: t.expose('importedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the server received the assertion, if `observedAt` is a time that a client gave. Null if the server set '
        + '`observedAt`.',
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'When the server stored this source. Lists are ordered by it.',
    }),
  }),
})

const { Connection: FactSourceConnection } = connectionOf<FactSource>('FactSource', 'sources', factSourceCursor)

builder.objectField('Fact', 'sources', (t) =>
  t.field({
    type: FactSourceConnection,
    description:
      'The sources of the fact that the viewer sees, in the order in which they were stored. The server keeps at most '
      + `${MAX_SOURCES} sources of one fact from one conversation.`,
    extensions: PER_VIEWER,
    args: { ...pagingArgs(t, 'sources') },
    resolve: (fact, args, context) => loadPageOfSources(context, viewerOf(context, fact), fact.id, args),
  }),
)
