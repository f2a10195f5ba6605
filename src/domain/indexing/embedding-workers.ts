// The embedding workers of a process: one for each embedder at work.

import type { Embedder } from '../../providers/ports/embedder.ts'
import type { Platform } from '../platform.ts'
import { startEmbeddingWorker, type EmbeddingWorker } from './embed.ts'

export type EmbeddingWorkers = {
  /** Starts the workers that are missing and stops those of other embedders. */
  keep(embedders: ReadonlySet<Embedder>): Promise<void>
  /** These conversations have new entries. */
  nudge(conversationIds: Iterable<string>): void
  /** Has each look for conversations that no nudge named. */
  sweep(): void
  stop(): Promise<void>
}

/** @param idle called each time that an embedder has read all there is */
export function createEmbeddingWorkers(
  platform: Pick<Platform, 'db' | 'vectors' | 'log'>,
  idle: (embedder: Embedder) => void,
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
          startEmbeddingWorker(platform, embedder, () => idle(embedder)),
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
