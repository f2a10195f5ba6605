// A change of the embedder on real databases: searches use the previous embedder until the new one is complete; the
// vectors of the previous one are deleted later.

import { afterEach, describe, expect, it, vi } from 'vitest'
import { createEmbedding, type Embedding } from '../../../../../src/domain/memory/indexing/embedder-in-use.ts'
import { paceOf } from '../../../../../src/domain/memory/indexing/progress.ts'
import type { Embedder } from '../../../../../src/providers/ports/embedder.ts'
import { backends } from '../../../../support/backend.ts'
import { fakeEmbedder } from '../../../../support/fake-embedder.ts'
import { useWorld } from '../../../../support/world.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'
import { similaritiesOf } from '../../../../support/vectors.ts'

const ANY_VECTOR = Float32Array.of(1, 0, 0, 0)

describe.each(backends)('changing the embedder, on $name', (backend) => {
  const world = useWorld(backend)
  const started: Embedding[] = []
  afterEach(async () => {
    await Promise.all(started.splice(0).map((embedding) => embedding.stop()))
  })

  /** Starts a process with its own embedder. `loadable`: the other embedders that it can load. */
  async function boot(embedder: Embedder, loadable: Embedder[] = []): Promise<Embedding> {
    const embedding = createEmbedding(
      { ...world.deps, embedder },
      { find: async ({ name }) => loadable.find((each) => each.name === name) ?? null, indexes: null, sweepMs: 50 },
    )
    started.push(embedding)
    await embedding.start()
    return embedding
  }
  const count = async (embedder: Embedder, conversationId: string) =>
    (await similaritiesOf(world.deps, embedder.name, [conversationId], ANY_VECTOR)).get(conversationId)?.size ?? 0
  const rowOf = (embedder: Embedder) => world.deps.db.of(SYSTEM).embedder.findUnique({ where: { name: embedder.name } })
  const filled = (embedder: Embedder) => vi.waitFor(async () => expect((await rowOf(embedder))?.filledAt).toBeTruthy())

  /** Whether the statement is the search for work with which each sweep of the embedder's worker begins. */
  const isSearchFor = (statement: unknown, { name }: Embedder) => {
    const query = statement as { name?: string; values?: unknown[] }
    return query.name === 'find-conversations-behind' && query.values![0] === name
  }

  /** Blocks an embedder until the returned function is called. */
  function gate(embedder: ReturnType<typeof fakeEmbedder>): () => void {
    let open = () => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    embedder.before = () => opened
    return open
  }

  it('searches with the previous embedder until the new one is complete', async () => {
    const { newConversation, append } = world.tenant()
    const one = await newConversation('ada')
    await append(one, 'ada', 'said before')
    const [older, newer] = [fakeEmbedder(), fakeEmbedder()]
    const before = await boot(older)
    await filled(older)
    expect(before.serving()).toBe(older)
    const open = gate(newer)
    const after = await boot(newer, [older])
    expect(after.serving()).toBe(older)
    const progress = await after.progress()
    expect(progress).toMatchObject({ embedder: newer.name, serving: older.name, done: 0 })
    expect(progress.remaining).toBeGreaterThan(1)
    // Meanwhile, the new process also embeds appended turns with the previous embedder.
    await before.stop()
    await append(one, 'ada', 'said meanwhile')
    after.nudge([one])
    await vi.waitFor(async () => expect(await count(older, one)).toBe(2))
    open()
    await filled(newer)
    await vi.waitFor(() => expect(after.serving()).toBe(newer))
    await vi.waitFor(async () => expect(await count(newer, one)).toBe(2))
  })

  it('makes other processes switch to the new embedder if they can load it', async () => {
    const [older, newer] = [fakeEmbedder(), fakeEmbedder()]
    const able = await boot(older, [newer])
    const unable = await boot(older)
    await filled(older)
    await boot(newer)
    await filled(newer)
    await vi.waitFor(() => expect(able.serving()).toBe(newer))
    expect(unable.serving()).toBe(older)
  })

  it("deletes the previous embedder's vectors once every process has had time to switch", async () => {
    const { newConversation, append } = world.tenant()
    const one = await newConversation('ada')
    await append(one, 'ada', 'hello')
    const [older, newer] = [fakeEmbedder(), fakeEmbedder()]
    const before = await boot(older)
    await filled(older)
    await before.stop()
    await boot(newer, [older])
    await filled(newer)
    const query = vi.spyOn(world.deps.pool, 'query')
    const isSweep = ([statement]: unknown[]) => isSearchFor(statement, newer)
    await vi.waitFor(() => expect(query.mock.calls.filter(isSweep).length).toBeGreaterThanOrEqual(3))
    query.mockRestore()
    expect(await count(older, one)).toBe(1)
    await world.deps.db
      .of(SYSTEM)
      .embedder.update({ where: { name: newer.name }, data: { filledAt: new Date(Date.now() - 31_000) } })
    await vi.waitFor(async () => expect(await rowOf(older)).toBe(null))
    const ofOlder = { where: { embedder: older.name } }
    expect(await world.deps.db.of(SYSTEM).embeddingCursor.count(ofOlder)).toBe(0)
    expect(await world.deps.db.of(SYSTEM).turnVector.count(ofOlder)).toBe(0)
    expect(await count(newer, one)).toBe(1)
  })

  it('resumes with an embedder that is configured again', async () => {
    const { newConversation, append } = world.tenant()
    const one = await newConversation('ada')
    await append(one, 'ada', 'hello again')
    const [first, second] = [fakeEmbedder(), fakeEmbedder()]
    await (await boot(first)).stop()
    const again = fakeEmbedder(first.name)
    await boot(again)
    await filled(again)
    const callCount = first.calls.length + again.calls.length
    gate(second)
    await boot(second, [again])
    const back = await boot(again)
    expect(back.serving()).toBe(again)
    expect(first.calls.length + again.calls.length).toBe(callCount)
  })

  it('rejects an embedder whose vectors differ in length from those stored under its name', async () => {
    const embedder = fakeEmbedder()
    await boot(embedder)
    await expect(boot(fakeEmbedder(embedder.name, { dimension: 5 }))).rejects.toThrow(
      /4 dimensions, but the model now returns 5/,
    )
  })
})

describe('the pace of embedding', () => {
  const sample = (seconds: number, done: number) => ({ at: seconds * 1000, done })
  it.each([
    ['is zero with nothing to do', [sample(0, 5)], 0, 0, 0],
    ['gives no estimate at first', [sample(0, 5)], 10, 0, null],
    ['is ten per second', [sample(0, 0), sample(2, 20)], 100, 10, 10],
    ['is averaged over the whole window', [sample(0, 0), sample(5, 100), sample(10, 100)], 5, 10, 1],
    ['is zero without progress', [sample(0, 20), sample(2, 20)], 7, 0, null],
    ['is not negative after conversations were deleted', [sample(0, 20), sample(2, 10)], 7, 0, null],
    ['is zero at the end', [sample(0, 0), sample(2, 20)], 0, 0, 0],
  ])('%s', (_, samples, remaining, perSecond, etaSeconds) => {
    expect(paceOf(samples, remaining)).toEqual({ done: samples.at(-1)!.done, remaining, perSecond, etaSeconds })
  })
})
