// Embedding of facts in the background: a vector of the object and one of the sentence, by the current embedder,
// despite failures.

import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  createFactEmbedding,
  embedFacts,
  type FactEmbedding,
} from '../../../../../../src/domain/memory/fact/index/index-facts.ts'
import { recordFacts, retractFact } from '../../../../../../src/domain/memory/fact/record.ts'
import { backends } from '../../../../../support/backend.ts'
import { unavailable, fakeEmbedder, rejected, type FakeEmbedder } from '../../../../../support/fake-embedder.ts'
import { addEmbedder } from '../../../../../support/seeded-vectors.ts'
import { useWorld, type Tenant } from '../../../../../support/world.ts'
import { SYSTEM } from '../../../../../../src/store/db/scope.ts'

describe.each(backends)('embedding facts, on $name', (backend) => {
  const world = useWorld(backend)
  const started: FactEmbedding[] = []
  afterEach(async () => {
    await Promise.all(started.splice(0).map((each) => each.stop()))
  })

  async function record(tenant: Tenant, ...objects: string[]): Promise<string[]> {
    const facts = objects.map((object) => ({ subject: 'Ada', predicate: 'knows', object }))
    return (await recordFacts(world.deps, tenant.as('ada'), { facts })).facts.map(({ id }) => id)
  }
  async function platformWith(embedder: FakeEmbedder) {
    await addEmbedder(world.deps.pool, embedder.name, embedder.dimension)
    return { ...world.deps, embedding: { ...world.deps.embedding, serving: () => embedder } }
  }
  const vectorsOf = (name: string, ids: string[]) =>
    world.deps.db.of(SYSTEM).factVector.count({ where: { embedder: name, factId: { in: ids } } })
  const countEmbeddedBy = (name: string, ids: string[]) =>
    world.deps.db.of(SYSTEM).fact.count({ where: { embeddedBy: name, id: { in: ids } } })
  const eventually = (check: () => Promise<unknown>) => vi.waitFor(check, { interval: 20 })

  it('gives each fact vectors before the next sweep after it is written, with or without a conversation', async () => {
    const tenant = world.tenant()
    const ids = await record(tenant, 'kittens')
    const {
      facts: [fact],
    } = await recordFacts(world.deps, tenant.as('ada'), {
      conversationId: await tenant.newConversation('ada'),
      facts: [{ subject: 'Ada', predicate: 'lives in', object: 'Rome' }],
    })
    const { name } = world.deps.embedder
    await vi.waitFor(async () => expect(await vectorsOf(name, [...ids, fact!.id])).toBe(2), { interval: 20 })
    // From here on, no other worker may record progress.
    await world.deps.factEmbedding.stop()
  })

  it('runs immediately on request, and returns no vector for a text whose vector is zero', async () => {
    const embedder = fakeEmbedder()
    const platform = await platformWith(embedder)
    const [withVector, withoutVector] = (await record(world.tenant(), 'kittens', 'nothing')) as [string, string]
    const found = await embedFacts(platform, SYSTEM, [withVector, withoutVector, 'fact_gone'])
    expect([...found.keys()]).toEqual([withVector])
    expect(found.get(withVector)![0]).toBeCloseTo(Math.cos(0.07))
    expect(embedder.calls.flat().sort()).toEqual(['Ada knows kittens', 'Ada knows nothing', 'kittens', 'nothing'])
    expect(await countEmbeddedBy(embedder.name, [withVector, withoutVector])).toBe(2)
    expect((await embedFacts(platform, SYSTEM, [withVector, withoutVector])).size).toBe(1)
    expect(embedder.calls).toHaveLength(1)
  })

  // The embedded database has one connection, so there is no concurrent client.
  if (backend.name === 'postgres') {
    it('runs immediately on request, even while another client has locked the fact', async () => {
      const platform = await platformWith(fakeEmbedder())
      const [id] = (await record(world.tenant(), 'kittens')) as [string]
      const client = await world.deps.pool.connect()
      try {
        await client.query('BEGIN')
        await client.query('SELECT FROM fact WHERE id = $1 FOR NO KEY UPDATE', [id])
        expect([...(await embedFacts(platform, SYSTEM, [id])).keys()]).toEqual([id])
      } finally {
        await client.query('ROLLBACK')
        client.release()
      }
    })
  }

  it('skips superseded facts', async () => {
    const embedder = fakeEmbedder()
    const tenant = world.tenant()
    const ids = await record(tenant, 'kittens', 'puppies')
    await retractFact(world.deps, tenant.as('ada'), { factId: ids[0]! })
    expect([...(await embedFacts(await platformWith(embedder), SYSTEM, ids)).keys()]).toEqual([ids[1]])
    expect(await countEmbeddedBy(embedder.name, ids)).toBe(2)
  })

  it('gives each fact one pair of vectors if several calls run at the same time', async () => {
    const platform = await platformWith(fakeEmbedder())
    const ids = await record(world.tenant(), ...Array.from({ length: 20 }, (_, n) => `a thing of number ${n}`))
    await Promise.all([
      embedFacts(platform, SYSTEM, ids),
      embedFacts(platform, SYSTEM, ids),
      embedFacts(platform, SYSTEM, ids.toReversed()),
    ])
    expect((await embedFacts(platform, SYSTEM, ids)).size).toBe(20)
    expect(await vectorsOf(platform.embedding.serving().name, ids)).toBe(20)
  })

  it('continues after a fact that the embedder rejects', async () => {
    const embedder = fakeEmbedder()
    embedder.before = (texts) => {
      if (texts.some((text) => text.includes('poison'))) throw rejected()
    }
    const ids = await record(world.tenant(), 'kittens', 'poison', 'puppies')
    expect([...(await embedFacts(await platformWith(embedder), SYSTEM, ids)).keys()].sort()).toEqual(
      [ids[0], ids[2]].sort(),
    )
    expect(await countEmbeddedBy(embedder.name, ids)).toBe(3)
  })

  it('logs a warning and retries while the embedder is unavailable', async () => {
    const embedder = fakeEmbedder()
    embedder.before = () => {
      throw unavailable()
    }
    const platform = await platformWith(embedder)
    const ids = await record(world.tenant(), 'kittens')
    const warnings: string[] = []
    const log = { ...world.deps.log, warn: (_: object, message: string) => void warnings.push(message) }
    expect(await embedFacts({ ...platform, log }, SYSTEM, ids)).toEqual(new Map())
    expect(await countEmbeddedBy(embedder.name, ids)).toBe(0)
    expect(warnings).toEqual(['could not embed facts; comparing them by their words only'])

    const work = createFactEmbedding({ ...platform, log }, { sweepMs: 50 })
    started.push(work)
    work.start()
    await eventually(async () => expect(warnings).toHaveLength(2))
    embedder.before = () => {}
    await eventually(async () => expect(await vectorsOf(embedder.name, ids)).toBe(1))
  })

  it('embeds all facts again with another embedder', async () => {
    const ids = await record(world.tenant(), 'kittens', 'puppies', 'nothing')
    for (const embedder of [fakeEmbedder(), fakeEmbedder(undefined, { dimension: 7, batch: 2 })]) {
      const work = createFactEmbedding(await platformWith(embedder), { sweepMs: 50 })
      started.push(work)
      work.start()
      await eventually(async () => expect(await countEmbeddedBy(embedder.name, ids)).toBe(3))
      await work.stop()
      expect(await vectorsOf(embedder.name, ids)).toBe(2)
    }
  })
})
