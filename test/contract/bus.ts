// The contract of every bus. It runs with a speaker and a listener: the same bus twice, or the buses of two processes.

import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Bus } from '../../src/bus/bus.ts'

export const GENEROUS = { timeout: 10_000, interval: 10 }

export function busContract(name: string, create: () => Promise<{ speaker: Bus; listener: Bus }>): void {
  describe(name, () => {
    let speaker: Bus
    let listener: Bus
    let topic: string
    beforeEach(async () => {
      ;({ speaker, listener } = await create())
      topic = `test-${randomUUID()}`
    })
    afterEach(async () => {
      await Promise.all([speaker.close(), listener.close()])
    })

    /** Resolves when all earlier messages have arrived at their subscribers. */
    const settled = async () => {
      const arrived = vi.fn()
      const end = await listener.subscribe(`${topic}-last`, arrived)
      speaker.publish(`${topic}-last`, '')
      await vi.waitFor(() => expect(arrived).toHaveBeenCalled(), GENEROUS)
      await end()
    }

    test('a message reaches every subscriber of its topic and nobody else', async () => {
      const [one, two, other] = [vi.fn(), vi.fn(), vi.fn()]
      await listener.subscribe(topic, one)
      await listener.subscribe(topic, two)
      await listener.subscribe(`${topic}-other`, other)
      speaker.publish(topic, 'hello')
      await settled()
      expect(one.mock.calls).toEqual([['hello']])
      expect(two.mock.calls).toEqual([['hello']])
      expect(other).not.toHaveBeenCalled()
    })

    test('the speaker receives its own messages', async () => {
      const receive = vi.fn()
      await speaker.subscribe(topic, receive)
      speaker.publish(topic, 'hello')
      await vi.waitFor(() => expect(receive.mock.calls).toEqual([['hello']]), GENEROUS)
    })

    test('publish returns before any subscriber is called', async () => {
      const receive = vi.fn()
      await speaker.subscribe(topic, receive)
      speaker.publish(topic, 'hello')
      expect(receive).not.toHaveBeenCalled()
      await Promise.resolve()
      await vi.waitFor(() => expect(receive).toHaveBeenCalled(), GENEROUS)
    })

    test('messages arrive in the order they were published in', async () => {
      const heard: string[] = []
      await listener.subscribe(topic, (message) => heard.push(message))
      const said = Array.from({ length: 500 }, (_, i) => String(i))
      for (const message of said) speaker.publish(topic, message)
      await settled()
      expect(heard).toEqual(said)
    })

    test('a receiver that throws or rejects does not keep a message from the others', async () => {
      const receive = vi.fn()
      await listener.subscribe(topic, () => {
        throw new Error('thrown by a test')
      })
      await listener.subscribe(topic, async () => {
        throw new Error('rejected by a test')
      })
      await listener.subscribe(topic, receive)
      speaker.publish(topic, 'one')
      speaker.publish(topic, 'two')
      await settled()
      expect(receive.mock.calls).toEqual([['one'], ['two']])
    })

    test('one function subscribed twice is called twice, and unsubscribes once at a time', async () => {
      const receive = vi.fn()
      const end = await listener.subscribe(topic, receive)
      await listener.subscribe(topic, receive)
      speaker.publish(topic, 'to both')
      await settled()
      expect(receive).toHaveBeenCalledTimes(2)
      await end()
      await end()
      speaker.publish(topic, 'to one')
      await settled()
      expect(receive).toHaveBeenCalledTimes(3)
    })

    test('an ended subscription receives nothing more, not even messages already sent', async () => {
      const receive = vi.fn()
      const end = await listener.subscribe(topic, receive)
      speaker.publish(topic, 'on its way')
      const ending = end()
      speaker.publish(topic, 'too late')
      await ending
      await settled()
      expect(receive).not.toHaveBeenCalled()
    })

    test('a subscription keeps receiving while others come and go', async () => {
      const receive = vi.fn()
      const visit = async () => (await listener.subscribe(topic, () => {}))()
      for (let i = 0; i < 20; i++) {
        const visits = [visit(), visit(), visit()]
        const end = await listener.subscribe(topic, receive)
        visits.push(visit())
        speaker.publish(topic, String(i))
        await vi.waitFor(() => expect(receive).toHaveBeenLastCalledWith(String(i)), GENEROUS)
        await Promise.all([...visits, end()])
      }
      expect(receive).toHaveBeenCalledTimes(20)
    })

    test('a subscriber receives messages even if the previous last one leaves at the same time', async () => {
      const receive = vi.fn()
      const turns: (() => Promise<unknown> | void)[] = [
        () => {},
        () => Promise.resolve(),
        () => new Promise(setImmediate),
      ]
      let end = await listener.subscribe(topic, receive)
      for (let i = 0; i < 30; i++) {
        const ending = end()
        await turns[i % turns.length]?.()
        end = await listener.subscribe(topic, receive)
        speaker.publish(topic, String(i))
        await vi.waitFor(() => expect(receive).toHaveBeenLastCalledWith(String(i)), GENEROUS)
        await ending
      }
    })

    test('half a megabyte of any characters arrives unchanged', async () => {
      const receive = vi.fn()
      await listener.subscribe(topic, receive)
      const message = 'aé漢🙂\r\n"\u0000'.repeat(64 * 1024).slice(0, 512 * 1024 - 2)
      speaker.publish(topic, message)
      speaker.publish(topic, '')
      await vi.waitFor(() => expect(receive).toHaveBeenCalledTimes(2), GENEROUS)
      // Not toEqual on the text: its diff of a megabyte would take minutes.
      expect(receive.mock.calls[0]?.[0] === message).toBe(true)
      expect(receive.mock.calls[1]).toEqual([''])
    })

    test('ping resolves', async () => {
      await speaker.ping()
    })

    test('after closing nothing arrives, and every call is harmless', async () => {
      const receive = vi.fn()
      const end = await speaker.subscribe(topic, receive)
      await speaker.subscribe(topic, receive)
      speaker.publish(topic, 'on its way')
      await speaker.close()
      speaker.publish(topic, 'too late')
      await end()
      await speaker.close()
      if (listener !== speaker) await settledBy(listener, topic)
      await new Promise(setImmediate)
      expect(receive).not.toHaveBeenCalled()
    })
  })
}

/** Like `settled`, for a bus that is its own listener. */
async function settledBy(bus: Bus, topic: string): Promise<void> {
  const arrived = vi.fn()
  await bus.subscribe(`${topic}-last`, arrived)
  bus.publish(`${topic}-last`, '')
  await vi.waitFor(() => expect(arrived).toHaveBeenCalled(), GENEROUS)
}
