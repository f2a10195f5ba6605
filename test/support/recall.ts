// Waiting for the vectors of turns, which come by and by.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Deps } from '../../src/domain/deps.ts'
import type { Turn } from '../../src/domain/turn/turn.ts'

const PATIENCE_MS = 20_000

/** Resolves when each of those turns has its vector: all must have words that the embedder knows. */
export async function embedded(deps: Deps, turns: readonly Turn[]): Promise<void> {
  const embedder = deps.embedding.searched()
  const places = turns.map(({ conversationId, rootSeq, seq }) => ({ room: conversationId, rootSeq, seq }))
  const any = new Float32Array(embedder.dimension)
  for (let waited = 0; ; waited += 20) {
    const { size } = await deps.vectors.of(embedder.name, places, any)
    if (size === places.length) return
    if (waited > PATIENCE_MS) throw new Error(`${size} of ${places.length} turns have a vector after ${waited} ms`)
    await sleep(20)
  }
}
