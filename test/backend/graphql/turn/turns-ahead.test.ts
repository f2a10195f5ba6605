// A page of turns that is read together with its conversation, on real databases.

import { describe, expect, it } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { useClients } from '../client.ts'

const PAGE = 'edges { cursor node { id text } } pageInfo { hasNextPage hasPreviousPage }'
const TOGETHER = ['read-conversation + page-turns-of-conversation-from-newest']

describe.each(backends)('the turns of one conversation on $name', (backend) => {
  const clients = useClients(backend)
  const makeConversation = async () => {
    const conversationId = await clients.newConversation(['ada', 'bob'])
    for (const text of ['one', 'two', 'three']) await clients.append(conversationId, text)
    await clients.append(conversationId, 'psst', { audience: ['ada'] })
    return conversationId
  }
  /** The data, and the names of the statements of each batch that reads the conversation or its turns. */
  const batchesOf = async (document: string, variables: object) => {
    const batches: string[] = []
    const { pool } = clients.deps.reads
    const { query, queryAll } = pool
    pool.query = ((statement: { name: string }) => {
      batches.push(statement.name)
      return query.call(pool, statement as never)
    }) as never
    pool.queryAll = (scope, statements) => {
      batches.push(statements.map(({ name }) => name).join(' + '))
      return queryAll.call(pool, scope, statements)
    }
    try {
      const data = await clients.as('ada')(document, variables)
      // The embedding job may send its statements at the same time.
      return { data, batches: batches.filter((names) => /^(read-conversation|page-turns)/.test(names)) }
    } finally {
      Object.assign(pool, { query, queryAll })
    }
  }

  it.each([
    ['a field', 'conversation(id: $id) { title turns(last: 2) { edges { node { text } } } }'],
    ['an alias', 'conversation(id: $id) { t: turns(last: 2) { edges { node { text } } } }'],
    ['a variable', 'conversation(id: $id) { turns(last: $last) { edges { node { text } } } }'],
    ['a fragment', 'conversation(id: $id) { ...Chat }'],
    [
      'an inline fragment',
      'conversation(id: $id) { ... on Conversation { turns(last: 2) { edges { node { text } } } } }',
    ],
  ])('are read in one batch with the conversation if they are selected by %s', async (_, selection) => {
    const id = await makeConversation()
    const fragment = selection.includes('...Chat')
      ? 'fragment Chat on Conversation { turns(last: 2) { edges { node { text } } } }'
      : ''
    const last = selection.includes('$last') ? ', $last: Int!' : ''
    const { data, batches } = await batchesOf(`query ($id: ID!${last}) { ${selection} } ${fragment}`, { id, last: 2 })
    const { edges } = data.conversation.turns ?? data.conversation.t
    expect(edges.map(({ node }: { node: { text: string } }) => node.text)).toEqual(['three', 'psst'])
    expect(batches).toEqual(TOGETHER)
  })

  it.each([
    'last: 2',
    'first: 2',
    'last: 0',
    'first: 2, filter: { actors: ["ada"], roles: [USER] }',
    'last: 50, filter: { sinceSeq: 4 }',
    'last: 50, includeSuperseded: true',
    'filter: { createdBefore: "2020-01-01T00:00:00Z" }',
  ])('are equal to turns that are read after the conversation: turns(%s)', async (args) => {
    const id = await makeConversation()
    for (const actor of ['ada', 'bob', 'zoe']) {
      const ask = async (selection: string) =>
        (await clients.as(actor)(`query ($id: ID!) { conversation(id: $id) { ${selection} } }`, { id })).conversation
      // Two fields are read after the conversation.
      const { turns, ...other } = await ask(`turns(${args}) { ${PAGE} } other: turns(${args}) { ${PAGE} }`)
      expect(other).toEqual({ other: turns })
      expect(await ask(`turns(${args}) { ${PAGE} }`)).toEqual({ turns })
    }
  })

  it('start after a cursor', async () => {
    const id = await makeConversation()
    const read = async (after: string | null) =>
      (
        await clients.as('ada')(
          `query ($id: ID!, $after: String) { conversation(id: $id) { turns(first: 1, after: $after) { ${PAGE} } } }`,
          { id, after },
        )
      ).conversation.turns.edges[0]
    const first = await read(null)
    expect((await read(first.cursor)).node.text).toBe('two')
  })

  it('report their invalid arguments at their own path', async () => {
    const id = await makeConversation()
    const { data, errors } = await clients.answerTo(
      { tenant: 'acme', actor: 'ada' },
      'query ($id: ID!) { conversation(id: $id) { id turns(first: 1, last: 1) { edges { cursor } } } }',
      { id },
    )
    expect(data).toEqual({ conversation: null })
    expect(errors).toMatchObject([{ path: ['conversation', 'turns'], extensions: { code: 'INVALID_INPUT' } }])
  })

  it('are not read if a directive excludes them', async () => {
    const id = await makeConversation()
    const { data, batches } = await batchesOf(
      'query ($id: ID!) { conversation(id: $id) { id turns(last: 2) @skip(if: true) { edges { cursor } } } }',
      { id },
    )
    expect(data).toEqual({ conversation: { id } })
    expect(batches).toEqual(['read-conversation'])
  })

  it('cause no error if the conversation is unknown', async () => {
    const { data } = await batchesOf(
      'query ($id: ID!) { conversation(id: $id) { turns(last: 2) { edges { cursor } } } }',
      { id: 'conv_unknown' },
    )
    expect(data).toEqual({ conversation: null })
  })
})
