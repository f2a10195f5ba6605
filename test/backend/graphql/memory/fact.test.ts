// Facts through the API, on real databases: every field, lists and their pages, recording, retracting, events, and
// views.

import { beforeAll, describe, expect, it } from 'vitest'
import { contentHash } from '../../../../src/domain/memory/fact/content-hash.ts'
import { backends } from '../../../support/backend.ts'
import { TENANT, take, useClients, type Answer } from '../client.ts'
import { SYSTEM } from '../../../../src/store/db/scope.ts'

const FIELDS = `id userId subject predicate object confidence saidBy contentHash observedAt createdAt
  supersededAt supersedeReason supersedeNote supersededBy { id } sourceConversation { id title } sourceTurn { id text }`
const ERRORS = '... on UserError { code message } ... on InvalidInput { issues { path message } }'
const RECORD = `mutation ($input: RecordFactsInput!) { recordFacts(input: $input) {
  __typename ... on RecordFactsPayload { facts { ${FIELDS} } exactDuplicatesSkipped } ${ERRORS}
} }`
const RETRACT = `mutation ($input: RetractFactInput!) { retractFact(input: $input) {
  __typename ... on RetractFactPayload { fact { ${FIELDS} } } ${ERRORS}
} }`
const PAGE = 'edges { cursor node { id object } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'
const FACTS = `query ($filter: FactFilter, $first: Int, $after: String, $last: Int, $before: String) {
  facts(filter: $filter, first: $first, after: $after, last: $last, before: $before) { ${PAGE} }
}`
const CONVERSATION = `query ($id: ID!, $first: Int, $after: String, $all: Boolean) { conversation(id: $id) {
  facts(first: $first, after: $after, includeSuperseded: $all) { ${PAGE} }
} }`
const FOLLOW = `subscription ($id: ID!, $afterSeq: Int) { conversationEvents(conversationId: $id, afterSeq: $afterSeq) {
  __typename seq ... on FactsChanged { facts { object supersedeReason sourceConversation { id } sourceTurn { text } } }
} }`

const UNKNOWN = { conv: 'conv_01M7Y6WYY3H46N4VAVA0X8EY1Q', turn: 'turn_01M7Y6WYY3H46N4VAVA0X8EY1Q' }
const likes = (object: string, more: object = {}) => ({ subject: 'Ada', predicate: 'likes', object, ...more })

