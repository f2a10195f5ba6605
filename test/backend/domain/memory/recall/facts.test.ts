// Recall of facts and summaries. Both are found by words immediately; facts are also found by meaning once they have
// vectors. A recall returns only what the viewer sees, and ranks facts and summaries together with turns.

import { beforeEach, describe, expect, it, vi } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import type { Fact } from '../../../../../src/domain/memory/fact/fact.ts'
import { recordFacts, retractFact, type RecordFactsInput } from '../../../../../src/domain/memory/fact/record.ts'
import { recall, type RecallInput } from '../../../../../src/domain/memory/recall/recall.ts'
import { summarize } from '../../../../../src/domain/memory/summary/compact.ts'
import { appendTurns } from '../../../../../src/domain/turn/append/append.ts'
import { CallFailed } from '../../../../../src/providers/ports/call-failed.ts'
import { backends } from '../../../../support/backend.ts'
import { waitForTurnVectors, waitForFactVectors, textOf } from '../../../../support/recall.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'

const THINGS = `harbour lantern meadow violin glacier pepper saddle thunder walnut compass orchard candle river falcon
  marble anchor basket copper desert engine feather garden hammer island jacket kitten ladder mirror needle oyster
  pillow quarry ribbon shovel temple umbrella valley window zipper bridge cherry dragon eagle forest`.split(/\s+/)
const PEOPLE = ['Ada', 'Bob', 'Carl', 'Dora']
const day = (number: number) => new Date(Date.UTC(2024, 0, number))

