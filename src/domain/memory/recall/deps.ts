// Dependencies of recall.

import type { RecalledFacts } from '../fact/index/recalled.ts'
import type { Embedding } from '../indexing/embedder-in-use.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { IndexCache } from './index/index-cache.ts'
import type { ScopeGuesses } from './scope-guesses.ts'

export type RecallDeps = Platform & {
  embedding: Embedding
  recalledFacts: RecalledFacts
  indexes: IndexCache
  scopes: ScopeGuesses
}
