// Recall through the API, on real databases: the result for each input, and the view of the viewer. `npm run
// bench:recall` measures the quality of recall.

import { beforeAll, describe, expect, it, vi } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { useClients, type Answer } from '../client.ts'

const RECALL = `query Recall($input: RecallInput!) {
  recall(input: $input) {
    __typename
    ... on Recall {
      hits {
        score rerankScore relevance similarity textScore
        memory {
          __typename
          ... on Turn { id actor text tokenCount createdAt }
          ... on Fact { object }
          ... on Summary { content }
        }
        neighbours { text }
      }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      plan { vectorSearch candidates reranked }
    }
    ... on UserError { code message }
    ... on InvalidInput { issues { path } }
  }
}`

const TALK: [actor: string, content: string, createdAt: string, about?: object][] = [
  ['ada', 'Good morning, bob.', '2024-03-01T09:00:00.000Z'],
  ['bob', 'Morning! Shall we talk about the garden?', '2024-03-01T09:01:00.000Z'],
  ['ada', 'We planted the tulips along the fence.', '2024-03-01T09:02:00.000Z', { metadata: { topic: 'garden' } }],
  ['bob', 'And the hedgehog moved in under the shed.', '2024-03-01T09:03:00.000Z', { role: 'ASSISTANT' }],
  ['ada', 'Lovely. The roof of the shed leaks, though.', '2024-04-01T09:04:00.000Z', { metadata: { topic: 'roof' } }],
]

