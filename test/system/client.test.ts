// The package's own client while its server is killed and restarted: followers on both transports, a live transcript,
// and writers in the middle of their deltas. Each entry must arrive once, and each word must be written once.

import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import type { Client, FollowedEvent } from '../../src/client/index.ts'
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
    /** Writes turns one after the other, some streamed, and returns the texts of those acknowledged. */
    async function keepWriting(actor: string): Promise<string[]> {
      const conversation = clientOf(address, tenant, actor, undefined, { timeoutMs: 5_000 }).conversation(id)
      const texts: string[] = []
      while (!isStopping) {
        texts.push((await conversation.append(`${actor} ${texts.length}`)).text)
        const words = (async function* () {
          for (const word of WORDS) {
            yield `${actor} ${word}`
            await sleep(10)
          }
        })()
        texts.push((await conversation.write(words)).text)
      }
      return texts
    }
    const writing = Promise.all([keepWriting('bob'), keepWriting('eve')])
    for (const signal of SIGNALS) {
      await sleep(1_500)
      await server.kill(signal)
      await sleep(300)
      await server.start()
    }
    isStopping = true
    const written = (await writing).flat()

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
      await expect.poll(() => received.seqs.at(-1), { timeout: 60_000 }).toBe(conversation.lastSeq)
      expect(received.seqs).toEqual(all)
      for (const [turnId, pieces] of received.pieces) {
        expect(pieces).toBe(received.joined.get(turnId))
        expect(received.final.get(turnId)!.startsWith(pieces)).toBe(true)
      }
    }
    await expect
      .poll(
        () =>
          transcript
            .get()
            .turns.map(({ text }) => text)
            .slice(-stored.length),
        { timeout: 60_000 },
      )
      .toEqual(stored)
  }, 180_000)
})
