// Two server processes share a database. One is killed in the middle of an answer, or the process of a client loses its
// connection: how long viewers at the other process see an answer that does not grow, before it is aborted and begun
// again. All leases are the defaults of the server and of the client.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import type { Client, FollowedEvent } from '../../src/client/index.ts'
import { everyBackend } from '../support/backend.ts'
import { clientOf } from '../support/client.ts'
import { isLong } from '../support/long.ts'
import { createProxy } from '../support/proxy.ts'
import { createServerProcess, tenant, type Server } from './processes.ts'

/**
 * Maximum time from the loss of the writer to the abort of its turn, ms. The lease takes 8 s, and the sweep another
 * second; the rest is for a busy machine. Half a lease of 30 s is longer.
 */
const MAX_FROZEN_MS = 14_000

/** Time for which a process that has just started waits for writers, ms: a lease of 8 s, 10 s, and the sweep. */
const SETTLED_MS = 20_000

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Calls `take` with the events of the conversation until it returns a value. */
async function until<T>(client: Client, id: string, take: (event: FollowedEvent) => T | undefined): Promise<T> {
  for await (const event of client.conversation(id).follow({ afterSeq: 0 })) {
    const found = take(event)
    if (found !== undefined) return found
  }
  throw new Error('The subscription ended.')
}

const textOfDelta = (event: FollowedEvent) => (event.__typename === 'TurnDelta' ? event.joined : undefined)
const aborted = (event: FollowedEvent) => (event.__typename === 'TurnAborted' ? event.turn : undefined)
const committed = (event: FollowedEvent) =>
  event.__typename === 'TurnCommitted' || (event.__typename === 'TurnAppended' && event.turn.actor === 'bot')
    ? event.turn
    : undefined

const postgres = everyBackend.find(({ name }) => name !== 'embedded')
describe.runIf(isLong && postgres)('an answer whose writer is lost, on Postgres (needs LONG=1)', () => {
  /** Starts two server processes, and returns them with a client of the second, as ada. */
  async function start() {
    const directory = await mkdtemp(join(tmpdir(), 'colloquy-test-'))
    closing.push(() => rm(directory, { recursive: true }))
    const file = join(directory, 'providers.json')
    await writeFile(file, JSON.stringify({ echo: { kind: 'echo' } }))
    const { url, redisUrl, close } = await postgres!.open()
    closing.push(close)
    const site = { databaseUrl: url!, redisUrl: redisUrl ?? '' }
    const servers: Server[] = []
    for (let index = 0; index < 2; index++) {
      const server = await createServerProcess(site, { env: () => ({ PROVIDERS_FILE: file }) })
      await server.start()
      closing.push(() => server.kill())
      servers.push(server)
    }
    const [one, other] = servers as [Server, Server]
    await sleep(SETTLED_MS)
    const viewer = clientOf(`http://${other.url}`, tenant, 'ada')
    closing.push(viewer.close)
    return { one, other, viewer, site }
  }

  it('is aborted soon if the server process that runs the agent is killed', async () => {
    const { one, viewer } = await start()
    const script = { echo: { text: 'one two three ', after: 1, stall: true } }
    const agent = { provider: 'echo', instructions: JSON.stringify(script) }
    const { id } = await viewer.createConversation({
      participants: [{ actor: 'ada' }, { actor: 'bot', kind: 'AGENT', respond: 'MENTIONED', agent }],
    })
    // Process `one` appends the turn, so it runs the agent.
    const asking = clientOf(`http://${one.url}`, tenant, 'ada')
    closing.push(asking.close)
    const frozen = until(viewer, id, textOfDelta)
    await asking.conversation(id).append('@bot Where?')
    expect(await frozen).toBe('one ')

    await one.kill()
    const killedAt = performance.now()
    const turn = await until(viewer, id, aborted)
    const ms = performance.now() - killedAt
    console.info(`run: aborted ${(ms / 1000).toFixed(1)} s after the kill`)
    expect(turn).toMatchObject({ actor: 'bot', text: 'one ' })
    expect(ms).toBeLessThan(MAX_FROZEN_MS)
  })

  it('is aborted soon, and begun again, if the process of a client is lost', async () => {
    const { other, viewer } = await start()
    const { id } = await viewer.createConversation({
      participants: [{ actor: 'ada' }, { actor: 'bot', kind: 'AGENT', respond: 'MENTIONED' }],
    })
    const proxy = await createProxy(`http://${other.url}`)
    const controller = new AbortController()
    const lost = clientOf(proxy.url, tenant, 'bot')
    const answering = lost.answer(
      async function* () {
        yield 'one '
        await new Promise(() => {})
      },
      { signal: controller.signal },
    )
    closing.push(proxy.close, async () => {
      controller.abort()
      await answering
      await lost.close()
    })
    const frozen = until(viewer, id, textOfDelta)
    await viewer.conversation(id).append('@bot Where?')
    expect(await frozen).toBe('one ')

    const again = clientOf(`http://${other.url}`, tenant, 'bot')
    const stop = new AbortController()
    const answeringAgain = again.answer(() => 'Here.', { signal: stop.signal })
    closing.push(async () => {
      stop.abort()
      await answeringAgain
      await again.close()
    })
    await proxy.cut()
    const cutAt = performance.now()
    const turn = await until(viewer, id, aborted)
    const abortedMs = performance.now() - cutAt
    const answer = await until(viewer, id, committed)
    const answeredMs = performance.now() - cutAt
    console.info(
      `client: aborted ${(abortedMs / 1000).toFixed(1)} s after the cut, answered ${(answeredMs / 1000).toFixed(1)} s after it`,
    )
    expect([turn.text, answer.text]).toEqual(['one ', 'Here.'])
    expect(abortedMs).toBeLessThan(MAX_FROZEN_MS)
  })
})
