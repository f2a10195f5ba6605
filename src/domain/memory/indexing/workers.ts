// Starts and stops the embedding workers of a process, one per embedder in use.

import type { Embedder } from '../../../providers/ports/embedder.ts'
import type { Platform } from '../../kernel/platform.ts'
import { startEmbeddingWorker, type EmbeddingWorker } from './worker.ts'

export type EmbeddingWorkers = {
  /** Starts a worker for each of the embedders that has none, and stops the workers of all other embedders. */
  keep(embedders: ReadonlySet<Embedder>): Promise<void>
  /** Notifies the workers of new entries in these conversations. */
  nudge(conversationIds: Iterable<string>): void
  /** Makes each worker search for conversations with unread turns for which it was not nudged. */
  sweep(): void
  /** Stops all workers and resolves once their claims are released. */
  stop(): Promise<void>
}

/** @param onIdle called with an embedder each time its worker has no conversation left to read */
export function createEmbeddingWorkers(
  platform: Pick<Platform, 'clock' | 'db' | 'pool' | 'vectors' | 'log'>,
  onIdle: (embedder: Embedder) => void,
): EmbeddingWorkers {
  const workers = new Map<string, EmbeddingWorker>()
  return {
    async keep(embedders) {
      for (const [name, worker] of workers) {
        if (embedders.has(worker.embedder)) continue
        workers.delete(name)
        await worker.stop()
      }
      for (const embedder of embedders) {
        if (workers.has(embedder.name)) continue
        workers.set(
          embedder.name,
          startEmbeddingWorker(platform, embedder, () => onIdle(embedder)),
        )
      }
    },
    nudge(conversationIds) {
      const ids = [...conversationIds]
      for (const worker of workers.values()) worker.nudge(ids)
    },
    sweep() {
      for (const worker of workers.values()) worker.sweep()
    },
    async stop() {
      await Promise.all([...workers.values()].map((worker) => worker.stop()))
    },
  }
}
