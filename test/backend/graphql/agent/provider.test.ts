// The chat providers through the API: the fields that it returns, and the right that it needs.

import { describe, expect, it } from 'vitest'
import { embedded } from '../../../support/backend.ts'
import { TENANT, useClients } from '../client.ts'

const SECRET = 'sk-secret-hunter2'

describe('Query.providers', () => {
  const clients = useClients(embedded, {
    chatProviders: {
      local: { kind: 'openai', baseUrl: 'http://hidden:1/v1', apiKey: SECRET, model: 'a', models: ['b'] },
      echo: { kind: 'echo' },
    },
  })
  const ALL = '{ providers { name defaultModel models supportsTools } }'

  it('returns names and models, without URLs and keys', async () => {
    const answer = await clients.as('ada')(ALL)
    expect(answer).toEqual({
      providers: [
        { name: 'echo', defaultModel: 'echo', models: null, supportsTools: true },
        { name: 'local', defaultModel: 'a', models: ['a', 'b'], supportsTools: true },
      ],
    })
    const { __type: type } = await clients.as('ada')('{ __type(name: "Provider") { fields { name } } }')
    expect(type.fields.map(({ name }: { name: string }) => name)).toEqual([
      'defaultModel',
      'models',
      'name',
      'supportsTools',
    ])
  })

  it('needs the right to read', async () => {
    const principal = {
      tenant: TENANT,
      actor: 'ada',
      kind: 'HUMAN' as const,
      rights: new Set(['write'] as const),
      conversations: null,
      expiresAt: null,
    }
    const { errors } = await clients.answerTo({ tenant: TENANT, actor: 'ada', principal } as never, ALL)
    expect(errors).toMatchObject([{ extensions: { code: 'NOT_ALLOWED' } }])
  })
})
