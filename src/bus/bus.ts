// The port to other processes: wake-ups and ephemeral events. Messages may be lost at any time; the journal is the only
// truth. Adapters: memory.ts for one process, redis.ts for many.

export type Bus = {
  /**
   * Sends to all current subscribers of the topic, in this process too, in the order of the calls.
   * Returns at once and never throws; while the broker is away the message is lost.
   */
  publish(topic: string, message: string): void
  /** Resolves when the subscription is active, with a function that ends it. Each subscriber gets each message. */
  subscribe(topic: string, receive: (message: string) => void): Promise<() => Promise<void>>
  /** Calls back each time messages flow again after some may have been lost. Returns a function that stops it. */
  onRestored(callback: () => void): () => void
  /** Rejects when the broker does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
}
