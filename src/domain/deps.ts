// All dependencies of the domain functions: the platform, and the state that the domain keeps in this process. Only
// code outside the domain imports this type; each domain function declares only the dependencies that it uses.

import type { MoveFacts } from './conversation-visibility.ts'
import type { Feeds } from './event/feeds.ts'
import type { Inboxes } from './event/inboxes.ts'
import type { FactEmbedding } from './fact/embed.ts'
import type { RecalledFacts } from './fact/recalled.ts'
import type { Embedding } from './indexing/embedding.ts'
import type { Platform } from './platform.ts'
import type { Engine } from './run/engine.ts'
import type { IndexCache } from './recall/index-cache.ts'
import type { SizeCache } from './context/size-cache.ts'
import type { TurnGuesses } from './context/turn-guesses.ts'
import type { ScopeGuesses } from './recall/scope-guesses.ts'
import type { DeltaQueue } from './streaming-turn/delta-queue.ts'
import type { AppendQueue } from './turn/append-queue.ts'
import type { UpdateDerivatives } from './turn/written-edit.ts'

export type Deps = Platform
  & Engine & {
    appends: AppendQueue
    deltas: DeltaQueue
    updateDerivatives: UpdateDerivatives
    moveFacts: MoveFacts
    feeds: Feeds
    inboxes: Inboxes
    embedding: Embedding
    factEmbedding: FactEmbedding
    recalledFacts: RecalledFacts
    indexes: IndexCache
    scopes: ScopeGuesses
    sizes: SizeCache
    turnGuesses: TurnGuesses
  }
