// Dependencies of the functions that extract, record, reconcile and audit facts.

import type { Embedding } from '../indexing/embedding.ts'
import type { Platform } from '../platform.ts'
import type { FactEmbedding } from './embed.ts'

export type FactDeps = Platform & { embedding: Embedding; factEmbedding: FactEmbedding }
