// Dependencies of recall.

import type { RecalledFacts } from '../fact/recalled.ts'
import type { Embedding } from '../indexing/embedding.ts'
import type { Platform } from '../platform.ts'
import type { IndexCache } from './index-cache.ts'
import type { ScopeGuesses } from './scope-guesses.ts'

export type RecallDeps = Platform & {
  embedding: Embedding
  recalledFacts: RecalledFacts
  indexes: IndexCache
  scopes: ScopeGuesses
}
