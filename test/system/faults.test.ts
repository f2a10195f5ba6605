// Guarantees under faults, with real server processes on real Postgres and Redis: one order for all readers, no gaps,
// and no loss of an acknowledged turn. The faults are killed processes, killed services and cut sockets.

import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import {
  append,
  createConversation,
  createServerProcess,
  createSite,
  follow,
  journal,
  signal,
  until,
  startServices,
  type Acknowledged,
  type Server,
  type Site,
} from './processes.ts'

const { TEST_DATABASE_URL, TEST_REDIS_URL, SERVICES } = process.env
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)

const running: Server[] = []
afterEach(async () => void (await Promise.all(running.splice(0).map((server) => server.kill()))))

async function servers(site: Site, count: number): Promise<Server[]> {
  const started = await Promise.all(upTo(count).map(() => createServerProcess(site)))
  running.push(...started)
  // Start the servers concurrently, so that their migrations compete.
  await Promise.all(started.map((server) => server.start()))
  return started
}

/**
 * Expects that each acknowledged turn is in the journal once, at its acknowledged seq, and that the journal has no
 * gaps. Returns the number of entries.
 */
async function expectAllStored(site: Site, conversationId: string, acknowledged: Acknowledged[]): Promise<number> {
  const entries = await journal(site, conversationId)
  expect(entries.map(({ seq }) => seq)).toEqual(upTo(entries.length))
  for (const { id, seq, text } of acknowledged) expect(entries[seq - 1]).toEqual({ seq, id, text })
  const turns = entries.filter(({ id }) => id !== null)
  expect(new Set(turns.map(({ text }) => text)).size).toBe(turns.length)
  return entries.length
}

describe.skipIf(!TEST_DATABASE_URL || !TEST_REDIS_URL)(
  'on one Postgres and Redis (needs TEST_DATABASE_URL, TEST_REDIS_URL)',
  () => {
    test('readers in three processes receive the turns of 64 writers once and in one order', async () => {
      const site = await createSite(TEST_DATABASE_URL!, TEST_REDIS_URL!)
      const [a, b, c] = (await servers(site, 3)) as [Server, Server, Server]
      const actors = upTo(64).map((n) => `writer-${n}`)
      const conversationId = await createConversation(a, actors)
      const readers = [a, b, c].map((server) => follow([server], conversationId))
      const acknowledged = (
        await Promise.all(
          actors.map(async (actor, n) => {
            const own: Acknowledged[] = []
            for (const k of upTo(200))
              own.push(await append([n % 2 ? a : b], conversationId, actor, `${actor} says ${k}`))
            return own
          }),
        )
      ).flat()
      const last = 64 + 64 * 200
      expect(acknowledged.map(({ seq }) => seq).sort((x, y) => x - y)).toEqual(upTo(last).slice(64))
      expect(await expectAllStored(site, conversationId, acknowledged)).toBe(last)
      await until(() => readers.every(({ seqs }) => seqs.length >= last))
      for (const reader of readers) {
        expect(reader.seqs).toEqual(upTo(last))
        reader.stop()
      }
    })
  },
)

describe.skipIf(!SERVICES)('with faults (needs SERVICES, a script that starts and signals services)', () => {
  /** Starts writers that append until `stop`. Returns the turns acknowledged to them. */
  function write(to: Server[], conversationId: string, count: number) {
    const acknowledged: Acknowledged[] = []
    let writing = true
    const done = Promise.all(
      upTo(count).map(async (n) => {
        for (let k = 1; writing; k++) {
          acknowledged.push(
            await append(n % 2 ? to : to.toReversed(), conversationId, `writer-${n}`, `writer ${n} says ${k}`),
          )
          await sleep(5)
        }
      }),
    )
    return {
      acknowledged,
      /** Resolves after 50 more turns were acknowledged. */
      progress: () => {
        const before = acknowledged.length
        return until(() => acknowledged.length >= before + 50)
      },
      stop: async () => {
        writing = false
        await done
      },
    }
  }

  test('readers receive each entry once and in order although servers and Redis are killed and 50 sockets are cut', async () => {
    const { server, redisUrl } = await startServices()
    const site = await createSite(server, redisUrl)
    const both = (await servers(site, 2)) as [Server, Server]
    const conversationId = await createConversation(both[0], [])
    const writers = write(both, conversationId, 8)
    const readers = upTo(6).map((n) => follow(n % 2 ? both : both.toReversed(), conversationId))
    const cutting = (async () => {
      for (const n of upTo(50)) {
        const reader = readers[n % readers.length]!
        const seen = reader.seqs.length
        await until(() => reader.seqs.length > seen)
        reader.cut()
      }
    })()
    for (const round of upTo(3)) {
      await writers.progress()
      await both[round % 2]!.kill()
      await both[round % 2]!.start()
      await signal('redis', 'KILL')
      await writers.progress()
      await startServices()
    }
    await cutting
    await writers.stop()
    const last = await expectAllStored(site, conversationId, writers.acknowledged)
    await until(() => readers.every(({ seqs }) => (seqs.at(-1) ?? 0) >= last))
    for (const reader of readers) {
      expect(reader.seqs).toEqual(upTo(last))
      reader.stop()
    }
    expect(writers.acknowledged.length).toBeGreaterThan(100)
  })

  test('every acknowledged turn is stored although Postgres and a server are killed during appends', async () => {
    const { server, redisUrl } = await startServices()
    const site = await createSite(server, redisUrl)
    const both = (await servers(site, 2)) as [Server, Server]
    const conversationId = await createConversation(both[0], [])
    const writers = write(both, conversationId, 8)
    const reader = follow(both, conversationId)
    await writers.progress()
    await signal('postgres', 'KILL')
    await both[0].kill()
    await startServices()
    await both[0].start()
    await writers.progress()
    await writers.stop()
    const last = await expectAllStored(site, conversationId, writers.acknowledged)
    await until(() => (reader.seqs.at(-1) ?? 0) >= last)
    expect(reader.seqs).toEqual(upTo(last))
    reader.stop()
    expect(writers.acknowledged.length).toBeGreaterThan(100)
  })
})
