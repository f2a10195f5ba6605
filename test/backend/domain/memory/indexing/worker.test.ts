// The embedding worker on real databases: it embeds every turn, in any number of processes, and resumes after
// failures and crashes.

import { afterEach, describe, expect, it, vi } from 'vitest'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import {
  batchesOf,
  startEmbeddingWorker,
  type EmbeddingWorker,
} from '../../../../../src/domain/memory/indexing/worker.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { claimConversations } from '../../../../../src/store/sql/memory/indexing/embedding-conversations.ts'
import { readUnembedded } from '../../../../../src/store/sql/memory/indexing/read-unembedded.ts'
import { backends } from '../../../../support/backend.ts'
import { fakeClock } from '../../../../support/fake-clock.ts'
import { unavailable, fakeEmbedder, rejected, type FakeEmbedder } from '../../../../support/fake-embedder.ts'
import { addEmbedder } from '../../../../support/seeded-vectors.ts'
import { useWorld } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'
import { similaritiesOf } from '../../../../support/vectors.ts'
import { isLong } from '../../../../support/long.ts'

const ANY_VECTOR = Float32Array.of(1, 0, 0, 0)

describe('batches of turns', () => {
  const turn = (entry: number) => ({ entry, position: entry, seq: entry, text: '' })
  const read = [
    { conversationId: 'a', through: 9, turns: [turn(1), turn(3), turn(4)] },
    { conversationId: 'b', through: 5, turns: [] },
    { conversationId: 'c', through: 7, turns: [turn(6)] },
  ]

  it.each([
    [2, ['a 3: 1 3', 'a 9: 4, b 5:, c 7: 6']],
    [3, ['a 9: 1 3 4', 'b 5:, c 7: 6']],
    [4, ['a 9: 1 3 4, b 5:, c 7: 6']],
    [1, ['a 1: 1', 'a 3: 3', 'a 9: 4', 'b 5:, c 7: 6']],
  ])('of %d turns end before unread entries', (size, expected) => {
    const printed = batchesOf(read, size).map((batch) =>
      batch
        .map(({ conversationId, through, turns }) => [`${conversationId} ${through}:`, ...turns.map(({ seq }) => seq)])
        .map((words) => words.join(' '))
        .join(', '),
    )
    expect(printed).toEqual(expected)
  })
})

