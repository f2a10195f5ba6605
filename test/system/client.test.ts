// The package's own client while its server is killed and restarted: followers on both transports, a live transcript,
// writers in the middle of their deltas, and live shared state. Each entry must arrive once, and each word and each change
// must be written once.

import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ColloquyError, sharedStateOf, type Client, type FollowedEvent } from '../../src/client/index.ts'
import { everyBackend, newDataDir, type Backend } from '../support/backend.ts'
import { clientOf, newReceived, record, TRANSPORTS } from '../support/client.ts'
import { isLong } from '../support/long.ts'
import { createConversation, createServerProcess, tenant, type Server } from './processes.ts'

const SIGNALS = ['SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGKILL'] as const
const WORDS = Array.from({ length: 40 }, (_, index) => `word ${index} 🙂 `)

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A server process on the backend's store. */
async function startServer({ name, open }: Backend): Promise<Server> {
  const dataDir = name === 'embedded' ? await newDataDir() : null
  const opened = dataDir === null ? await open() : null
  const site = opened ? { databaseUrl: opened.url!, redisUrl: opened.redisUrl ?? '' } : { dataDir: dataDir! }
  const server = await createServerProcess(site)
  closing.push(async () => {
    await server.kill()
    await opened?.close()
    if (dataDir) await rm(dataDir, { recursive: true })
  })
  await server.start()
  return server
}

/** Follows the conversation with the client. Returns the received events, which are updated as more arrive. */
function follow(client: Client, id: string) {
  const received = newReceived()
  const controller = new AbortController()
  closing.push(() => controller.abort(), client.close)
  const events = client.conversation(id).follow({ afterSeq: 0, signal: controller.signal })
  const ended = (async (all: AsyncIterable<FollowedEvent>) => {
    for await (const event of all) record(received, event)
  })(events)
  ended.catch((error: unknown) => console.error(error))
  return received
}