describe.each(backends)('recall on $name', (backend) => {
  const clients = useClients(backend)
  const { newConversation: makeConversation, append } = clients
  const [ada, carol] = [clients.as('ada'), clients.as('carol')]
  let conversationId: string

  beforeAll(async () => {
    conversationId = await makeConversation(['ada', 'bob', 'carol'])
    for (const [actor, content, createdAt, about] of TALK)
      await append(conversationId, content, { actor, createdAt, ...about })
  })

  const ask = async (input: object, by = ada): Promise<Answer> =>
    (await by(RECALL, { input: { conversationId, ...input } })).recall
  const textsOf = ({ hits }: Answer): string[] => hits.map(({ memory }: Answer) => memory.text)
  const text = (index: number) => TALK[index]![1]

  it('returns the turns, best first, with their scores', async () => {
    // The turns are embedded in the background.
    const answer = await vi.waitFor(
      async () => {
        const found = await ask({ query: 'Where did they plant the tulips?' })
        expect(found).toMatchObject({ __typename: 'Recall', plan: { vectorSearch: 'EXACT' } })
        for (const { similarity } of found.hits) expect(similarity).toEqual(expect.any(Number))
        return found
      },
      { interval: 200 },
    )
    const [first] = answer.hits
    expect(first.memory).toMatchObject({ __typename: 'Turn', actor: 'ada', text: text(2) })
    expect(first.textScore).toBeGreaterThan(0)
    expect(first.textScore).toBeLessThanOrEqual(1)
    const scores = answer.hits.map(({ score }: Answer) => score)
    expect(scores).toEqual(scores.toSorted((a: number, b: number) => b - a))
    expect(first.similarity).toBe(Math.max(...answer.hits.map(({ similarity }: Answer) => similarity)))
    for (const { similarity } of answer.hits) expect(Math.abs(similarity)).toBeLessThanOrEqual(1.000001)
    expect(answer.plan.candidates).toBeGreaterThanOrEqual(answer.hits.length)
    expect([first.rerankScore, answer.plan.reranked]).toEqual([null, 0])
  })

  it('returns k hits, 10 by default, from the given conversation only', async () => {
    const [busy, other] = [await makeConversation(['ada']), await makeConversation(['ada'])]
    for (let i = 1; i <= 12; i++) await append(busy, `The tulips of bed ${i} are in flower.`)
    await append(other, 'The tulips of another conversation are in flower.')
    const query = 'tulips in flower'
    expect(textsOf(await ask({ conversationId: busy, query }))).toHaveLength(10)
    expect(textsOf(await ask({ conversationId: busy, query, k: 3 }))).toHaveLength(3)
    const all = textsOf(await ask({ conversationId: busy, query, k: 100 }))
    expect(all).toHaveLength(12)
    expect(all.filter((found) => found.includes('another'))).toEqual([])
  })

  it('returns the turns around a hit, oldest first, and fewer at the ends of the conversation', async () => {
    const around = async (query: string, neighbours: number) => {
      const [first] = (await ask({ query, k: 1, neighbours })).hits
      return { text: first.memory.text, neighbours: first.neighbours.map((turn: Answer) => turn.text) }
    }
    expect(await around('hedgehog', 0)).toEqual({ text: text(3), neighbours: [] })
    expect(await around('hedgehog', 1)).toEqual({ text: text(3), neighbours: [text(2), text(4)] })
    expect(await around('tulips', 10)).toEqual({ text: text(2), neighbours: [0, 1, 3, 4].map(text) })
  })

  it.each<[title: string, filter: object, found: number[]]>([
    ['actors', { actors: ['bob'] }, [1, 3]],
    ['actors: [] (no turns)', { actors: [] }, []],
    ['roles', { roles: ['ASSISTANT', 'SYSTEM'] }, [3]],
    ['roles: [] (no turns)', { roles: [] }, []],
    ['createdAfter (inclusive)', { createdAfter: '2024-03-01T09:03:00.000Z' }, [3, 4]],
    ['createdBefore (exclusive)', { createdBefore: '2024-03-01T09:01:00.000Z' }, [0]],
    ['metadata', { metadata: [{ path: ['topic'], value: { equals: 'roof' } }] }, [4]],
    ['metadata and actors', { metadata: [{ path: ['topic'], value: { equals: 'garden' } }], actors: ['bob'] }, []],
  ])('with the filter %s finds the turns that match it', async (_, filter, found) => {
    // Each turn contains a word of the query.
    const query = 'This morning, what about the garden, the tulips, the hedgehog and the shed?'
    const texts = textsOf(await ask({ query, kinds: ['TURN'], ...filter }))
    expect(texts.sort()).toEqual(found.map(text).sort())
  })

  it('returns hits of at most maxTokens tokens in total', async () => {
    const [cheap] = (await ask({ query: 'tulips hedgehog shed garden', k: 1 })).hits
    const { hits } = await ask({ query: 'tulips hedgehog shed garden', maxTokens: cheap.memory.tokenCount })
    expect(hits.length).toBeGreaterThan(0)
    const tokens = hits.reduce((sum: number, { memory }: Answer) => sum + memory.tokenCount, 0)
    expect(tokens).toBeLessThanOrEqual(cheap.memory.tokenCount)
  })

  it('with a threshold, returns exactly the hits whose relevance reaches it', async () => {
    const query = 'Where did they plant the tulips?'
    const { hits } = await ask({ query })
    const relevances: number[] = hits.map(({ relevance }: Answer) => relevance)
    for (const relevance of relevances) expect(relevance > 0 && relevance < 1).toBe(true)
    const threshold = relevances.toSorted((a, b) => b - a)[1]!
    const expected = hits.filter(({ relevance }: Answer) => relevance >= threshold)
    expect(textsOf(await ask({ query, threshold }))).toEqual(textsOf({ hits: expected }))
    expect(textsOf(await ask({ query, threshold: 0 }))).toEqual(textsOf({ hits }))
  })

  it('returns further hits page by page, and rejects a cursor of another recall', async () => {
    const input = { query: 'This morning, what about the garden, the tulips, the hedgehog and the shed?', k: 2 }
    const all = textsOf(await ask({ ...input, k: 100 }))
    const first = await ask(input)
    expect(first.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false })
    const second = await ask({ ...input, k: 1, after: first.pageInfo.endCursor })
    expect(second.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true })
    expect(second.pageInfo.startCursor).toBe(second.pageInfo.endCursor)
    const third = await ask({ ...input, k: 100, after: second.pageInfo.endCursor })
    expect(third.pageInfo.hasNextPage).toBe(false)
    expect([first, second, third].flatMap(textsOf)).toEqual(all)
    const refused = await ask({ query: 'tulips', after: first.pageInfo.endCursor })
    expect(refused).toMatchObject({ __typename: 'InvalidInput', issues: [{ path: ['after'] }] })
    const none = await ask({ query: 'xqzzyv' })
    expect(none.pageInfo).toEqual({ hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null })
  })

  it('returns turns and facts by default, and summaries on request', async () => {
    const withFact = await makeConversation(['ada'])
    await append(withFact, 'The beehive stands on the roof.')
    await ada(
      `mutation ($conversationId: ID!) {
      recordFacts(input: {
        conversationId: $conversationId, facts: [{ subject: "Ada", predicate: "keeps", object: "a beehive" }]
      }) { __typename }
      summarize(input: { conversationId: $conversationId }) { __typename }
    }`,
      { conversationId: withFact },
    )
    const kindsOf = async (kinds?: string[]) =>
      (await ask({ conversationId: withFact, query: 'Who has a beehive?', ...(kinds && { kinds }) })).hits.map(
        ({ memory }: Answer) => [memory.__typename, memory.text ?? memory.object ?? memory.content],
      )
    const [turn, fact] = [
      ['Turn', 'The beehive stands on the roof.'],
      ['Fact', 'a beehive'],
    ]
    expect((await kindsOf()).sort()).toEqual([fact, turn])
    expect(await kindsOf(['FACT'])).toEqual([fact])
    expect(await kindsOf(['SUMMARY'])).toEqual([['Summary', expect.stringContaining('beehive')]])
  })

  it('recalls only the newest version of a turn', async () => {
    const edited = await makeConversation(['ada'])
    const { id } = await append(edited, 'The key lies under the doormat.')
    await ada(
      `mutation ($id: ID!) { supersedeTurn(input: {
      turnId: $id, turn: { role: USER, content: "The key lies under the flowerpot." }
    }) { __typename } }`,
      { id },
    )
    expect(textsOf(await ask({ conversationId: edited, query: 'Where is the key? Under the doormat?' }))).toEqual([
      'The key lies under the flowerpot.',
    ])
  })

  it("recalls only turns in the viewer's view, and resolves their fields in the same view", async () => {
    const split = await makeConversation(['ada', 'bob', 'carol'])
    await append(split, 'The surprise party is planned, says nobody.')
    await append(split, 'The surprise party is on Friday.', { audience: ['bob'] })
    const query = 'When is the surprise party?'
    const document = `query ($input: RecallInput!) { recall(input: $input) { ... on Recall {
      hits { memory { ... on Turn { text conversation { turnCount } } } neighbours { text } } plan { candidates }
    } } }`
    const resultOf = async (by: typeof ada, as?: string) => {
      const { recall } = await by(document, { input: { conversationId: split, query, neighbours: 10, as } })
      return {
        texts: recall.hits.map(({ memory }: Answer) => memory.text).sort(),
        counts: [...new Set(recall.hits.map(({ memory }: Answer) => memory.conversation.turnCount))],
        candidates: recall.plan.candidates,
        containsPrivate: JSON.stringify(recall).includes('Friday'),
      }
    }
    const all = {
      texts: ['The surprise party is on Friday.', 'The surprise party is planned, says nobody.'],
      counts: [2],
      candidates: 2,
      containsPrivate: true,
    }
    const publicOnly = { texts: all.texts.slice(1), counts: [1], candidates: 1, containsPrivate: false }
    expect(await resultOf(ada)).toEqual(all)
    expect(await resultOf(carol, 'bob')).toEqual(all)
    expect(await resultOf(carol)).toEqual(publicOnly)
    expect(await resultOf(ada, 'carol')).toEqual(publicOnly)
  })

  const unknown = `conv_${'0'.repeat(26)}`

  it('returns NotFound for an unknown conversation', async () => {
    expect(await ask({ query: 'tulips', conversationId: unknown })).toMatchObject({
      __typename: 'NotFound',
      code: 'NOT_FOUND',
      message: expect.stringContaining(unknown),
    })
  })

  it.each<[title: string, input: object, path: string]>([
    ['an empty query', { query: '' }, 'query'],
    ['a query of spaces', { query: ' \n' }, 'query'],
    ['a query of 1 MB', { query: 'tulip '.repeat(170_000) }, 'query'],
    ['a query that cannot be stored', { query: 'a\0b' }, 'query'],
    ['a k of 0', { k: 0 }, 'k'],
    ['a k of 101', { k: 101 }, 'k'],
    ['a threshold below 0', { threshold: -0.1 }, 'threshold'],
    ['a threshold above 1', { threshold: 1.01 }, 'threshold'],
    ['11 neighbours', { neighbours: 11 }, 'neighbours'],
    ['a negative number of neighbours', { neighbours: -1 }, 'neighbours'],
    ['zero tokens', { maxTokens: 0 }, 'maxTokens'],
    [
      'a metadata path of 17 keys',
      { metadata: [{ path: Array(17).fill('a'), value: { equals: 1 } }] },
      'metadata.0.path',
    ],
    ['11 conditions on metadata', { metadata: Array(11).fill({ value: { exists: true } }) }, 'metadata'],
    ['an actor without a name', { actors: ['ada', ''] }, 'actors.1'],
    ['an invalid conversation id', { conversationId: 'garden' }, 'conversationId'],
    ['the scope CONVERSATION without an id', { conversationId: null }, 'conversationId'],
  ])('rejects %s with the path of the argument', async (_, input, path) => {
    const answer = await ask({ query: 'tulips', ...input })
    expect(answer).toMatchObject({ __typename: 'InvalidInput', code: 'INVALID_INPUT' })
    expect(answer.issues).toEqual([{ path: path.split('.') }])
  })

  it('accepts values at the limits', async () => {
    const limits = { k: 100, neighbours: 10, threshold: 1, query: 'tulips '.repeat(1_500).slice(0, 10_000) }
    expect(await ask(limits)).toMatchObject({ __typename: 'Recall', hits: [] })
    expect((await ask({ ...limits, threshold: 0, query: `${limits.query}!` })).issues).toEqual([{ path: ['query'] }])
  })

  it('lists every issue at once', async () => {
    const { issues } = await ask({ query: '', k: 0, neighbours: 11 })
    expect(issues.map(({ path }: Answer) => path.join('.')).sort()).toEqual(['k', 'neighbours', 'query'])
  })
})

describe.each(backends)('recall with a configured reranker on $name', (backend) => {
  const library = new URL('../../../support/fake-transformers.ts', import.meta.url).href
  const clients = useClients(backend, {
    reranker: { kind: 'transformers', model: 'hub/cross-encoder', candidates: 2, library },
  })

  it('returns its scores, and the number of hits that it scored', async () => {
    const conversationId = await clients.newConversation(['ada'])
    for (const content of ['The shed', 'The green shed', 'The shed leaks'])
      await clients.append(conversationId, content)
    const input = { conversationId, query: 'a green shed' }
    const { hits, plan }: Answer = (await clients.as('ada')(RECALL, { input })).recall
    expect(plan).toMatchObject({ candidates: 3, reranked: 2 })
    expect(hits[0].memory.text).toBe('The green shed')
    const [first, second, third] = hits.map(({ rerankScore }: Answer) => rerankScore)
    expect(first).toBeGreaterThan(second)
    expect(second).toBeGreaterThan(0.5)
    expect(third).toBeNull()
  })
})