describe.each(backends)('facts on $name', (backend) => {
  const clients = useClients(backend)
  const { append } = clients
  const [ada, bob, carl] = [clients.as('ada'), clients.as('bob'), clients.as('carl')]

  const record = async (input: object, as = ada) => (await as(RECORD, { input })).recordFacts
  const objects = ({ edges }: Answer): string[] => edges.map(({ node }: Answer) => node.object)
  const list = async (variables: object = {}, as = ada) => (await as(FACTS, variables)).facts
  const ofConversation = async (id: string, variables: object = {}, as = ada) =>
    (await as(CONVERSATION, { id, ...variables })).conversation.facts

  it('are returned with normalised texts, by the mutation, by id and in lists', async () => {
    const conversationId = await clients.newConversation(['ada', 'bob'], { title: 'Hall' })
    const turn = await append(conversationId, 'I like tea.', { createdAt: '2026-01-02T03:04:05.678Z' })
    const given = likes(' green   tea ', { confidence: 0.25, sourceTurnId: turn.id })
    const {
      facts: [fact],
      ...rest
    } = await record({ conversationId, facts: [given] }, bob)
    expect(rest).toEqual({ __typename: 'RecordFactsPayload', exactDuplicatesSkipped: 0 })
    const texts = likes('green tea')
    expect(fact).toEqual({
      id: expect.stringMatching(/^fact_\w{26}$/),
      userId: 'ada',
      ...texts,
      confidence: 0.25,
      saidBy: 'HUMAN',
      contentHash: contentHash(texts),
      observedAt: '2026-01-02T03:04:05.678Z',
      createdAt: expect.any(String),
      supersededAt: null,
      supersedeReason: null,
      supersedeNote: null,
      supersededBy: null,
      sourceConversation: { id: conversationId, title: 'Hall' },
      sourceTurn: { id: turn.id, text: 'I like tea.' },
    })
    const query = `query ($id: ID!) { node(id: $id) { __typename ... on Fact { ${FIELDS} } } }`
    const { node } = await bob(query, { id: fact.id })
    expect(node).toEqual({ __typename: 'Fact', ...fact })
    expect(objects(await ofConversation(conversationId))).toEqual(['green tea'])
    expect(objects(await list({ filter: { conversationId } }))).toEqual(['green tea'])
  })

  it('are visible to the whole tenant if they have no conversation and no turn', async () => {
    const before = Date.now()
    const {
      facts: [fact],
    } = await record({ userId: 'zoe', facts: [likes('silence')] })
    expect(fact).toMatchObject({ userId: 'zoe', confidence: 1, sourceConversation: null, sourceTurn: null })
    expect(Date.parse(fact.observedAt)).toBeGreaterThanOrEqual(before)
    expect(objects(await list({ filter: { userId: 'zoe' } }, carl))).toEqual(['silence'])
  })

  it('are counted and not written again if they already exist', async () => {
    const conversationId = await clients.newConversation(['ada'])
    const facts = [likes('tea'), likes('TEA'), likes('milk')]
    expect(await record({ conversationId, facts })).toMatchObject({
      facts: [{ object: 'tea' }, { object: 'milk' }],
      exactDuplicatesSkipped: 1,
    })
    expect(await record({ conversationId, facts })).toMatchObject({ facts: [], exactDuplicatesSkipped: 3 })
  })

  it('list their sources in pages, to viewers who see them', async () => {
    const [here, there] = [await clients.newConversation(['ada', 'bob']), await clients.newConversation(['ada'])]
    const turn = await append(here, 'Tea!', { createdAt: '2026-01-02T03:04:05.678Z' })
    const {
      facts: [fact],
    } = await record({ conversationId: here, facts: [likes('oolong', { sourceTurnId: turn.id })] })
    await record({ conversationId: there, userId: 'ada', facts: [likes('oolong')] })
    const query = `query ($id: ID!, $first: Int, $after: String) { node(id: $id) { ... on Fact {
      sources(first: $first, after: $after) {
        edges { cursor node {
          turn { text importedAt } conversation { id } assertedBy saidBy confidence observedAt importedAt createdAt
        } }
        pageInfo { hasNextPage }
      }
    } } }`
    const page = async (variables: object, as = ada) => (await as(query, { id: fact.id, ...variables })).node.sources
    const first = await page({ first: 1 })
    expect(first).toEqual({
      edges: [
        {
          cursor: expect.any(String),
          node: {
            turn: { text: 'Tea!', importedAt: expect.any(String) },
            conversation: { id: here },
            assertedBy: 'ada',
            saidBy: 'HUMAN',
            confidence: 1,
            observedAt: '2026-01-02T03:04:05.678Z',
            importedAt: expect.any(String),
            createdAt: expect.any(String),
          },
        },
      ],
      pageInfo: { hasNextPage: true },
    })
    expect(await page({ after: first.edges[0].cursor })).toMatchObject({
      edges: [{ node: { turn: null, conversation: { id: there }, importedAt: null } }],
      pageInfo: { hasNextPage: false },
    })
    await expect(page({ first: 1000 })).rejects.toThrow('it must be 0 to 200')
  })

  it("return in saidBy the less trusted kind of the source turn's actor and the recording actor", async () => {
    const conversationId = await clients.newConversation([], {
      participants: [{ actor: 'ada' }, { actor: 'bot', kind: 'AGENT' }],
    })
    const human = await append(conversationId, 'Tea!')
    const tool = await append(conversationId, '{}', { actor: 'search', role: 'TOOL' })
    const saidBy = async (fact: object, as = ada) =>
      (await record({ conversationId, facts: [fact] }, as)).facts[0].saidBy
    expect(await saidBy(likes('a', { sourceTurnId: human.id }))).toBe('HUMAN')
    expect(await saidBy(likes('b', { sourceTurnId: human.id }), clients.as('bot'))).toBe('AGENT')
    expect(await saidBy(likes('c', { sourceTurnId: tool.id }))).toBe('TOOL')
  })

  it('are retracted with a reason; a second retraction changes nothing', async () => {
    const conversationId = await clients.newConversation(['ada'])
    const {
      facts: [fact],
    } = await record({ conversationId, facts: [likes('rain')] })
    const retract = async (input: object, as = ada) => {
      const { retractFact } = await as(RETRACT, { input })
      return retractFact.fact ?? retractFact
    }
    // Only Ada may retract her statement about herself.
    expect(await retract({ factId: fact.id }, bob)).toMatchObject({ __typename: 'NotAllowed' })
    const retracted = await retract({ factId: fact.id, reason: 'a joke' })
    expect(retracted).toEqual({
      ...fact,
      supersededAt: expect.any(String),
      supersedeReason: 'RETRACTED',
      supersedeNote: 'a joke',
    })
    expect(await retract({ factId: fact.id, reason: 'again' })).toEqual(retracted)
    expect(objects(await ofConversation(conversationId))).toEqual([])
    expect(objects(await ofConversation(conversationId, { all: true }))).toEqual(['rain'])
    for (const factId of ['fact_01M7Y6WYY3H46N4VAVA0X8EY1Q', 'rain', '\u0000', conversationId]) {
      expect(await retract({ factId })).toMatchObject({ __typename: 'NotFound', code: 'NOT_FOUND' })
    }
    expect(await retract({ factId: fact.id, reason: 'x'.repeat(1001) })).toMatchObject({
      __typename: 'InvalidInput',
      issues: [{ path: ['reason'] }],
    })
  })

  it('name the superseding fact, if the viewer can see it', async () => {
    const [conversationId, other] = [
      await clients.newConversation(['ada', 'carl']),
      await clients.newConversation(['ada']),
    ]
    const add = `mutation ($input: AddParticipantInput!) { addParticipant(input: $input) { __typename } }`
    await ada(add, { input: { conversationId: other, participant: { actor: 'carl' } } })
    const {
      facts: [old],
    } = await record({ conversationId, facts: [likes('coke')] })
    const secret = await append(other, 'No more coke', { audience: ['ada'] })
    const {
      facts: [newer],
    } = await record({ facts: [likes('water', { sourceTurnId: secret.id })] })
    await clients.deps.db
      .of(SYSTEM)
      .fact.update({
        where: { id: old.id },
        data: { supersededBy: newer.id, supersededAt: new Date(), supersedeReason: 'UPDATED' },
      })
    const query = `query ($id: ID!) { node(id: $id) { ... on Fact { supersedeReason supersededBy { object } } } }`
    const [forAda, forCarl] = [await ada(query, { id: old.id }), await carl(query, { id: old.id })]
    expect(forAda.node).toEqual({ supersedeReason: 'UPDATED', supersededBy: { object: 'water' } })
    expect(forCarl.node).toEqual({ supersedeReason: 'UPDATED', supersededBy: null })
  })

  describe('in lists,', () => {
    let conversationId: string
    let other: string
    beforeAll(async () => {
      ;[conversationId, other] = [await clients.newConversation(['ada']), await clients.newConversation(['ada'])]
      for (const n of [1, 2, 3]) await record({ conversationId, userId: 'lister', facts: [likes(`thing ${n}`)] })
      for (const fact of [{ ...likes('thing 4'), predicate: 'Loathes' }, likes('thing 5')]) {
        await record({ conversationId: other, userId: 'lister', facts: [fact] })
      }
      await record({ conversationId: other, userId: 'nobody', facts: [likes('thing 6')] })
      const { edges } = await list({ filter: { userId: 'lister', conversationId } })
      await ada(RETRACT, { input: { factId: edges.find(({ node }: Answer) => node.object === 'thing 2').node.id } })
    })

    it('are returned backwards, page by page', async () => {
      const filter = { userId: 'lister', includeSuperseded: true }
      const last = await list({ filter, last: 2 })
      expect(objects(last)).toEqual(['thing 2', 'thing 1'])
      expect(last.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true })
      const before = await list({ filter, last: 3, before: last.pageInfo.startCursor })
      expect(objects(before)).toEqual(['thing 5', 'thing 4', 'thing 3'])
      expect(before.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false })
    })

    it('match text, time, confidence and the type of actor', async () => {
      const userId = 'filtered'
      const at = (observedAt: string) => ({ observedAt: `2026-0${observedAt}-01T00:00:00Z` })
      await record({
        userId,
        facts: [
          likes('Earl Grey', { confidence: 0.3, ...at('1') }),
          { subject: 'The gate', predicate: 'closes at', object: '100 %', ...at('2') },
        ],
      })
      const match = async (filter: object) => objects(await list({ filter: { userId, ...filter } })).toSorted()
      expect(await match({ text: 'earl' })).toEqual(['Earl Grey'])
      expect(await match({ text: 'CLOSES' })).toEqual(['100 %'])
      expect(await match({ text: 'gate' })).toEqual(['100 %'])
      expect(await match({ text: '0 %' })).toEqual(['100 %'])
      expect(await match({ text: '_arl' })).toEqual([])
      expect(await match({ minConfidence: 0.3 })).toEqual(['100 %', 'Earl Grey'])
      expect(await match({ minConfidence: 0.31 })).toEqual(['100 %'])
      expect(await match({ observedAfter: '2026-02-01T00:00:00Z' })).toEqual(['100 %'])
      expect(await match({ observedBefore: '2026-02-01T00:00:00Z' })).toEqual(['Earl Grey'])
      expect(await match({ saidBy: ['HUMAN'] })).toEqual(['100 %', 'Earl Grey'])
      expect(await match({ saidBy: ['AGENT', 'TOOL'] })).toEqual([])
      const [error] = await clients.failure(FACTS, { filter: { minConfidence: 2 } })
      expect(error.extensions.issues).toMatchObject([{ path: ['minConfidence'] }])
    })

    it('are returned newest first, page by page', async () => {
      const filter = { userId: 'lister', includeSuperseded: true }
      const pages: Answer[] = []
      for (let after = null; pages.at(-1)?.pageInfo.hasNextPage ?? true; after = pages.at(-1).pageInfo.endCursor) {
        pages.push(await list({ filter, first: 2, after }))
      }
      expect(pages.map(objects)).toEqual([['thing 5', 'thing 4'], ['thing 3', 'thing 2'], ['thing 1']])
      expect(pages.map(({ pageInfo }) => pageInfo.hasPreviousPage)).toEqual([false, true, true])
      expect(pages[0].pageInfo.startCursor).toBe(pages[0].edges[0].cursor)
      const next = await ofConversation(conversationId, { all: true, first: 1, after: pages[1].edges[0].cursor })
      expect(objects(next)).toEqual(['thing 2'])
      expect(next.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true })
    })

    it.each<[object, string[]]>([
      [{ userId: 'lister' }, ['thing 5', 'thing 4', 'thing 3', 'thing 1']],
      [{ userId: 'lister', includeSuperseded: null }, ['thing 5', 'thing 4', 'thing 3', 'thing 1']],
      [{ userId: 'lister', predicate: 'loathes' }, ['thing 4']],
      [{ userId: 'lister', subject: 'ADA', predicate: 'likes' }, ['thing 5', 'thing 3', 'thing 1']],
      [{ userId: 'lister', subject: 'Ad' }, []],
      [{ userId: 'none' }, []],
    ])('are filtered by %j', async (filter, expected) => {
      expect(objects(await list({ filter }))).toEqual(expected)
    })

    it('are limited to the given conversation', async () => {
      expect(objects(await ofConversation(conversationId))).toEqual(['thing 3', 'thing 1'])
      expect(objects(await ofConversation(conversationId, { all: true }))).toEqual(['thing 3', 'thing 2', 'thing 1'])
      expect(objects(await list({ filter: { conversationId: other } }))).toEqual(['thing 6', 'thing 5', 'thing 4'])
    })

    it('are read in one statement for several conversations', async () => {
      const statements = await clients.statementsOf(() =>
        ada(
          `query ($a: ID!, $b: ID!) {
        a: conversation(id: $a) { facts { edges { node { object sourceConversation { id } } } } }
        b: conversation(id: $b) { facts { edges { node { object sourceConversation { id } } } } }
      }`,
          { a: conversationId, b: other },
        ),
      )
      expect(statements).toEqual(['read-conversations', 'read-conversations', 'unnamed'])
    })

    it.each<[object, string]>([
      [{ after: 'nonsense' }, 'after'],
      [{ first: 201 }, 'first'],
      [{ first: -1 }, 'first'],
      [{ filter: { conversationId: 'x' } }, 'conversationId'],
      [{ filter: { subject: '\0' } }, 'subject'],
    ])('are not returned for invalid arguments %j', async (variables, path) => {
      const invalid = { code: 'INVALID_INPUT', issues: [{ path: [path] }] }
      expect(await clients.failure(FACTS, variables)).toMatchObject([{ path: ['facts'], extensions: invalid }])
    })
  })

  describe('are rejected', () => {
    it.each<[string, object, string[]]>([
      [
        'if there are more than 1,000 at once',
        { facts: Array.from({ length: 1001 }, (_, n) => likes(`${n}`)) },
        ['facts'],
      ],
      ['as an empty list', { facts: [] }, ['facts']],
      ['without a subject', { facts: [likes('tea'), likes('tea', { subject: ' \t ' })] }, ['facts', '1', 'subject']],
      ['with an object of more than 2,000 characters', { facts: [likes('x'.repeat(2001))] }, ['facts', '0', 'object']],
      ['with a confidence above 1', { facts: [likes('tea', { confidence: 2 })] }, ['facts', '0', 'confidence']],
      ['with an invalid conversation id', { conversationId: 'hall', facts: [likes('tea')] }, ['conversationId']],
      [
        'with an invalid turn id',
        { facts: [likes('tea', { sourceTurnId: UNKNOWN.conv })] },
        ['facts', '0', 'sourceTurnId'],
      ],
    ])('%s', async (_, input, path) => {
      const issues = [{ path }]
      expect(await record(input)).toMatchObject({ __typename: 'InvalidInput', code: 'INVALID_INPUT', issues })
    })

    it('for an unknown conversation or turn', async () => {
      for (const input of [
        { conversationId: UNKNOWN.conv, facts: [likes('tea')] },
        { facts: [likes('tea', { sourceTurnId: UNKNOWN.turn })] },
      ])
        expect(await record(input)).toMatchObject({ __typename: 'NotFound', code: 'NOT_FOUND' })
    })

    it('for a turn of another conversation, or a turn that the viewer cannot see', async () => {
      const [conversationId, other] = [
        await clients.newConversation(['ada', 'bob', 'carl']),
        await clients.newConversation(['ada']),
      ]
      const elsewhere = await append(other, 'I like tea.')
      const secret = await append(conversationId, 'I like gin.', { audience: ['bob'] })
      const misplaced = [likes('tea', { sourceTurnId: elsewhere.id })]
      expect(await record({ conversationId, facts: misplaced })).toMatchObject({
        __typename: 'InvalidInput',
        issues: [{ path: ['facts', '0', 'sourceTurnId'], message: 'is a turn of another conversation' }],
      })
      const facts = [likes('gin', { sourceTurnId: secret.id })]
      expect(await record({ facts }, carl)).toMatchObject({ __typename: 'NotFound' })
      const visible = [{ object: 'gin', sourceTurn: { text: 'I like gin.' } }]
      expect(await record({ facts }, bob)).toMatchObject({ facts: visible })
      expect(objects(await ofConversation(conversationId, {}, carl))).toEqual([])
    })
  })

  describe('of a conversation', () => {
    it('are delivered in their current state, live and on replay, only to viewers who can see them', async () => {
      const conversationId = await clients.newConversation(['ada', 'bob', 'carl'])
      const follow = (actor: string, after: number | null = null) =>
        clients.follow(actor, FOLLOW, { id: conversationId, afterSeq: after })
      const changed = ({ conversationEvents: { __typename, ...event } }: Answer) =>
        __typename === 'FactsChanged' ? [event] : []
      const [liveBob, liveCarl] = [await follow('bob'), await follow('carl')]
      const secret = await append(conversationId, 'I love opera.', { audience: ['bob'] })
      const opera = likes('opera', { sourceTurnId: secret.id })
      const {
        facts: [, fact],
      } = await record({ conversationId, facts: [opera, likes('chess')] })
      await record({ conversationId, facts: [opera] })
      await record({ conversationId, facts: [likes('poker', { sourceTurnId: secret.id })] })
      await ada(RETRACT, { input: { factId: fact.id } })
      const source = { sourceConversation: { id: conversationId } }
      const expected = {
        opera: { object: 'opera', supersedeReason: null, ...source, sourceTurn: { text: 'I love opera.' } },
        poker: { object: 'poker', supersedeReason: null, ...source, sourceTurn: { text: 'I love opera.' } },
        chess: { object: 'chess', supersedeReason: 'RETRACTED', ...source, sourceTurn: null },
      }
      const supersedeReason = expect.toSatisfy((reason) => [null, 'RETRACTED'].includes(reason))
      const liveChess = { ...expected.chess, supersedeReason }
      const forBob = (chess: object) => [
        { seq: 5, facts: [expected.opera, chess] },
        { seq: 6, facts: [expected.poker] },
        { seq: 7, facts: [expected.chess] },
      ]
      const forCarl = (chess: object) => [
        { seq: 5, facts: [chess] },
        { seq: 7, facts: [expected.chess] },
      ]
      expect((await take(liveBob, 4)).flatMap(changed)).toEqual(forBob(liveChess))
      expect((await take(liveCarl, 2)).flatMap(changed)).toEqual(forCarl(liveChess))
      expect((await take(await follow('bob', 3), 4)).flatMap(changed)).toEqual(forBob(expected.chess))
      expect((await take(await follow('carl', 3), 2)).flatMap(changed)).toEqual(forCarl(expected.chess))
      const counted = await bob('query ($id: ID!) { conversation(id: $id) { turnCount lastSeq } }', {
        id: conversationId,
      })
      expect(counted).toEqual({ conversation: { turnCount: 1, lastSeq: 7 } })
    })

    it('depend on its setting factExtraction, which is false by default and kept by updates that omit it', async () => {
      const extracts = async (id: string) =>
        (await ada('query ($id: ID!) { conversation(id: $id) { factExtraction } }', { id })).conversation.factExtraction
      const update = (input: object) =>
        ada(
          `mutation ($input: UpdateConversationInput!) {
        updateConversation(input: $input) { ... on UpdateConversationPayload { conversation { id } } ... on UserError { message } }
      }`,
          { input },
        )
      expect(await extracts(await clients.newConversation([]))).toBe(false)
      expect(await extracts(await clients.newConversation([], { factExtraction: null }))).toBe(false)
      const conversationId = await clients.newConversation([], { factExtraction: true })
      expect(await extracts(conversationId)).toBe(true)
      await update({ conversationId, title: 'x' })
      expect(await extracts(conversationId)).toBe(true)
      await update({ conversationId, factExtraction: null })
      expect(await extracts(conversationId)).toBe(false)
    })

    it('are deleted with the conversation, together with the profiles made from them', async () => {
      const [conversationId, other] = [await clients.newConversation(['ada']), await clients.newConversation(['ada'])]
      const make = async (conversationId: string, ...names: string[]) =>
        (await record({ conversationId, facts: names.map((name) => likes(name)) })).facts.map(({ id }: Answer) => id)
      const [one, two] = await make(conversationId, 'this', 'that')
      const [kept] = await make(other, 'the other')
      await ada(RETRACT, { input: { factId: two } })
      const profile = { tenant: TENANT, content: 'Likes things.', tokenCount: 3, madeBy: 'facts' }
      await clients.deps.db.of(SYSTEM).userProfile.createMany({
        data: [
          { ...profile, userId: 'u1', madeOf: [kept, one] },
          { ...profile, userId: 'u2', madeOf: [two] },
          { ...profile, userId: 'u3', madeOf: [kept] },
          { ...profile, userId: 'u4', madeOf: [] },
          { ...profile, userId: 'u1', madeOf: [kept], tenant: 'somebody else' },
        ],
      })
      const { deleteConversation } = await ada(
        `mutation ($id: ID!) {
        deleteConversation(input: { conversationId: $id }) { ... on DeleteConversationPayload { receipt { conversations facts profiles } } }
      }`,
        { id: conversationId },
      )
      expect(deleteConversation.receipt).toEqual({ conversations: 1, facts: 2, profiles: 2 })
      const remaining = await clients.deps.db
        .of(SYSTEM)
        .userProfile.findMany({ where: { userId: { startsWith: 'u' } } })
      expect(remaining.map(({ tenant, userId }) => `${tenant} ${userId}`).sort()).toEqual([
        'acme u3',
        'acme u4',
        'somebody else u1',
      ])
      expect(await ada('query ($id: ID!) { node(id: $id) { id } }', { id: one })).toEqual({ node: null })
      expect(objects(await ofConversation(other))).toEqual(['the other'])
    })
  })
})
