// The chat providers of the server: their names and models.

import { getProviders, MAX_PROVIDERS } from '../../domain/agent/definition/visible.ts'
import { builder } from '../kernel/builder.ts'

builder.objectType('Provider', {
  description: 'Chat provider that the operator configured. Its URL and its key are not readable.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name by which clients select the provider. Unique on the server.' }),
    defaultModel: t.exposeString('defaultModel', {
      description: "Model of runs for which neither the client nor the agent's settings name a model.",
    }),
    models: t.exposeStringList('models', {
      nullable: true,
      description: 'Models that runs may use. Null for any model.',
    }),
    supportsTools: t.exposeBoolean('supportsTools', {
      description: 'Whether the provider passes tools to its models.',
    }),
  }),
})

builder.queryField('providers', (t) =>
  t.field({
    verb: 'getProviders',
    type: ['Provider'],
    description: `Returns the chat providers of the server, in ascending order of their names; at most ${MAX_PROVIDERS}.`,
    resolve: (_, __, { reading, viewer, work }) => work.read(async () => getProviders(reading, viewer)),
  }),
)
