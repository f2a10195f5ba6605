// Each operation has its own viewer, over HTTP and on one socket, even if its document is cached and has a query plan.

import { describe, expect, test, vi } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { backends } from '../../../../support/backend.ts'
import { useServer } from '../../../../support/server.ts'

const READ = `query ($id: ID!, $as: String) {
  viewer(as: $as) { actor }
  conversation(id: $id, as: $as) { turns { nodes { text conversation { viewerParticipant { actor } } } } }
}`
type Read = { viewer: { actor: string }; conversation: { turns: { nodes: { text: string }[] } } }

describe.each(backends)('the viewer of an operation on $name', (backend) => {
  const server = useServer(backend)

  async function newConversation() {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada', 'bob', 'cy')
    await tenant.append(id, 'ada', 'to all')
    await tenant.append(id, 'ada', 'to bob', { audience: ['bob'] })
    return { tenant, id }
  }
  const expected = (actor: string) => ({
    viewer: { actor },
    conversation: {
      turns: {
        nodes: (actor === 'cy' ? ['to all'] : ['to all', 'to bob']).map((text) => ({
          text,
          conversation: { viewerParticipant: { actor } },
        })),
      },
    },
  })
  const ACTORS = ['bob', 'cy', null, 'cy', 'bob', null, 'bob', 'cy']

  test('is named by its own variables, in consecutive and in concurrent requests', async () => {
    const { tenant, id } = await newConversation()
    const read = async (as: string | null) => {
      const headers = { 'x-tenant': tenant.name, 'x-actor': 'ada' }
      return (await server.post({ query: READ, variables: { id, as } }, headers)).body.data as Read
    }
    for (const as of ACTORS) expect(await read(as)).toEqual(expected(as ?? 'ada'))
    const answers = await Promise.all(ACTORS.map(read))
    expect(answers).toEqual(ACTORS.map((as) => expected(as ?? 'ada')))
  })

  test('is named by its own variables, among concurrent operations of one socket', async () => {
    const { tenant, id } = await newConversation()
    const client = server.client({ 'x-tenant': tenant.name, 'x-actor': 'ada' })
    const read = async (as: string | null) => {
      for await (const { data } of client.iterate({ query: READ, variables: { id, as } })) return data
    }
    expect(await Promise.all(ACTORS.map(read))).toEqual(ACTORS.map((as) => expected(as ?? 'ada')))
  })

  test('is looked up in the database once, and then remembered', async () => {
    const { tenant } = await newConversation()
    await createConversation(server.deps, tenant.as('owner'), {})
    const query = vi.spyOn(server.deps.reads.pool, 'query')
    const headers = { 'x-tenant': tenant.name, 'x-actor': 'ada' }
    const ask = (as: string) =>
      server.post({ query: '{ viewer(as: $as) { actor } }'.replace('$as', `"${as}"`) }, headers)
    for (const as of ['ada', 'owner', 'owner', 'owner']) expect((await ask(as)).body.data.viewer.actor).toBe(as)
    const reads = query.mock.calls.filter(([statement]) => JSON.stringify(statement).includes('isKnown'))
    expect(reads).toHaveLength(1)
    query.mockRestore()
  })
})
