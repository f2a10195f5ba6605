// The bus within one process. Receivers are called after publish() has returned, in the order of publishing, so
// publish() may be called under a lock or inside a transaction without running a receiver there.

import type { Bus } from './bus.ts'

type Receiver = { receive: (message: string) => unknown }

/** @param onFailure called for each receiver that throws or rejects; the other receivers still get the message */
export function createMemoryBus(onFailure: (error: unknown) => void = () => {}): Bus {
  // Each subscription is an object, so that a function subscribed twice receives each message twice.
  const topics = new Map<string, Set<Receiver>>()

  const deliver = async (receivers: Set<Receiver>, receiver: Receiver, message: string) => {
    // The receiver may have unsubscribed since the message was published.
    if (receivers.has(receiver)) await receiver.receive(message)
  }

  return {
    publish(topic, message) {
      const receivers = topics.get(topic)
      if (!receivers) return
      const current = [...receivers]
      // setImmediate, because receivers that publish to each other in microtasks would block socket I/O.
      setImmediate(() => {
        for (const receiver of current) deliver(receivers, receiver, message).catch(onFailure)
      })
    },
    async subscribe(topic, receive) {
      const receiver = { receive }
      const receivers = topics.get(topic) ?? new Set()
      topics.set(topic, receivers.add(receiver))
      return async () => {
        receivers.delete(receiver)
        if (receivers.size === 0 && topics.get(topic) === receivers) topics.delete(topic)
      }
    },
    /** Never calls back, because no message is lost within one process. */
    onRestored: () => () => {},
    async ping() {},
    async close() {
      for (const receivers of topics.values()) receivers.clear()
      topics.clear()
    },
  }
}
