// Pages of turns over HTTP and WebSocket. Postgres renders the turns if it can. The answer must equal the one that the
// executor builds from objects, which a directive in the selection of the page requires.

import { afterEach, describe, expect, it, vi } from 'vitest'
import { extentOf } from '../../../../src/graphql/kernel/limits/extent.ts'
import { Work } from '../../../../src/graphql/kernel/limits/work.ts'
import { backends } from '../../../support/backend.ts'
import { useServer } from '../../../support/server.ts'

const NODE = '__typename id seq actor role status text tokenCount model adapter traceId pinned abortReason createdAt'
const PAGE_INFO = 'pageInfo { __typename startCursor endCursor hasNextPage hasPreviousPage }'
const UNLIMITED = { values: Infinity, bytes: Infinity }

describe.each(backends)('pages of turns on $name', (backend) => {
  const server = useServer(backend)
  afterEach(() => void vi.restoreAllMocks())

  async function makeConversation() {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada', 'bob')
    for (const text of ['one', 'a "quoted" line\n', 'three']) await tenant.append(id, 'ada', text)
    await tenant.append(id, 'bob', 'psst', { audience: ['bob'] })
    const headers = { 'x-tenant': tenant.name, 'x-actor': 'ada' }
    const ask = async (query: string, variables: object = {}, more: Record<string, string> = {}) => {
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers, ...more },
        body: JSON.stringify({ query, variables: { id, ...variables } }),
      })
      return response.text()
    }
    return { id, ask, headers }
  }

  /** Starts to record the names of the statements that read turns. */
  function statementsOfTurns(): string[] {
    const names: string[] = []
    const { pool } = server.deps.reads
    const { query, queryAll } = pool
    const note = ({ name }: { name?: string }) => void (name?.startsWith('page-turn') && names.push(name))
    vi.spyOn(pool, 'query').mockImplementation(((statement: { name?: string }) => {
      note(statement)
      return query.call(pool, statement as never)
    }) as never)
    vi.spyOn(pool, 'queryAll').mockImplementation((scope, statements) => {
      statements.forEach(note)
      return queryAll.call(pool, scope, statements)
    })
    return names
  }

  /** Returns the query with a directive, so that no page is rendered. */
  const withObjects = (query: string) => query.replaceAll(/(edges|nodes|pageInfo)(?= \{)/g, '$1 @include(if: true)')

  const ofConversation = (fields: string) => `query ($id: ID!) { conversation(id: $id) { ${fields} } }`

  it.each([
    ['edges', ofConversation(`owner turns(last: 2) { edges { __typename node { ${NODE} } } }`)],
    ['nodes', ofConversation(`turns(first: 2) { __typename nodes { ${NODE} } }`)],
    ['nothing else of the conversation', ofConversation('__typename id turns { nodes { text } }')],
    ['pageInfo after the turns', ofConversation(`turns(first: 2) { edges { node { text } } ${PAGE_INFO} }`)],
    ['pageInfo before the turns', ofConversation(`turns(last: 1) { ${PAGE_INFO} nodes { text } }`)],
    ['cursors', ofConversation(`turns { edges { cursor c: cursor node { text } } ${PAGE_INFO} }`)],
    ['aliases', ofConversation('t: turns { e: edges { n: node { a: text b: text } } }')],
    [
      'fragments',
      `${ofConversation('...C')} fragment C on Conversation { turns { nodes { ...T ... on Node { id } } } }
      fragment T on Turn { text seq }`,
    ],
    ['several pages', ofConversation('turns(last: 1) { nodes { text } } first: turns(first: 1) { nodes { seq } }')],
    ['zero turns', ofConversation('turns(first: 0) { nodes { text } pageInfo { endCursor hasNextPage } }')],
    ['a filter', ofConversation('turns(filter: { sinceSeq: 4, actors: ["ada"] }) { nodes { text } }')],
    ['several conversations', `{ conversations { nodes { id turns(last: 2) { edges { node { ${NODE} } } } } } }`],
    [
      'one conversation twice',
      `query ($id: ID!) { a: conversation(id: $id) { turns { nodes { text } } }
      b: conversation(id: $id) { turns { nodes { seq } } } }`,
    ],
  ])('are rendered if a query selects %s', async (_, query) => {
    const { ask } = await makeConversation()
    const statements = statementsOfTurns()
    const first = await ask(withObjects(query))
    expect(statements.filter((name) => name.startsWith('page-turn-json'))).toEqual([])
    expect(JSON.parse(first).errors).toBeUndefined()
    statements.length = 0
    expect(await ask(query)).toBe(first)
    expect(statements).not.toEqual([])
    expect(statements.filter((name) => !name.startsWith('page-turn-json'))).toEqual([])
  })

  it.each([
    ofConversation(`turns { __typename nodes { ${NODE} } ${PAGE_INFO} }`),
    ofConversation('owner turns(last: 2) { edges { __typename node { text } } }'),
    ofConversation('turns(first: 0) { nodes { text } }'),
  ])('count as many values as the answer has: %s', async (query) => {
    const { ask } = await makeConversation()
    const checked = vi.spyOn(Work.prototype, 'checked')
    const { data } = JSON.parse(await ask(query))
    const counted = extentOf(checked.mock.calls[0]![0].data, UNLIMITED)
    expect(counted.values).toBe(extentOf(data, UNLIMITED).values)
  })

  it.each([
    ['fields that need objects', ofConversation('turns { nodes { text metadata } }')],
    ['fields that need another read', ofConversation('turns { nodes { text conversation { id } } }')],
    ['two lists', ofConversation('turns { nodes { text } edges { node { seq } } }')],
    ['no list', ofConversation(`turns { ${PAGE_INFO} }`)],
  ])('are not rendered if a query selects %s', async (_, query) => {
    const { ask } = await makeConversation()
    const statements = statementsOfTurns()
    expect(JSON.parse(await ask(query)).errors).toBeUndefined()
    expect(statements).toHaveLength(1)
    expect(statements[0]).not.toContain('json')
  })

  it('can be selected together with lastTurn', async () => {
    const { ask } = await makeConversation()
    const query = ofConversation('turns(last: 1) { nodes { text } } lastTurn { id text metadata }')
    expect(JSON.parse(await ask(query))).toMatchObject({ data: { conversation: { lastTurn: { text: 'three' } } } })
  })

  it('contain only turns that the viewer sees; an unknown conversation is null', async () => {
    const { ask } = await makeConversation()
    const query = ofConversation('turns { nodes { text } }')
    expect(await ask(query, {}, { 'x-actor': 'bob' })).toContain('psst')
    expect(await ask(query)).not.toContain('psst')
    expect(await ask(query, { id: 'conv_unknown' })).toBe('{"data":{"conversation":null}}')
  })

  it('report invalid arguments and failures of other fields like pages of objects', async () => {
    const { ask } = await makeConversation()
    const invalid = ofConversation('turns(first: 1, last: 1) { nodes { text } }')
    const failing = `query ($id: ID!) { conversation(id: $id) { turns { nodes { text } } } node(id: "turn_none") { id }
      nodes(ids: [${'"a", '.repeat(101)}]) { id } }`
    for (const query of [invalid, failing]) {
      const errorsOf = async (text: string) =>
        JSON.parse(await ask(text)).errors.map(({ locations: _, ...error }: { locations: unknown }) => error)
      const errors = await errorsOf(query)
      expect(errors).toHaveLength(1)
      expect(errors).toEqual(await errorsOf(withObjects(query)))
    }
  })

  it('are the same over a WebSocket', async () => {
    const { id, ask, headers } = await makeConversation()
    const query = ofConversation(`turns { nodes { ${NODE} } }`)
    const answer = JSON.parse(await ask(query))
    const statements = statementsOfTurns()
    const { value } = await server.client(headers).iterate({ query, variables: { id } }).next()
    expect(value).toEqual(answer)
    expect(statements).toEqual(['page-turn-json-of-conversation-from-oldest'])
  })
})
