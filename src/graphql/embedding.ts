// The progress of embedding: whether vector searches cover all turns, for example after a change of the embedder.

import { getEmbeddingProgress, WINDOW_MS } from '../domain/indexing/embedding-progress.ts'
import { builder } from './builder.ts'

builder.objectType('EmbeddingProgress', {
  description:
    'Progress of embedding the turns of all conversations. After a change of the embedder, searches use '
    + 'the new embedder only when it has read every conversation.',
  fields: (t) => ({
    embedder: t.exposeString('embedder', { description: 'Name of the configured embedder.' }),
    serving: t.exposeString('serving', {
      description:
        'Name of the embedder whose vectors searches use: the previous one until the configured embedder '
        + 'has read every conversation.',
    }),
    done: t.expose('done', {
      type: 'BigInt',
      description: 'Number of journal entries, of all conversations, that the configured embedder has read.',
    }),
    remaining: t.expose('remaining', {
      type: 'BigInt',
      description:
        'Number of journal entries that the configured embedder has not read. At 0, vector searches cover all turns.',
    }),
    perSecond: t.exposeFloat('perSecond', {
      description:
        'Number of journal entries that all processes together read per second, over the last '
        + `${WINDOW_MS / 1000} seconds. 0 when none remain.`,
    }),
    etaSeconds: t.exposeInt('etaSeconds', {
      nullable: true,
      description:
        'Estimated time until no entries remain, in seconds. 0 when none remain; null if none are being read.',
    }),
  }),
})

builder.queryField('embedding', (t) =>
  t.field({
    type: 'EmbeddingProgress',
    description: 'Returns the progress of embedding over all conversations of the server.',
    resolve: (_, __, { reading, viewer, work }) => work.read(() => getEmbeddingProgress(reading, viewer)),
  }),
)
