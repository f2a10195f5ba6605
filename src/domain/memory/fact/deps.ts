// Dependencies of the functions that extract, record, reconcile and audit facts.

import type { Embedding } from '../indexing/embedder-in-use.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { FactEmbedding } from './index/index-facts.ts'

export type FactDeps = Platform & { embedding: Embedding; factEmbedding: FactEmbedding }
