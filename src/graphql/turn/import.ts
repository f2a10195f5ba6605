// Imported data: the fields that distinguish a time given by a client from a time set by the server.

import { builder } from '../kernel/builder.ts'

builder.objectField('Turn', 'importedAt', (t) =>
  t.expose('importedAt', {
    type: 'DateTime',
    nullable: true,
    description:
      'Time at which the server received an imported turn, whose `createdAt` is the time that the client '
      + 'gave. Null for other turns, whose `createdAt` the server set.',
  }),
)

builder.objectField('Fact', 'importedAt', (t) =>
  t.expose('importedAt', {
    type: 'DateTime',
    nullable: true,
    description:
      'Time at which the server received the fact, if a client gave the time `observedAt`: in recordFacts, '
      + 'or as `createdAt` of an imported turn. Null if the server set `observedAt`.',
  }),
)
