// API keys in the API: the mutations and their errors, the list, and the fields of `viewer` that describe a credential.

import { beforeAll, describe, expect, it } from 'vitest'
import { createApiKey } from '../../../../src/domain/trust/api-key/api-key.ts'
import { RIGHTS } from '../../../../src/domain/kernel/rights/principal.ts'
import { backends } from '../../../support/backend.ts'
import { useServer } from '../../../support/server.ts'

const ERROR = '... on UserError { __typename code message }'
const CREATE = `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) {
  ... on CreateApiKeyPayload { token apiKey { id name actor kind rights conversationIds version expiresAt revokedAt } }
  ${ERROR} } }`
const ROTATE = `mutation ($input: RotateApiKeyInput!) { rotateApiKey(input: $input) {
  ... on RotateApiKeyPayload { token apiKey { version } } ${ERROR} } }`
const REVOKE = `mutation ($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) {
  ... on RevokeApiKeyPayload { apiKey { revokedAt } } ${ERROR} } }`
const VIEWER = '{ viewer { tenant actor kind rights conversationIds expiresAt } }'

describe.each(backends)('API keys over GraphQL on $name', (backend) => {
  const server = useServer(backend, { AUTH_MODE: 'keys' })
  let tenant: string
  let admin: string
  beforeAll(async () => {
    tenant = server.tenant().name
    const key = { name: 'admin', actor: 'admin', kind: 'HUMAN' as const, rights: [...RIGHTS] }
    admin = (await createApiKey(server.deps, { tenant, actor: 'admin' }, key)).token
  })
  const send = async (token: string, query: string, input?: object) => {
    const { body } = await server.post({ query, variables: { input } }, { authorization: `Bearer ${token}` })
    if (body.errors) return body
    return Object.values(body.data)[0] as any
  }

  it('authenticate the actor that they were created for, with their rights and conversations', async () => {
    const conversation = await server.tenant().newConversation()
    const expiresAt = new Date(Date.now() + 60_000).toISOString()
    const input = { name: 'robot', actor: 'bot', kind: 'TOOL', rights: ['READ', 'ACT_AS'], expiresAt }
    const { token, apiKey } = await send(admin, CREATE, { ...input, conversationIds: [conversation] })
    expect(apiKey).toEqual({
      ...input,
      id: expect.stringMatching(/^key_/),
      conversationIds: [conversation],
      version: 1,
      revokedAt: null,
    })
    expect(await send(token, VIEWER)).toEqual({
      tenant,
      actor: 'bot',
      kind: 'TOOL',
      rights: ['READ', 'ACT_AS'],
      conversationIds: [conversation],
      expiresAt,
    })
    expect(await send(admin, `{ node(id: "${apiKey.id}") { __typename ... on ApiKey { name } } }`)).toEqual({
      __typename: 'ApiKey',
      name: 'robot',
    })
  })

  it('are rotated and revoked, and listed without their tokens', async () => {
    const { token, apiKey } = await send(admin, CREATE, { name: 'second', actor: 'bot', rights: ['READ'] })
    const { id } = apiKey
    const rotated = await send(admin, ROTATE, { id, expectedVersion: 1, overlapSeconds: 60 })
    expect(rotated.apiKey).toEqual({ version: 2 })
    for (const each of [token, rotated.token]) expect(await send(each, VIEWER)).toMatchObject({ actor: 'bot' })
    expect(await send(admin, ROTATE, { id, expectedVersion: 1 })).toMatchObject({ code: 'CONFLICT' })
    expect(await send(admin, REVOKE, { id })).toEqual({ apiKey: { revokedAt: expect.any(String) } })
    for (const each of [token, rotated.token]) {
      // The revocation takes effect when the bus has delivered it.
      const refusal = async () => (await send(each, VIEWER)).errors?.[0].extensions.code
      await expect.poll(refusal).toBe('UNAUTHENTICATED')
    }
    const { nodes, pageInfo } = await send(admin, '{ apiKeys(first: 1) { nodes { name } pageInfo { hasNextPage } } }')
    expect([nodes, pageInfo]).toEqual([[{ name: 'second' }], { hasNextPage: true }])
  })

  it('report each expected error as a member of the result', async () => {
    const key = { name: 'admin', actor: 'admin', rights: ['READ'] }
    expect(await send(admin, CREATE, key)).toMatchObject({ code: 'CONFLICT' })
    expect(await send(admin, CREATE, { ...key, rights: [] })).toMatchObject({ code: 'INVALID_INPUT' })
    expect(await send(admin, REVOKE, { id: 'key_1' })).toMatchObject({ code: 'INVALID_INPUT' })
    const { token } = await send(admin, CREATE, { ...key, name: 'reader' })
    expect(await send(token, CREATE, { ...key, name: 'more' })).toMatchObject({ code: 'NOT_ALLOWED' })
    expect((await send(token, '{ apiKeys { nodes { name } } }')).errors[0].extensions.code).toBe('NOT_ALLOWED')
  })
})
