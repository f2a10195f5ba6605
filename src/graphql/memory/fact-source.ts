// The sources of facts: the type, and the field of Fact that lists them.

import { factSourceCursor, MAX_SOURCES, type FactSource } from '../../domain/memory/fact/source.ts'
import { DEFAULT_PAGE_SIZE } from '../../domain/kernel/page.ts'
import { builder } from '../kernel/builder.ts'
import { connectionOf, pagingArgs } from '../kernel/connection.ts'
import { loadConversation, loadPageOfSources, loadTurn } from '../kernel/loaders.ts'
import { ParticipantKindEnum } from '../conversation/participant.ts'

builder.objectType('FactSource', {
  description: 'One assertion of a fact: a turn that states it, or a recording by a client.',
  fields: (t) => ({
    turn: t.field({
      type: 'Turn',
      nullable: true,
      description: 'Turn version that states the fact. Null for a recording without a source turn.',
      sharing: 'PER_VIEWER',
      resolve: (source, _, context) => (source.turnId === null ? null : loadTurn(context, source.turnId)),
    }),
    conversation: t.field({
      type: 'Conversation',
      nullable: true,
      description: 'Conversation of the turn or recording. Null for a recording without a conversation.',
      sharing: 'PER_VIEWER',
      resolve: (source, _, context) =>
        source.conversationId === null ? null : loadConversation(context, source.conversationId),
    }),
    assertedBy: t.exposeString('assertedBy', {
      nullable: true,
      description:
        'The actor who asserts the fact: the author of the turn, or the actor who recorded it. Null if unknown.',
    }),
    saidBy: t.expose('saidBy', {
      type: ParticipantKindEnum,
      description: 'Kind of the actor that asserts the fact, which determines how far it is trusted.',
    }),
    confidence: t.exposeFloat('confidence', {
      description: 'Confidence of the extractor or the recorder in this assertion, 0 to 1.',
    }),
    observedAt: t.expose('observedAt', {
      type: 'DateTime',
      description: 'Time of the assertion. If the source asserted the fact several times, the latest time.',
    }),
    importedAt: t.expose('importedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Time at which the server received the assertion, if `observedAt` is a time that a client gave. '
        + 'Null if the server set `observedAt`.',
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'Time at which the server stored the source. Lists are ordered by it.',
    }),
  }),
})

const { Connection: FactSourceConnection } = connectionOf<FactSource>('FactSource', 'sources', factSourceCursor)

builder.objectField('Fact', 'sources', (t) =>
  t.field({
    type: FactSourceConnection,
    description:
      'Sources of the fact that the viewer sees, in the order in which they were stored. Defaults to the '
      + `first ${DEFAULT_PAGE_SIZE}. The server stores at most ${MAX_SOURCES} sources of one fact from one `
      + 'conversation.',
    sharing: 'PER_VIEWER',
    args: { ...pagingArgs(t, 'sources') },
    resolve: (fact, args, context) => loadPageOfSources(context, fact.id, args),
  }),
)
