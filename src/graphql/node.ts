// Objects that can be queried by id alone. The prefix of an id names the type (domain/id.ts), so ids are not encoded.

import { kindOf } from '../domain/id.ts'
import { builder } from './builder.ts'
import { loadConversation, loadFact, loadSummary, loadTurn } from './loaders.ts'

export const Node = builder
  .interfaceRef<{ id: string }>('Node')
  .implement({
    description: 'Anything that can be read again by its id.',
    fields: (t) => ({
      id: t.exposeID('id', {
        description: 'Unique over all types and tenants: a prefix that tells the type, and a ULID. Not a cursor.',
      }),
    }),
    resolveType: ({ id }) =>
      ({ turn: 'Turn', summary: 'Summary', fact: 'Fact', conversation: 'Conversation' })[kindOf(id)!],
  })

builder.queryField('node', (t) =>
  t.field({
    type: Node,
    nullable: true,
    description: 'The thing with that id; null where there is none, or none that the viewer sees.',
    args: {
      id: t.arg.id({ required: true, description: 'The id of anything: `conv_…`, `turn_…`, `sum_…`, `fact_…`.' }),
    },
    resolve(_, { id }, context) {
      switch (kindOf(id)) {
        case 'conversation':
          return loadConversation(context, context.viewer, id)
        case 'turn':
          return loadTurn(context, context.viewer, id)
        case 'summary':
          return loadSummary(context, context.viewer, id)
        case 'fact':
          return loadFact(context, context.viewer, id)
        case null:
          return null
      }
    },
  }),
)
