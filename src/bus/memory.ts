// The bus within one process. A receiver is called after publish has returned, and in the order of publishing, so code
// under a lock or in a transaction can publish without running its listeners.

import type { Bus } from './bus.ts'

type Receiver = { receive: (message: string) => unknown }

/** `onFailure` hears of receivers that throw or reject; the others get the message all the same. */
export function createMemoryBus(onFailure: (error: unknown) => void = () => {}): Bus {
  // Objects, not the functions: one function subscribed twice is two subscribers.
  const topics = new Map<string, Set<Receiver>>()

  const deliver = async (receivers: Set<Receiver>, receiver: Receiver, message: string) => {
    // Who has left in between gets nothing more.
    if (receivers.has(receiver)) await receiver.receive(message)
  }

  return {
    publish(topic, message) {
      const receivers = topics.get(topic)
      if (!receivers) return
      const present = [...receivers]
      // Not a microtask: receivers that publish in answer to each other would never let the process read a socket.
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
    /** Nothing is ever lost here. */
    onRestored: () => () => {},
    async ping() {},
    async close() {
      for (const receivers of topics.values()) receivers.clear()
      topics.clear()
    },
  }
}
