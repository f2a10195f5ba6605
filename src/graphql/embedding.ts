// The progress of embedding: whether vector searches cover all turns, for example after a change of the embedder.

import { builder } from './builder.ts'

builder.objectType('EmbeddingProgress', {
  description:
    'How far the turns of all conversations have vectors. An embedder that was newly chosen has to read every conversation before '
    + 'searches use it.',
  fields: (t) => ({
    embedder: t.exposeString('embedder', { description: 'The model that was chosen, by its settings.' }),
    serving: t.exposeString('serving', {
      description:
        'The model whose vectors searches use: the one before, until the chosen one has read every conversation.',
    }),
    done: t.expose('done', {
      type: 'BigInt',
      description: "Entries of the conversations' journals that the chosen model has read.",
    }),
    remaining: t.expose('remaining', {
      type: 'BigInt',
      description: 'Entries that it has yet to read; 0 when searches find all turns.',
    }),
    perSecond: t.exposeFloat('perSecond', { description: 'Entries that all processes together read, of late.' }),
    etaSeconds: t.exposeInt('etaSeconds', {
      nullable: true,
      description: 'How long the rest takes at that rate; 0 when all is read, null when it stands still.',
    }),
  }),
})

builder.queryField('embedding', (t) =>
  t.field({
    type: 'EmbeddingProgress',
    description: 'How far turns can be found by what they mean, over all conversations of the server.',
    resolve: (_, __, { reading, work }) => work.read(() => reading.embedding.progress()),
  }),
)
