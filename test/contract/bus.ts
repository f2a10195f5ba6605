// The contract of every bus. It runs with a `publisher` and a `listener`, which are the same bus, or the buses of two
// processes.

import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Bus } from '../../src/bus/bus.ts'

/** Options of vi.waitFor for conditions that depend on other processes. */
export const WAIT_OPTIONS = { interval: 10 }

export function busContract(name: string, create: () => Promise<{ publisher: Bus; listener: Bus }>): void {
  describe(name, () => {
    let publisher: Bus
    let listener: Bus
    let topic: string
    beforeEach(async () => {
      ;({ publisher, listener } = await create())
      topic = `test-${randomUUID()}`
    })
    afterEach(async () => {
      await Promise.all([publisher.close(), listener.close()])
    })

    /** Resolves when all messages that the publisher published before have been delivered. */
    const settled = async () => {
      const arrived = vi.fn()
      const end = await listener.subscribe(`${topic}-last`, arrived)
      publisher.publish(`${topic}-last`, '')
      await vi.waitFor(() => expect(arrived).toHaveBeenCalled(), WAIT_OPTIONS)
      await end()
    }

    test('every subscriber of a topic receives its messages, and other subscribers do not', async () => {
      const [one, two, other] = [vi.fn(), vi.fn(), vi.fn()]
      await listener.subscribe(topic, one)
      await listener.subscribe(topic, two)
      await listener.subscribe(`${topic}-other`, other)
      publisher.publish(topic, 'hello')
      await settled()
      expect(one.mock.calls).toEqual([['hello']])
      expect(two.mock.calls).toEqual([['hello']])
      expect(other).not.toHaveBeenCalled()
    })

    test('the publisher receives its own messages', async () => {
      const receive = vi.fn()
      await publisher.subscribe(topic, receive)
      publisher.publish(topic, 'hello')
      await vi.waitFor(() => expect(receive.mock.calls).toEqual([['hello']]), WAIT_OPTIONS)
    })

    test('publish returns before any subscriber is called', async () => {
      const receive = vi.fn()
      await publisher.subscribe(topic, receive)
      publisher.publish(topic, 'hello')
      expect(receive).not.toHaveBeenCalled()
      await Promise.resolve()
      await vi.waitFor(() => expect(receive).toHaveBeenCalled(), WAIT_OPTIONS)
    })

    test('messages arrive in the order of publication', async () => {
      const received: string[] = []
      await listener.subscribe(topic, (message) => received.push(message))
      const messages = Array.from({ length: 500 }, (_, i) => String(i))
      for (const message of messages) publisher.publish(topic, message)
      await settled()
      expect(received).toEqual(messages)
    })

    test('the other receivers receive a message even if one receiver throws or rejects', async () => {
      const receive = vi.fn()
      await listener.subscribe(topic, () => {
        throw new Error('thrown by a test')
      })
      await listener.subscribe(topic, async () => {
        throw new Error('rejected by a test')
      })
      await listener.subscribe(topic, receive)
      publisher.publish(topic, 'one')
      publisher.publish(topic, 'two')
      await settled()
      expect(receive.mock.calls).toEqual([['one'], ['two']])
    })

    test('a function subscribed twice is called twice, and each unsubscribe ends one subscription', async () => {
      const receive = vi.fn()
      const end = await listener.subscribe(topic, receive)
      await listener.subscribe(topic, receive)
      publisher.publish(topic, 'to both')
      await settled()
      expect(receive).toHaveBeenCalledTimes(2)
      await end()
      await end()
      publisher.publish(topic, 'to one')
      await settled()
      expect(receive).toHaveBeenCalledTimes(3)
    })

    test('an ended subscription receives no more messages, not even those already published', async () => {
      const receive = vi.fn()
      const end = await listener.subscribe(topic, receive)
      publisher.publish(topic, 'on its way')
      const ending = end()
      publisher.publish(topic, 'too late')
      await ending
      await settled()
      expect(receive).not.toHaveBeenCalled()
    })

    test('a subscription receives all messages while other subscriptions start and end', async () => {
      const receive = vi.fn()
      const subscribeBriefly = async () => (await listener.subscribe(topic, () => {}))()
      for (let i = 0; i < 20; i++) {
        const briefOnes = [subscribeBriefly(), subscribeBriefly(), subscribeBriefly()]
        const end = await listener.subscribe(topic, receive)
        briefOnes.push(subscribeBriefly())
        publisher.publish(topic, String(i))
        await vi.waitFor(() => expect(receive).toHaveBeenLastCalledWith(String(i)), WAIT_OPTIONS)
        await Promise.all([...briefOnes, end()])
      }
      expect(receive).toHaveBeenCalledTimes(20)
    })

    test('a new subscriber receives messages even if the last one unsubscribes at the same time', async () => {
      const receive = vi.fn()
      const delays: (() => Promise<unknown> | void)[] = [
        () => {},
        () => Promise.resolve(),
        () => new Promise(setImmediate),
      ]
      let end = await listener.subscribe(topic, receive)
      for (let i = 0; i < 30; i++) {
        const ending = end()
        await delays[i % delays.length]?.()
        end = await listener.subscribe(topic, receive)
        publisher.publish(topic, String(i))
        await vi.waitFor(() => expect(receive).toHaveBeenLastCalledWith(String(i)), WAIT_OPTIONS)
        await ending
      }
    })

    test('a message of 512 Ki characters of any kind arrives unchanged', async () => {
      const receive = vi.fn()
      await listener.subscribe(topic, receive)
      const message = 'aé漢🙂\r\n"\u0000'.repeat(64 * 1024).slice(0, 512 * 1024 - 2)
      publisher.publish(topic, message)
      publisher.publish(topic, '')
      await vi.waitFor(() => expect(receive).toHaveBeenCalledTimes(2), WAIT_OPTIONS)
      // toBe on a boolean, because a failing toEqual would take minutes to print the difference of the texts.
      expect(receive.mock.calls[0]?.[0] === message).toBe(true)
      expect(receive.mock.calls[1]).toEqual([''])
    })

    test('ping resolves', async () => {
      await publisher.ping()
    })

    test('after close nothing arrives, and further calls do not throw', async () => {
      const receive = vi.fn()
      const end = await publisher.subscribe(topic, receive)
      await publisher.subscribe(topic, receive)
      publisher.publish(topic, 'on its way')
      await publisher.close()
      publisher.publish(topic, 'too late')
      await end()
      await publisher.close()
      if (listener !== publisher) await receivesOwnMessage(listener, topic)
      await new Promise(setImmediate)
      expect(receive).not.toHaveBeenCalled()
    })
  })
}

/** Resolves when the bus has received a message that it published itself. */
async function receivesOwnMessage(bus: Bus, topic: string): Promise<void> {
  const arrived = vi.fn()
  await bus.subscribe(`${topic}-last`, arrived)
  bus.publish(`${topic}-last`, '')
  await vi.waitFor(() => expect(arrived).toHaveBeenCalled(), WAIT_OPTIONS)
}
