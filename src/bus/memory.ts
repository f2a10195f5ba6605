// The bus within one process. Receivers are called after publish has returned, in the order of publishing, so code that
// holds a lock or a transaction can publish without running its listeners.

import type { Bus } from './bus.ts'

type Receiver = { receive: (message: string) => unknown }

/** @param onFailure called for each receiver that throws or rejects; the others still get the message */
export function createMemoryBus(onFailure: (error: unknown) => void = () => {}): Bus {
  // Objects instead of the functions: a function subscribed twice is two subscribers.
  const topics = new Map<string, Set<Receiver>>()

  const deliver = async (receivers: Set<Receiver>, receiver: Receiver, message: string) => {
    // The receiver may have unsubscribed in the meantime.
    if (receivers.has(receiver)) await receiver.receive(message)
  }

  return {
    publish(topic, message) {
      const receivers = topics.get(topic)
      if (!receivers) return
      const present = [...receivers]
      // Not a microtask: receivers that publish to each other would keep the process from reading its sockets.
      setImmediate(() => {
        for (const receiver of present) deliver(receivers, receiver, message).catch(onFailure)
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
    /** Messages are never lost in one process. */
    onRestored: () => () => {},
    async ping() {},
    async close() {
      for (const receivers of topics.values()) receivers.clear()
      topics.clear()
    },
  }
}
