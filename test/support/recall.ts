// Reads the text of recall results, and waits for the vectors of turns and facts, which are computed in the background.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Deps } from '../../src/domain/deps.ts'
import { embedFacts } from '../../src/domain/memory/fact/index/index-facts.ts'
import type { Fact } from '../../src/domain/memory/fact/fact.ts'
import { sentenceOf } from '../../src/domain/memory/fact/write.ts'
import type { Memory } from '../../src/domain/memory/recall/memory.ts'
import type { Turn } from '../../src/domain/turn/turn.ts'
import { SYSTEM } from '../../src/store/db/scope.ts'
import { readObjectVectors } from '../../src/store/sql/memory/fact/fact-vectors.ts'

const TIMEOUT_MS = 20_000

/**
 * Waits until each turn has a vector. Fails after TIMEOUT_MS, for example because a turn contains no word of the
 * embedder's vocabulary.
 */
export async function waitForTurnVectors(deps: Deps, turns: readonly Turn[]): Promise<void> {
  const embedder = deps.embedding.serving()
  const versions = turns.map(({ conversationId, position, seq }) => ({ conversationId, position, seq }))
  const query = new Float32Array(embedder.dimension)
  for (let waited = 0; ; waited += 20) {
    const { size } = await deps.vectors.compare(SYSTEM, { embedder: embedder.name, query }, versions)
    if (size === versions.length) return
    if (waited > TIMEOUT_MS) throw new Error(`${size} of ${versions.length} turns have a vector after ${waited} ms`)
    await sleep(20)
  }
}

/** Waits until the vectors of each fact are stored. Fails after TIMEOUT_MS. */
export async function waitForFactVectors(deps: Deps, facts: readonly Fact[]): Promise<void> {
  const ids = facts.map(({ id }) => id)
  for (let waited = 0; ; waited += 20) {
    // embedFacts also returns vectors that another transaction is still storing.
    await embedFacts(deps, SYSTEM, ids)
    const { size } = await readObjectVectors(deps.db, SYSTEM, deps.embedding.serving().name, ids)
    if (size === ids.length) return
    if (waited > TIMEOUT_MS) throw new Error(`${size} of ${ids.length} facts have a vector after ${waited} ms`)
    await sleep(20)
  }
}

/** Returns the text of a memory: the text of a turn or summary, or the statement of a fact. */
export const textOf = (memory: Memory): string =>
  memory.kind === 'TURN' ? memory.turn.text : memory.kind === 'FACT' ? sentenceOf(memory.fact) : memory.summary.content
