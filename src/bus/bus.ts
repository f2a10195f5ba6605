// The port for messages between processes: announcements of new entries, and ephemeral events. Any message may be lost;
// only the journal is complete. Adapters: memory.ts for one process, redis.ts for several.

export type Bus = {
  /**
   * Sends to all current subscribers of the topic, including those in this process, in the order of the calls.
   * Returns immediately and never throws. While the broker cannot be reached, messages are lost.
   */
  publish(topic: string, message: string): void
  /**
   * Calls `receive` for each message of the topic. Resolves with a function that unsubscribes, once the subscription is
   * active. While the broker cannot be reached, resolves immediately; the subscription then becomes active before
   * `onRestored` calls back.
   */
  subscribe(topic: string, receive: (message: string) => void): Promise<() => Promise<void>>
  /**
   * Calls `callback` each time delivery resumes after messages may have been lost. Returns a function that removes the
   * callback.
   */
  onRestored(callback: () => void): () => void
  /** Rejects if the broker cannot be reached or does not reply in time. */
  ping(): Promise<void>
  close(): Promise<void>
}