describe.each(backends)('the embedding worker, on $name', (backend) => {
  const world = useWorld(backend)
  const started: EmbeddingWorker[] = []
  afterEach(async () => {
    await Promise.all(started.splice(0).map((worker) => worker.stop()))
  })

  async function start(embedder: FakeEmbedder, platform = world.deps): Promise<EmbeddingWorker> {
    await addEmbedder(world.deps.pool, embedder.name, embedder.dimension)
    const worker = startEmbeddingWorker(platform, embedder, () => {})
    started.push(worker)
    return worker
  }
  const seqs = async (embedder: FakeEmbedder, conversationId: string) =>
    [
      ...((await similaritiesOf(world.deps, embedder.name, [conversationId], ANY_VECTOR)).get(conversationId)?.keys()
        ?? []),
    ].sort((a, b) => a - b)
  /** Whether the statement claims the conversation for embedding. */
  const isClaimOf = (statement: unknown, conversationId: string) => {
    const { name, values } = statement as { name?: string; values?: unknown[] }
    return name === 'claim-embedding' && (values![1] as string[]).includes(conversationId)
  }
  /**
   * Waits until the embedder has processed the whole journal of the conversation and no process claims it.
   * @param advance called before each check
   */
  const untilProcessed = (embedder: FakeEmbedder, conversationId: string, advance = async () => {}) =>
    vi.waitFor(
      async () => {
        await advance()
        const [cursor, journal] = await Promise.all([
          world.deps.db
            .of(SYSTEM)
            .embeddingCursor.findUnique({
              where: { conversationId_embedder: { conversationId, embedder: embedder.name } },
            }),
          world.deps.db.of(SYSTEM).journal.findUniqueOrThrow({ where: { conversationId } }),
        ])
        expect(cursor?.throughSeq).toBe(journal.lastSeq)
        expect(cursor?.claimedUntil).toBe(null)
      },
      { interval: 20 },
    )

  it('embeds an appended turn before the next sweep', async () => {
    const { newConversation, append } = world.tenant()
    const one = await newConversation()
    const turn = await append(one, 'ada', 'We adopted a kitten last week')
    const { name, embed } = world.deps.embedder
    const [query] = await embed(['a cat'])
    await vi.waitFor(
      async () => {
        const found = (await similaritiesOf(world.deps, name, [one], query!)).get(one)
        expect(found?.get(turn.seq)).toBeGreaterThan(0.3)
      },
      { interval: 20 },
    )
  })

  it('embeds earlier turns that were appended, edited or committed, and skips turns with a zero vector', async () => {
    const { newConversation, append, as } = world.tenant()
    const one = await newConversation('ada')
    const first = await append(one, 'ada', 'first')
    const { turn: newer } = await supersedeTurn(world.deps, as('ada'), {
      turnId: first.id,
      turn: { role: 'USER', content: 'newer' },
    })
    const { turn: open } = await openTurn(world.deps, as('ada'), {
      writerToken: WRITER,
      conversationId: one,
      turn: { role: 'USER' },
    })
    await appendDelta(world.deps, as('ada'), { writerToken: WRITER, turnId: open.id, start: 0, text: 'streamed' })
    await append(one, 'ada', 'this says nothing')
    const embedder = fakeEmbedder()
    const worker = await start(embedder)
    await untilProcessed(embedder, one)
    expect(await seqs(embedder, one)).toEqual([first.seq, newer.seq])
    await commitTurn(world.deps, as('ada'), { writerToken: WRITER, turnId: open.id })
    worker.nudge([one])
    await untilProcessed(embedder, one)
    expect(await seqs(embedder, one)).toEqual([first.seq, newer.seq, open.seq])
    expect(embedder.calls.flat().filter((text) => text === 'first')).toHaveLength(1)
  })

  it('reads many conversations in batches, each turn once', async () => {
    const { newConversation, append } = world.tenant()
    const conversationIds = await Promise.all(Array.from({ length: 5 }, () => newConversation('ada')))
    for (const [i, one] of conversationIds.entries())
      for (let n = 0; n <= 4 * i; n++) await append(one, 'ada', `of ${one}: ${n}`)
    const embedder = fakeEmbedder()
    await start(embedder)
    for (const one of conversationIds) await untilProcessed(embedder, one)
    for (const [i, one] of conversationIds.entries()) expect(await seqs(embedder, one)).toHaveLength(4 * i + 1)
    const texts = embedder.calls.flat().filter((text) => conversationIds.some((one) => text.startsWith(`of ${one}`)))
    expect(new Set(texts).size).toBe(texts.length)
    expect(Math.max(...embedder.calls.map(({ length }) => length))).toBe(embedder.batch)
  })

  it('embeds each turn exactly once in two processes', async () => {
    const { newConversation, append } = world.tenant()
    const conversationIds = await Promise.all(Array.from({ length: 12 }, () => newConversation('ada')))
    const [mine, theirs] = [fakeEmbedder(), fakeEmbedder()]
    Object.assign(theirs, { name: mine.name })
    const workers = [await start(mine), await start(theirs)]
    await Promise.all(
      conversationIds.map(async (one, i) => {
        for (let n = 0; n < 10; n++) {
          await append(one, 'ada', `turn ${n} of ${one}`)
          workers[(i + n) % 2]!.nudge([one])
        }
      }),
    )
    for (const one of conversationIds) await untilProcessed(mine, one)
    for (const one of conversationIds) expect(await seqs(mine, one)).toHaveLength(10)
    const texts = [...mine.calls, ...theirs.calls].flat().filter((text) => text.startsWith('turn '))
    expect(new Set(texts).size).toBe(texts.length)
  })

  it('retries a conversation claimed by another process once that claim expires, without another nudge', async () => {
    const { newConversation, append } = world.tenant()
    const one = await newConversation('ada')
    const embedder = fakeEmbedder()
    await addEmbedder(world.deps.pool, embedder.name, 4)
    await append(one, 'ada', 'first')
    expect((await claimConversations(world.deps.pool, embedder.name, [one])).claimed).toEqual([one])
    const clock = fakeClock()
    const claims = vi.spyOn(world.deps.pool, 'query')
    const claimsOfOne = () => claims.mock.calls.filter(([statement]) => isClaimOf(statement, one)).length
    const worker = await start(embedder, { ...world.deps, clock })
    worker.nudge([one])
    await vi.waitFor(async () => {
      await clock.advance(300)
      expect(claimsOfOne()).toBeGreaterThan(2)
    })
    claims.mockRestore()
    expect(await seqs(embedder, one)).toEqual([])
    await world.deps.db
      .of(SYSTEM)
      .embeddingCursor.updateMany({
        where: { embedder: embedder.name },
        data: { claimedUntil: new Date(Date.now() - 1) },
      })
    await untilProcessed(embedder, one, () => clock.advance(300))
    expect(await seqs(embedder, one)).toHaveLength(1)
  })

  it('repeats at most two batches and skips no turn after a crash before the cursor moves', async () => {
    const { newConversation, append } = world.tenant()
    const one = await newConversation('ada')
    for (let n = 0; n < 20; n++) await append(one, 'ada', `said ${n} of ${one}`)
    const before = fakeEmbedder()
    let writes = 0
    const write: typeof world.deps.vectors.write = async (...args) => {
      await world.deps.vectors.write(...args)
      // Simulates a crash of the process: this call never returns.
      if (args[1].some(({ conversationId }) => conversationId === one) && ++writes === 2) await new Promise(() => {})
    }
    await addEmbedder(world.deps.pool, before.name, 4)
    startEmbeddingWorker({ ...world.deps, vectors: { ...world.deps.vectors, write } }, before, () => {})
    await vi.waitFor(() => expect(writes).toBe(2))
    await world.deps.db
      .of(SYSTEM)
      .embeddingCursor.updateMany({
        where: { embedder: before.name },
        data: { claimedUntil: new Date(Date.now() - 1) },
      })
    const after = fakeEmbedder(before.name)
    await start(after)
    await untilProcessed(after, one)
    expect(await seqs(after, one)).toHaveLength(20)
    const ours = (calls: string[][]) => calls.flat().filter((text) => text.endsWith(one)).length
    expect(ours(before.calls) + ours(after.calls)).toBeLessThanOrEqual(20 + 2 * after.batch)
  })

  it.runIf(isLong)('reads very long texts in several steps', async () => {
    const { newConversation, append } = world.tenant()
    const one = await newConversation('ada')
    const turns = []
    for (let n = 0; n < 20; n++) turns.push(await append(one, 'ada', `${n} of ${one} ${'word '.repeat(16_000)}`))
    const read = await readUnembedded(world.deps.pool, 'none', [one], 100)
    expect(read[0]!.turns.length).toBeLessThan(20)
    expect(read[0]!.through).toBe(read[0]!.turns.at(-1)!.entry)
    const embedder = fakeEmbedder()
    await start(embedder)
    await untilProcessed(embedder, one)
    expect(await seqs(embedder, one)).toEqual(turns.map(({ seq }) => seq))
  })

  it('continues when the provider is available again; appends succeed meanwhile', async () => {
    const { newConversation, append } = world.tenant()
    const one = await newConversation('ada')
    const embedder = fakeEmbedder()
    const log = { ...world.deps.log, warn: vi.fn(), info: vi.fn() }
    const clock = fakeClock()
    const before = vi.fn(() => {
      throw unavailable()
    })
    embedder.before = before
    const worker = await start(embedder, { ...world.deps, clock, log })
    for (let n = 0; n < 10; n++) {
      await append(one, 'ada', `turn ${n}`)
      worker.nudge([one])
      await vi.waitFor(async () => {
        await clock.advance(60_000)
        expect(before.mock.calls.length).toBeGreaterThan(n)
      })
    }
    expect(await seqs(embedder, one)).toEqual([])
    expect(log.warn).toHaveBeenCalledTimes(1)
    embedder.before = () => {}
    await untilProcessed(embedder, one, () => clock.advance(60_000))
    expect(await seqs(embedder, one)).toHaveLength(10)
    expect(log.info).toHaveBeenCalledWith({ embedder: embedder.name }, 'embedding turns succeeds again')
  })

  it('continues after a turn that cannot be embedded', async () => {
    const { newConversation, append } = world.tenant()
    const one = await newConversation('ada')
    const turns = []
    for (const text of ['good', 'evil', 'fine']) turns.push(await append(one, 'ada', text))
    const embedder = fakeEmbedder()
    embedder.before = (texts) => {
      if (texts.includes('evil')) throw rejected()
    }
    const log = { ...world.deps.log, warn: vi.fn() }
    await start(embedder, { ...world.deps, log })
    await untilProcessed(embedder, one)
    expect(await seqs(embedder, one)).toEqual([turns[0]!.seq, turns[2]!.seq])
    expect(log.warn).toHaveBeenCalledTimes(1)
  })

  it('skips a conversation that is deleted while its turns are embedded', async () => {
    const { newConversation, append, as } = world.tenant()
    const [gone, stays] = [await newConversation('ada'), await newConversation('ada')]
    for (const one of [gone, stays]) await append(one, 'ada', 'hello there')
    const embedder = fakeEmbedder()
    const log = { ...world.deps.log, warn: vi.fn() }
    embedder.before = async (texts) => {
      if (texts.includes('hello there')) await deleteConversation(world.deps, as('ada'), gone).catch(() => {})
    }
    await start(embedder, { ...world.deps, log })
    await untilProcessed(embedder, stays)
    expect(await seqs(embedder, stays)).toHaveLength(1)
    expect(await seqs(embedder, gone)).toEqual([])
    expect(log.warn).not.toHaveBeenCalled()
  })

  it('stops while the provider does not answer, and releases its conversations', async () => {
    const { newConversation, append } = world.tenant()
    const one = await newConversation('ada')
    await append(one, 'ada', 'hello')
    const embedder = fakeEmbedder()
    let isCalled = false
    embedder.embed = (_, signal) =>
      new Promise((_, reject) => {
        isCalled = true
        signal!.addEventListener('abort', () => reject(signal!.reason))
      })
    const worker = await start(embedder)
    await vi.waitFor(() => expect(isCalled).toBe(true))
    await worker.stop()
    const claimed = { embedder: embedder.name, claimedUntil: { not: null } }
    expect(await world.deps.db.of(SYSTEM).embeddingCursor.count({ where: claimed })).toBe(0)
  })
})
