// The progress of embedding: whether vector searches cover all turns, for example after a change of the embedder.

import { getEmbeddingProgress, WINDOW_MS } from '../../domain/memory/indexing/progress.ts'
import { builder } from '../kernel/builder.ts'

builder.objectType('EmbeddingProgress', {
  description:
    'Progress of embedding the turns of all conversations. After a change of the embedder, searches use the new '
    + 'embedder once it has processed all journal entries that are older than the change.',
  fields: (t) => ({
    embedder: t.exposeString('embedder', { description: 'Name of the configured embedder.' }),
    serving: t.exposeString('serving', {
      description:
        'Name of the embedder that searches use. After a change of the embedder, the previous one until the configured '
        + 'one has processed all journal entries that are older than the change.',
    }),
    done: t.expose('done', {
      type: 'BigInt',
      description: 'Number of journal entries, of all conversations, that the configured embedder has processed.',
    }),
    remaining: t.expose('remaining', {
      type: 'BigInt',
      description:
        'Number of journal entries that the configured embedder has not processed. At 0, vector searches cover all '
        + 'turns.',
    }),
    perSecond: t.exposeFloat('perSecond', {
      description:
        'Number of journal entries processed per second by all processes, averaged over the last '
        + `${WINDOW_MS / 1000} seconds. 0 if none remain or none were processed.`,
    }),
    etaSeconds: t.exposeInt('etaSeconds', {
      nullable: true,
      description:
        'Estimated time until no entries remain, in seconds. 0 if none remain; null if none are being processed.',
    }),
  }),
})

builder.queryField('embedding', (t) =>
  t.field({
    verb: 'getEmbeddingProgress',
    type: 'EmbeddingProgress',
    description: 'Returns the progress of embedding over all conversations of the server.',
    resolve: (_, __, { reading, viewer, work }) => work.read(() => getEmbeddingProgress(reading, viewer)),
  }),
)