describe.runIf(isLong).each(everyBackend)('the client on $name', (backend) => {
  it('receives each entry and writes each word exactly once while its server is killed', async () => {
    const server = await startServer(backend)
    const id = await createConversation(server, ['ada', 'bob', 'eve'])
    const address = `http://${server.url}`
    const followers = TRANSPORTS.map((transport) => follow(clientOf(address, tenant, 'ada', transport), id))
    const transcript = clientOf(address, tenant, 'ada', TRANSPORTS[0]).conversation(id).transcript()
    closing.push(transcript.subscribe(() => {}))

    let isStopping = false
    /** Texts of the acknowledged turns by author, and the number of words of the turn that the author is writing. */
    const progress = ['bob', 'eve'].map((actor) => ({ actor, texts: [] as string[], words: 0 }))
    /** Writes turns one after the other, some streamed. */
    async function keepWriting(author: (typeof progress)[number]): Promise<void> {
      const { actor, texts } = author
      const conversation = clientOf(address, tenant, actor, undefined, { timeoutMs: 5_000 }).conversation(id)
      while (!isStopping) {
        texts.push((await conversation.append(`${actor} ${texts.length}`)).text)
        const words = (async function* () {
          for (const [index, word] of WORDS.entries()) {
            author.words = index + 1
            yield `${actor} ${word}`
            await sleep(10)
          }
        })()
        texts.push((await conversation.write(words)).text)
        author.words = 0
      }
    }
    const writing = Promise.all(progress.map(keepWriting))
    for (const signal of SIGNALS) {
      const counts = progress.map(({ texts }) => texts.length)
      // Since the last start each author has completed two turns, and each has written part of another.
      const areWriting = () => progress.every(({ texts, words }, i) => texts.length >= counts[i]! + 2 && words > 10)
      await expect.poll(areWriting, { interval: 5 }).toBe(true)
      await server.kill(signal)
      await server.start()
    }
    isStopping = true
    await writing
    const written = progress.flatMap(({ texts }) => texts)

    const answer = await fetch(`${address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-tenant': tenant, 'x-actor': 'ada' },
      body: JSON.stringify({ query: `{ conversation(id: "${id}") { lastSeq turns(first: 200) { nodes { text } } } }` }),
    })
    const { conversation } = ((await answer.json()) as { data: any }).data
    const stored: string[] = conversation.turns.nodes.map(({ text }: { text: string }) => text)
    expect([...written].sort()).toEqual([...stored].sort())
    for (const text of written.filter((each) => each.includes('word'))) {
      const actor = text.slice(0, 3)
      expect(text).toBe(WORDS.map((word) => `${actor} ${word}`).join(''))
    }
    const all = Array.from({ length: conversation.lastSeq }, (_, index) => index + 1)
    for (const received of followers) {
      await expect.poll(() => received.seqs.at(-1)).toBe(conversation.lastSeq)
      expect(received.seqs).toEqual(all)
      for (const [turnId, pieces] of received.pieces) {
        expect(pieces).toBe(received.joined.get(turnId))
        expect(received.final.get(turnId)!.startsWith(pieces)).toBe(true)
      }
    }
    const shown = () => transcript.get().turns.map(({ text }) => text)
    await expect.poll(() => shown().slice(-stored.length)).toEqual(stored)
  })

  it('makes each change of shared state exactly once, and shows everybody the same, while its server is killed', async () => {
    const server = await startServer(backend)
    const id = await createConversation(server, ['ada', 'bob', 'eve'])
    const address = `http://${server.url}`
    type Board = { items: string[]; count: number }
    const boards = ['ada', 'bob', 'eve'].map((actor, index) => {
      const client = clientOf(address, tenant, actor, TRANSPORTS[index % 2], { timeoutMs: 5_000 })
      const live = sharedStateOf<Board>(client.conversation(id), 'board')
      closing.push(
        client.close,
        live.subscribe(() => {}),
      )
      return { actor, live, versions: [] as number[], items: [] as string[] }
    })
    await boards[0]!.live.update({ value: { items: [], count: 0 } })
    let isStopping = false
    /** Changes the board by a patch and by a function in turn. A function may be refused if others are always faster. */
    const changing = Promise.all(
      boards.map(async ({ actor, live, versions, items }) => {
        for (let count = 0; !isStopping; count++) {
          const item = `${actor} ${count}`
          const change = (board: Board) => ({ items: [...board.items, item], count: board.count + 1 })
          const patch = [{ op: 'add', path: '/items/-', value: item }]
          const version = await live.update(count % 2 === 0 ? { patch } : change).catch((error: unknown) => {
            if (count % 2 === 0 || !(error instanceof ColloquyError) || error.code !== 'CONFLICT') throw error
          })
          if (version === undefined) continue
          versions.push(version)
          items.push(item)
        }
      }),
    )
    for (let kill = 1; kill <= 4; kill++) {
      const counts = boards.map(({ items }) => items.length)
      const isFurther = () => boards.every(({ items }, i) => items.length >= counts[i]! + 2)
      await Promise.race([changing, vi.waitUntil(isFurther, { interval: 5, timeout: 60_000 })])
      await server.kill('SIGKILL')
      await server.start()
    }
    isStopping = true
    await changing

    const versions = boards.flatMap((each) => each.versions).toSorted((a, b) => a - b)
    expect(versions).toEqual(Array.from({ length: versions.length }, (_, index) => index + 2))
    for (const { live } of boards) await expect.poll(() => live.get().version).toBe(versions.at(-1))
    const { value } = boards[0]!.live.get()
    for (const { live } of boards) expect(live.get()).toMatchObject({ value, status: 'live', isPending: false })
    const all = boards.flatMap(({ items }) => items)
    expect([...value!.items].sort()).toEqual([...all].sort())
    expect(value!.count).toBe(all.filter((item) => Number(item.split(' ')[1]) % 2 === 1).length)
  })
})