describe.each(backends)('recall of facts, on $name', (backend) => {
  const world = useWorld(backend)
  let tenant: Tenant
  let conversationId: string
  beforeEach(async () => {
    tenant = world.tenant()
    conversationId = await tenant.newConversation({ actor: 'ada', displayName: 'Ada' }, 'bob', 'eve')
  })

  const ask = (query: string, more: Partial<RecallInput> = {}, actor = 'eve', by = tenant) =>
    recall(world.deps, by.as(actor), { query, conversationId, ...more })
  const found = async (query: string, more: Partial<RecallInput> = {}, actor = 'eve') =>
    (await ask(query, more, actor)).hits.map(({ memory }) => textOf(memory))
  /** Records facts from texts of the form "Ada | lives in | Rome". */
  async function record(
    statements: string[],
    more: Partial<RecordFactsInput['facts'][0]> = {},
    where: string | null = conversationId,
  ) {
    const facts = statements.map((each) => {
      const [subject, predicate, object] = each.split(' | ') as [string, string, string]
      return { subject, predicate, object, ...more }
    })
    return (await recordFacts(world.deps, tenant.as('bob'), { conversationId: where, facts })).facts
  }

  it('puts what is known of the asked person before what that person chats', async () => {
    for (const text of ['Let us have lunch.', 'Good morning everyone.', 'The meeting is at ten.']) {
      await tenant.append(conversationId, 'ada', text)
    }
    await record(['Ada | likes | green tea', 'Ada | is allergic to | peanuts'])
    expect((await found('what does Ada like to drink'))[0]).toBe('Ada likes green tea')
  })

  it('answers a question that stands in the conversation with its answer, not with itself', async () => {
    const question = 'What does Bob play on Fridays?'
    for (const text of [question, 'Bob plays badminton on Fridays.', 'Good to know.', 'See you then.']) {
      await tenant.append(conversationId, 'eve', text)
    }
    const asked = await ask(question)
    expect(textOf(asked.hits[0]!.memory)).toBe('Bob plays badminton on Fridays.')
    expect(asked.hits.map(({ memory }) => textOf(memory))).toContain(question)
  })

  it('finds the fact that answers a plain question among 200 other facts and 200 turns', async () => {
    const thing = (n: number) => THINGS[n % THINGS.length]!
    const facts: Fact[] = []
    for (let from = 0; from < 200; from += 50) {
      facts.push(
        ...(await record(
          Array.from(
            { length: 50 },
            (_, i) =>
              `${PEOPLE[i % 4]} | ${['likes', 'bought', 'drew'][i % 3]} | ${thing(from + i)} of ${thing(7 * i + from)}`,
          ),
        )),
      )
    }
    const { turns } = await appendTurns(world.deps, tenant.as('ada'), {
      conversationId,
      turns: Array.from({ length: 200 }, (_, i) => ({
        actor: ['ada', 'bob', 'eve'][i % 3]!,
        role: 'USER' as const,
        content:
          i % 10 ? `We spoke of the ${thing(i)} and the ${thing(3 * i + 1)}` : `Where does the ${thing(i)} live, Ada?`,
      })),
    })
    facts.push(...(await record(['Ada | lives in | Rome', "Ada's sister | lives in | Oslo"])))
    expect((await found('Where does Ada live?')).slice(0, 2)).toContain('Ada lives in Rome')
    await Promise.all([waitForTurnVectors(world.deps, turns), waitForFactVectors(world.deps, facts)])
    expect((await found('Where does Ada live?')).slice(0, 2)).toContain('Ada lives in Rome')
    const other = await found('Which city is the home of Ada?', { kinds: ['FACT'] })
    expect(other.slice(0, 2)).toContain('Ada lives in Rome')
    expect(await found('Who plays the violin?', { kinds: ['FACT'], k: 100 })).toHaveLength(100)
  })

  it('finds facts by meaning once they have vectors, by the similarity of object or sentence, whichever is greater', async () => {
    await waitForFactVectors(world.deps, await record(['Ada | owns | a puppy', 'Bob | paid | the invoice']))
    const { hits, plan } = await ask('dog', { kinds: ['FACT'] })
    expect(hits.map(({ memory }) => textOf(memory))).toEqual(['Ada owns a puppy', 'Bob paid the invoice'])
    const embedder = world.deps.embedding.serving()
    const [dog, puppy, sentence] = await embedder.embed(['dog', 'a puppy', 'Ada owns a puppy'])
    const cosine = (a: Float32Array, b: Float32Array) => a.reduce((sum, each, d) => sum + each * b[d]!, 0)
    expect(hits[0]!.similarity).toBeCloseTo(Math.max(cosine(dog!, puppy!), cosine(dog!, sentence!)), 4)
    expect(hits[0]!).toMatchObject({ textScore: null, neighbours: [] })
    expect(plan).toEqual({ vectorSearch: 'EXACT', candidates: 2, reranked: 0 })
    const threshold = hits[0]!.relevance
    expect(await found('dog', { kinds: ['FACT'], threshold })).toEqual(['Ada owns a puppy'])
  })

  it('finds facts by words if the query cannot be embedded', async () => {
    await waitForFactVectors(world.deps, await record(['Ada | likes | papayas']))
    const { deps } = world
    const failing = { ...deps.embedding.serving(), embed: () => Promise.reject(new CallFailed('down', true)) }
    const depsWithoutEmbedder = { ...deps, embedding: { ...deps.embedding, serving: () => failing } }
    const { hits, plan } = await recall(depsWithoutEmbedder, tenant.as('eve'), { query: 'a papaya', conversationId })
    expect(hits).toMatchObject([{ similarity: null, textScore: 1, memory: { kind: 'FACT' } }])
    expect(plan).toEqual({ vectorSearch: 'NONE', candidates: 1, reranked: 0 })
  })

  it('returns only active facts, and only the requested kinds', async () => {
    const [fact] = await record(['Ada | likes | mangos', 'Bob | likes | mangos'])
    await tenant.append(conversationId, 'ada', 'mangos for all')
    await retractFact(world.deps, tenant.as('ada'), { factId: fact!.id })
    expect((await found('mangos')).sort()).toEqual(['Bob likes mangos', 'mangos for all'])
    expect(await found('mangos', { kinds: ['FACT'] })).toEqual(['Bob likes mangos'])
    expect(await found('mangos', { kinds: ['TURN'] })).toEqual(['mangos for all'])
    expect((await ask('mangos', { kinds: ['SUMMARY'] })).plan).toEqual({
      vectorSearch: 'NONE',
      candidates: 0,
      reranked: 0,
    })
    const empty: Partial<RecallInput> = { kinds: ['FACT'], conversationId: await tenant.newConversation('ada') }
    expect((await ask('a dog', empty)).plan).toEqual({ vectorSearch: 'NONE', candidates: 0, reranked: 0 })
  })

  it('applies the filters of time, actor, role and metadata, and the token budget', async () => {
    const turn = await tenant.append(conversationId, 'ada', 'fruit', { metadata: { topic: 'food' } })
    const [old] = await record(['Ada | likes | figs'], { sourceTurnId: turn.id, observedAt: day(1) })
    await record(['Bob | likes | figs'], { observedAt: day(3) })
    const facts = (more: Partial<RecallInput>) => found('figs', { kinds: ['FACT'], ...more })
    expect(await facts({ createdAfter: day(2) })).toEqual(['Bob likes figs'])
    expect(await facts({ createdBefore: day(3) })).toEqual(['Ada likes figs'])
    for (const filter of [
      { actors: ['ada'] },
      { roles: ['USER' as const] },
      { metadata: [{ path: ['topic'], value: { equals: 'food' } }] },
    ]) {
      expect(await facts(filter)).toEqual(['Ada likes figs'])
    }
    for (const filter of [
      { actors: ['bob'] },
      { roles: [] },
      { metadata: [{ path: ['topic'], value: { equals: 'x' } }] },
    ]) {
      expect(await facts(filter)).toEqual([])
    }
    expect(await facts({ maxTokens: old!.tokenCount })).toHaveLength(1)
    expect(await facts({ maxTokens: 1 })).toEqual([])
  })

  it('searches a conversation, the conversations of an owner and facts about the owner, or the tenant', async () => {
    const viewer = tenant.as('eve')
    const sister = (await createConversation(world.deps, viewer, { owner: 'owner' })).conversation.id
    const stranger = (
      await createConversation(world.deps, viewer, {
        owner: 'carl',
        participants: [{ actor: 'ada' }, { actor: 'owner' }],
      })
    ).conversation.id
    await record(['Ada | likes | plums here'])
    await record(['Ada | likes | plums there'], {}, sister)
    await record(['Ada | likes | plums elsewhere', 'owner | likes | plums'], {}, stranger)
    await record(['Ada | likes | plums nowhere'], {}, null)
    const sorted = async (more: Partial<RecallInput>) => (await found('plums', more)).sort()
    const [here, there, ofOwner] = ['Ada likes plums here', 'Ada likes plums there', 'owner likes plums']
    expect(await sorted({})).toEqual([here])
    expect(await sorted({ scope: 'OWNER' })).toEqual([here, there, ofOwner])
    expect(await sorted({ scope: 'OWNER', conversationId: stranger })).toEqual(['Ada likes plums elsewhere', ofOwner])
    expect(await sorted({ scope: 'TENANT', conversationId: null })).toHaveLength(5)
    expect((await recall(world.deps, world.tenant().as('eve'), { query: 'plums', scope: 'TENANT' })).hits).toEqual([])
  })

  it("neither returns facts outside the viewer's view nor lets them affect scores", async () => {
    const answers = []
    for (const withPrivate of [false, true]) {
      const each = world.tenant()
      const here = await each.newConversation('ada', 'bob', 'eve')
      const record = (facts: RecordFactsInput['facts']) =>
        recordFacts(world.deps, each.as('bob'), { conversationId: here, facts })
      const facts = (
        await record(
          THINGS.slice(0, 20).map((object, n) => ({
            subject: PEOPLE[n % 4]!,
            predicate: 'likes',
            object: `the ${object}`,
            observedAt: day(n + 1),
          })),
        )
      ).facts
      const psst = withPrivate ? await each.append(here, 'ada', 'psst', { audience: ['bob'] }) : null
      await tenant.append(conversationId, 'ada', 'elsewhere')
      if (psst) {
        facts.push(
          ...(
            await record(
              THINGS.slice(0, 30).map((object) => ({
                subject: 'Ada',
                predicate: 'secretly likes',
                object: `violin and ${object}`,
                sourceTurnId: psst.id,
              })),
            )
          ).facts,
        )
      }
      await waitForFactVectors(world.deps, facts)
      for (const kinds of [['FACT'], ['TURN', 'FACT']] as const) {
        for (const scope of ['CONVERSATION', 'OWNER', 'TENANT'] as const) {
          const { hits, plan } = await recall(world.deps, each.as('eve'), {
            query: 'Does Ada secretly like the violin?',
            conversationId: here,
            scope,
            kinds: [...kinds],
            k: 100,
          })
          answers.push({
            plan,
            hits: hits
              .filter(({ memory }) => memory.kind === 'FACT')
              .map(({ memory, ...scores }) => [textOf(memory), scores]),
          })
        }
      }
      const { hits } = await recall(world.deps, each.as('bob'), { query: 'secret', conversationId: here, k: 100 })
      expect(hits.some(({ memory }) => textOf(memory).includes('secretly'))).toBe(withPrivate)
    }
    const half = answers.length / 2
    expect(answers[0]!.hits.length).toBe(20)
    expect(answers.slice(half)).toEqual(answers.slice(0, half))
  })

  it('records when a fact is recalled for the first time', async () => {
    const [fact, other] = await record(['Ada | likes | melons', 'Bob | likes | skating'])
    const recalledAt = async (id: string) =>
      (await world.deps.db.of(SYSTEM).fact.findUniqueOrThrow({ where: { id } })).recalledAt
    await found('melons', { k: 1 })
    await vi.waitFor(async () => expect(await recalledAt(fact!.id)).toBeInstanceOf(Date))
    const first = await recalledAt(fact!.id)
    await found('melons', { k: 1 })
    await world.deps.recalledFacts.stop()
    expect([await recalledAt(fact!.id), await recalledAt(other!.id)]).toEqual([first, null])
  })

  it('finds summaries by their words if requested', async () => {
    for (const text of ['The quokkas moved in under the shed.', 'They eat the tulips at night.', 'Good night then.']) {
      await tenant.append(conversationId, 'ada', text)
    }
    await summarize(world.deps, tenant.as('ada'), { conversationId })
    const { hits } = await ask('quokkas', { kinds: ['SUMMARY', 'FACT'] })
    expect(hits).toMatchObject([{ memory: { kind: 'SUMMARY' }, similarity: null, textScore: 1, neighbours: [] }])
    expect(textOf(hits[0]!.memory)).toContain('quokkas')
    const { relevance } = (await ask('quokkas', { kinds: ['SUMMARY'] })).hits[0]!
    for (const [threshold, count] of [
      [0, 1],
      [relevance, 1],
      [relevance + 1e-9, 0],
    ] as const) {
      expect(await found('quokkas', { kinds: ['SUMMARY'], threshold })).toHaveLength(count)
    }
    for (const more of [{ actors: ['ada'] }, { createdBefore: day(1) }, { maxTokens: 1 }]) {
      expect(await found('quokkas', { kinds: ['SUMMARY'], ...more })).toEqual([])
    }
    expect(await found('xylophone', { kinds: ['SUMMARY'] })).toEqual([])
    const late = await tenant.newConversation('zoe')
    expect(await found('quokkas', { kinds: ['SUMMARY'], conversationId: late })).toEqual([])
  })
})
