// The port to other processes: wake-ups and passing events. It may lose anything at any time; whoever needs
// certainty reads the journal. Adapters: memory.ts for one process, redis.ts for many.

export type Bus = {
  /**
   * Sends to all who are subscribed to the topic at this moment, this process included, in the order of the calls.
   * Returns at once and never throws; while the broker is away the message is lost.
   */
  publish(topic: string, message: string): void
  /** Resolves once messages arrive; the result ends the subscription. Each subscriber of a topic gets each message. */
  subscribe(topic: string, receive: (message: string) => void): Promise<() => Promise<void>>
  /** Calls back each time messages may have been lost and flow again. The result ends that. */
  onRestored(callback: () => void): () => void
  /** Rejects when the broker does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
}
