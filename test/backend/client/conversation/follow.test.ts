// Following a conversation while connections are cut: each entry once and in order, and deltas without overlap.

import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ColloquyError, FollowedEvent, FollowOptions } from '../../../../src/client/index.ts'
import { clientOf, newReceived, nextMutation, record, TRANSPORTS } from '../../../support/client.ts'
import { backends } from '../../../support/backend.ts'
import { createProxy, type Proxy } from '../../../support/proxy.ts'
import { useServer } from '../../../support/server.ts'

describe.each(backends)('follow on $name', (backend) => {
  const server = useServer(backend)
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  describe.each(TRANSPORTS)('over $transport', (transport) => {
    /** A conversation of ada and bob, and clients of both; ada's is connected through the proxy. */
    async function start(address?: string) {
      const tenant = server.tenant()
      const id = await tenant.newConversation('ada', 'bob')
      const ada = clientOf(address ?? server.url, tenant.name, 'ada', transport)
      const bob = clientOf(server.url, tenant.name, 'bob', transport)
      closing.push(ada.close, bob.close)
      return { tenant, id, ada, bob: bob.conversation(id) }
    }
    async function proxied(): Promise<Proxy> {
      const proxy = await createProxy(server.url)
      closing.push(proxy.close)
      return proxy
    }
    /** Follows until the end of the test. Returns what was received, and waits for entries. */
    function followed(events: AsyncIterable<FollowedEvent>) {
      const received = newReceived()
      const following = (async () => {
        for await (const event of events) record(received, event)
      })()
      const reached = (seq: number) => vi.waitFor(() => expect(received.seqs.at(-1)).toBe(seq), { interval: 10 })
      return { received, following, reached }
    }
    const stoppable = (options: FollowOptions): FollowOptions => {
      const controller = new AbortController()
      closing.push(() => controller.abort())
      return { ...options, signal: controller.signal }
    }

    it('ends when the client is closed, and does not connect again', async () => {
      const { tenant, id, ada } = await start()
      const { following, reached } = followed(ada.conversation(id).follow({ afterSeq: 0 }))
      await reached((await tenant.lastSeq(id))!)
      await ada.close()
      await following
    })

    it('delivers every entry and delta once while connections are cut', async () => {
      const proxy = await proxied()
      const { tenant, id, ada, bob } = await start(proxy.url)
      const { received, reached } = followed(ada.conversation(id).follow(stoppable({ afterSeq: 0 })))
      await tenant.append(id, 'bob', 'one')
      await reached(3)
      const words = Array.from({ length: 30 }, (_, index) => `word ${index} 🙂 `)
      const written = bob.write(
        (async function* () {
          for (const [index, word] of words.entries()) {
            yield word
            if (index % 10 === 4) {
              await nextMutation()
              proxy.drop()
            }
            if (index === 18) {
              const written = nextMutation()
              await proxy.cut()
              await written
              await proxy.restore()
            }
          }
        })(),
      )
      await tenant.append(id, 'bob', 'meanwhile')
      const { id: turnId, text } = await written
      expect(text).toBe(words.join(''))
      await reached((await tenant.lastSeq(id))!)
      expect(received.seqs).toEqual(Array.from({ length: received.seqs.length }, (_, index) => index + 1))
      expect(received.final.get(turnId)).toBe(text)
      expect(received.pieces.get(turnId)).toBe(received.joined.get(turnId))
      // A follower that was away while the turn was written receives no delta.
      const joined = received.joined.get(turnId) ?? ''
      expect(joined).toBe(text.slice(0, joined.length))
    })

    it('delivers entries that are appended while it connects, without `afterSeq`', async () => {
      const { tenant, id, ada } = await start()
      const seen: number[] = []
      const events = ada.conversation(id).follow(stoppable({ types: ['TURN_APPENDED'] }))
      const first = events.next()
      let isDelivered = false
      void first.finally(() => (isDelivered = true))
      await vi.waitFor(async () => {
        await tenant.append(id, 'bob', 'again')
        expect(isDelivered).toBe(true)
      })
      const { value } = await first
      seen.push((value as FollowedEvent).seq!)
      expect(seen[0]).toBeGreaterThan(2)
      await events.return()
    })

    it('ends when the conversation is deleted, and fails with NOT_FOUND afterwards', async () => {
      const { tenant, id, ada } = await start()
      const { following, reached } = followed(ada.conversation(id).follow({ afterSeq: 0 }))
      await reached(2)
      await server.post(
        { query: `mutation { deleteConversation(input: { conversationId: "${id}" }) { __typename } }` },
        { 'x-tenant': tenant.name, 'x-actor': 'owner' },
      )
      await following
      const again = ada.conversation(id).follow({ afterSeq: 0 }).next()
      await expect(again).rejects.toMatchObject({ code: 'NOT_FOUND' } satisfies Partial<ColloquyError>)
    })

    it('ends when its signal is aborted, even while the server cannot be reached', async () => {
      const proxy = await proxied()
      const { id, ada } = await start(proxy.url)
      const controller = new AbortController()
      const states: string[] = []
      const onConnection = (state: string) => states.push(state)
      const { following } = followed(
        ada.conversation(id).follow({ afterSeq: 0, signal: controller.signal, onConnection }),
      )
      await vi.waitFor(() => expect(states).toEqual(['live']))
      await proxy.cut()
      await vi.waitFor(() => expect(states[1]).toBe('waiting'))
      controller.abort()
      await following
    })
  })
})
