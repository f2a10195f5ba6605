// Operations on conversations as clients send them, on real databases. Checks the fields and arguments of the schema;
// test/backend/domain checks the verbs that they call.

import { describe, expect, it, vi } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { TENANT, useClients, type Answer } from '../client.ts'

describe.each(backends)('operations on $name', (backend) => {
  const clients = useClients(backend)
  const { as, failure, newConversation: makeConversation, append } = clients
  const [ada, bob, carol] = [as('ada'), as('bob'), as('carol')]
  const BOTH = ['ada', 'bob']

  it('return the viewer', async () => {
    expect(await ada('{ viewer { tenant actor } }')).toEqual({ viewer: { tenant: TENANT, actor: 'ada' } })
  })

  describe('conversations', () => {
    it('have all fields that they were created with', async () => {
      const { createConversation } = await ada(
        `mutation ($metadata: JSON) {
        createConversation(input: {
          key: "k1", agentName: "scout", title: "Launch", systemPrompt: "Be brief.", metadata: { plan: $metadata }
          participants: [{ actor: "ada" }, { actor: "scout", kind: AGENT, displayName: "Scout", historyVisibility: SINCE_JOINED }]
        }) {
          ... on CreateConversationPayload { created conversation {
            key tenant owner agentName title systemPrompt metadata turnCount tokenCount lastSeq createdAt
            participants { nodes { actor kind displayName historyVisibility leftAt lastReadSeq unreadCount presence } }
          } }
        }
      }`,
        { metadata: { deep: [1] } },
      )
      const unset = { leftAt: null, lastReadSeq: 0, unreadCount: 0, presence: 'OFFLINE' }
      expect(createConversation.created).toBe(true)
      expect(createConversation.conversation).toEqual({
        key: 'k1',
        tenant: TENANT,
        owner: 'ada',
        agentName: 'scout',
        title: 'Launch',
        systemPrompt: 'Be brief.',
        metadata: { plan: { deep: [1] } },
        turnCount: 0,
        tokenCount: 0,
        lastSeq: 2,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        participants: {
          nodes: [
            { actor: 'ada', kind: 'HUMAN', displayName: null, historyVisibility: 'ALL', ...unset },
            { actor: 'scout', kind: 'AGENT', displayName: 'Scout', historyVisibility: 'SINCE_JOINED', ...unset },
          ],
        },
      })
    })

    it('are found by id or by key, and are null if unknown', async () => {
      const conversationId = await makeConversation(BOTH, { key: 'found' })
      expect(
        await bob(
          `query ($id: ID!) {
        byId: conversation(id: $id) { id }
        byKey: conversation(key: "found") { id }
        none: conversation(key: "lost") { id }
        malformed: conversation(id: "x") { id }
      }`,
          { id: conversationId },
        ),
      ).toEqual({ byId: { id: conversationId }, byKey: { id: conversationId }, none: null, malformed: null })
    })

    it.each(['conversation { id }', 'conversation(id: "x", key: "y") { id }'])(
      'require either an id or a key: %s',
      async (field) => {
        expect(await failure(`{ ${field} }`)).toMatchObject([
          {
            path: ['conversation'],
            extensions: { code: 'INVALID_INPUT', issues: [{ path: [], message: 'give either id or key' }] },
          },
        ])
      },
    )

    it('are listed page by page, forwards and backwards, in the requested order', async () => {
      const conversationIds: string[] = []
      for (let n = 0; n < 5; n++) conversationIds.push(await makeConversation(BOTH, { owner: 'lister' }))
      await append(conversationIds[0]!, 'this one is active')
      const list = async (args: string) => {
        const { conversations } = await ada(`{ conversations(filter: { owner: "lister" } ${args}) {
          edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
        } }`)
        return { ids: conversations.edges.map((edge: Answer) => edge.node.id), ...conversations.pageInfo }
      }
      const newest = conversationIds.toReversed()
      const first = await list('first: 2')
      expect(first).toMatchObject({ ids: newest.slice(0, 2), hasNextPage: true, hasPreviousPage: false })
      const second = await list(`first: 2 after: "${first.endCursor}"`)
      expect(second).toMatchObject({ ids: newest.slice(2, 4), hasNextPage: true, hasPreviousPage: true })
      const back = await list(`last: 2 before: "${second.startCursor}"`)
      expect(back).toMatchObject({ ids: first.ids, hasNextPage: true, hasPreviousPage: false })
      const none = { ids: [], hasNextPage: true, hasPreviousPage: false, startCursor: null, endCursor: null }
      expect(await list('first: 0')).toEqual(none)
      const active = await list('orderBy: UPDATED_AT first: 1')
      expect(active.ids).toEqual([conversationIds[0]])
      const [error] = await failure(`{ conversations(after: "${active.endCursor}") { edges { cursor } } }`)
      expect(error.extensions.issues).toMatchObject([
        { path: ['after'], message: expect.stringContaining('not a cursor') },
      ])
    })

    it('keep omitted fields in an update, clear null fields, and count only turns that the viewer sees', async () => {
      const conversationId = await makeConversation(BOTH, { title: 'old', systemPrompt: 'stays' })
      await append(conversationId, 'for all of them')
      await append(conversationId, 'for bob', { audience: ['bob'] })
      const { updateConversation } = await bob(
        `mutation ($id: ID!) {
        updateConversation(input: { conversationId: $id, title: null, metadata: { a: 1 } }) {
          ... on UpdateConversationPayload { conversation { title systemPrompt metadata turnCount tokenCount } }
        }
      }`,
        { id: conversationId },
      )
      expect(updateConversation.conversation).toEqual({
        title: null,
        systemPrompt: 'stays',
        metadata: { a: 1 },
        turnCount: 2,
        tokenCount: 6,
      })
      const counts = 'query ($id: ID!) { conversation(id: $id) { turnCount tokenCount } }'
      expect(await carol(counts, { id: conversationId })).toEqual({ conversation: { turnCount: 1, tokenCount: 4 } })
    })

    it('are deleted with a receipt, and are not found afterwards', async () => {
      const conversationId = await makeConversation(BOTH)
      await append(conversationId, 'one')
      await append(conversationId, 'two')
      const erase = `mutation ($id: ID!) {
        deleteConversation(input: { conversationId: $id }) {
          ... on DeleteConversationPayload { deletedConversationId receipt { conversations turns facts summaries profiles completedAt } } ... on UserError { code }
        }
      }`
      const { deleteConversation } = await ada(erase, { id: conversationId })
      const { completedAt, ...counts } = deleteConversation.receipt
      expect(deleteConversation.deletedConversationId).toBe(conversationId)
      expect(counts).toEqual({ conversations: 1, turns: 2, facts: 0, summaries: 0, profiles: 0 })
      expect(Date.parse(completedAt)).toBeGreaterThan(Date.now() - 60_000)
      expect(await ada(erase, { id: conversationId })).toEqual({ deleteConversation: { code: 'NOT_FOUND' } })
      expect(await ada('query ($id: ID!) { node(id: $id) { id } }', { id: conversationId })).toEqual({ node: null })
    })

    it('are deleted after other conversations of the tenant, if two are being deleted', async () => {
      const conversationId = await makeConversation(BOTH)
      const { deletions } = clients.deps.gates
      let release = () => {}
      const blocked = new Promise<void>((resolve) => (release = resolve))
      const held = [1, 2].map(() => deletions.run(TENANT, () => blocked))
      const erase = 'mutation ($id: ID!) { deleteConversation(input: { conversationId: $id }) { __typename } }'
      const deleting = ada(erase, { id: conversationId })
      await vi.waitFor(() => expect(deletions.waiting).toBe(1))
      const read = 'query ($id: ID!) { node(id: $id) { id } }'
      expect(await ada(read, { id: conversationId })).toEqual({ node: { id: conversationId } })
      release()
      await Promise.all([...held, deleting])
      expect(await ada(read, { id: conversationId })).toEqual({ node: null })
    })
  })

  describe('participants', () => {
    it('join, read, set presence, and leave', async () => {
      const conversationId = await makeConversation(BOTH)
      const at = `conversationId: "${conversationId}"`
      const write = async (field: string, selection: string) => {
        const payload = `${field[0]!.toUpperCase()}${/^\w+/.exec(field)![0].slice(1)}Payload`
        const data = await ada(
          `mutation { ${field} { ... on ${payload} { participant { ${selection} } } ... on UserError { code } } }`,
        )
        const [result] = Object.values(data) as Answer[]
        return result.participant ?? result
      }
      const joining = `addParticipant(input: { ${at}, participant: { actor: "eve", historyVisibility: SINCE_JOINED } })`
      expect(await write(joining, 'actor kind historyVisibility')).toEqual({
        actor: 'eve',
        kind: 'HUMAN',
        historyVisibility: 'SINCE_JOINED',
      })
      const seqs: number[] = []
      for (const text of ['one', 'two', 'three']) seqs.push((await append(conversationId, text)).seq)

      expect(
        await write(`markRead(input: { ${at}, seq: ${seqs[1]}, as: "eve" })`, 'actor lastReadSeq unreadCount'),
      ).toEqual({ actor: 'eve', lastReadSeq: seqs[1], unreadCount: 1 })
      expect(await write(`markRead(input: { ${at}, seq: 999 })`, 'actor')).toEqual({ code: 'INVALID_INPUT' })
      await makeConversation(['mallory'])
      expect(await write(`markRead(input: { ${at}, seq: 1, as: "mallory" })`, 'actor')).toEqual({ code: 'NOT_ALLOWED' })
      expect(await write(`setPresence(input: { ${at}, state: TYPING, as: "eve" })`, 'actor presence')).toEqual({
        actor: 'eve',
        presence: 'TYPING',
      })

      const leaving = `removeParticipant(input: { ${at}, actor: "eve" })`
      const left = await write(leaving, 'leftAt')
      expect(left).toEqual({ leftAt: expect.any(String) })
      expect(await write(leaving, 'leftAt')).toEqual(left)
      expect(await write(`removeParticipant(input: { ${at}, actor: "mallory" })`, 'leftAt')).toEqual({
        code: 'NOT_FOUND',
      })
      const { conversation } = await ada(
        `{ conversation(id: "${conversationId}") { participants { nodes { actor leftAt } } } }`,
      )
      expect(conversation.participants.nodes).toEqual([
        { actor: 'ada', leftAt: null },
        { actor: 'bob', leftAt: null },
        { actor: 'eve', leftAt: expect.any(String) },
      ])
    })
  })

  describe('views', () => {
    it('apply to all fields below the root field that names the actor', async () => {
      const conversationId = await makeConversation(BOTH)
      await append(conversationId, 'for all')
      const { id } = await append(conversationId, 'for bob', { audience: ['bob'] })
      const seen = async (as: string | null) => {
        const { conversation } = await carol(
          `query ($id: ID!, $as: String) { conversation(id: $id, as: $as) {
          turns(last: 1) { edges { node { text conversation { turnCount participants { nodes { unreadCount } } } } } }
        } }`,
          { id: conversationId, as },
        )
        return conversation.turns.edges[0].node
      }
      const unread = (count: number) => ({
        turnCount: count,
        participants: { nodes: [{ unreadCount: 0 }, { unreadCount: count }] },
      })
      expect(await seen('bob')).toEqual({ text: 'for bob', conversation: unread(2) })
      expect(await seen(null)).toEqual({ text: 'for all', conversation: unread(1) })

      const node = 'query ($id: ID!) { node(id: $id) { __typename id } }'
      expect(await bob(node, { id })).toEqual({ node: { __typename: 'Turn', id } })
      expect(await carol(node, { id })).toEqual({ node: null })
      expect(await bob(node, { id: conversationId })).toEqual({
        node: { __typename: 'Conversation', id: conversationId },
      })
      expect(await bob(node, { id: 'turn_nonsense' })).toEqual({ node: null })
    })

    it('are read in one statement for a list of parents', async () => {
      for (let n = 0; n < 3; n++) {
        const conversationId = await makeConversation(BOTH, { owner: 'batch' })
        for (const text of ['a', 'b']) await append(conversationId, text)
        await append(conversationId, 'c', { audience: ['bob'] })
      }
      const statements = await clients.statementsOf(() =>
        bob(`{
        conversations(filter: { owner: "batch" }) { edges { node {
          turnCount
          participants { nodes { actor unreadCount presence } }
          newest: turns(last: 2) { edges { node { text conversation { title } supersededBy { id } } } }
          oldest: turns(first: 1) { edges { node { text } } }
          history(limit: 1) { ... on Turn { text } }
        } } }
      }`),
      )
      expect(statements).toEqual([
        'count-turns',
        'count-unread',
        'page-participants',
        'page-turns-from-newest',
        'page-turns-from-newest',
        'page-turns-from-oldest',
        'read-conversations',
        'unnamed',
      ])
    })

    it('contain the result of the preceding mutation in the same document', async () => {
      const conversationId = await makeConversation(BOTH)
      const turn = 'turn: { role: USER, content: "x", audience: ["bob"] }'
      const select = `{ ... on AppendTurnPayload {
        turn { conversation { lastSeq turnCount turns(last: 1) { edges { node { seq } } } } }
      } }`
      const both = await ada(
        `mutation ($id: ID!) {
        first: appendTurn(input: { conversationId: $id, ${turn} }) ${select}
        second: appendTurn(input: { conversationId: $id, ${turn} }) ${select}
      }`,
        { id: conversationId },
      )
      const at = (seq: number) => ({
        turn: { conversation: { lastSeq: seq, turnCount: seq - 2, turns: { edges: [{ node: { seq } }] } } },
      })
      expect(both).toEqual({ first: at(3), second: at(4) })
    })
  })
})
