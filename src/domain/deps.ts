// All dependencies of the domain functions: the platform, and the state that the domain keeps in this process. Only
// code outside the domain imports this type; each domain function declares only the dependencies that it uses.

import type { Files } from './conversation/attachment/attachment.ts'
import type { MoveFacts } from './conversation/conversation-visibility.ts'
import type { Feeds } from './turn/journal/feeds.ts'
import type { Inboxes } from './turn/journal/inboxes.ts'
import type { FactEmbedding } from './memory/fact/index/index-facts.ts'
import type { RecalledFacts } from './memory/fact/index/recalled.ts'
import type { Embedding } from './memory/indexing/embedder-in-use.ts'
import type { Platform } from './kernel/platform.ts'
import type { Engine } from './agent/run/answer/engine.ts'
import type { IndexCache } from './memory/recall/index/index-cache.ts'
import type { SizeCache } from './memory/context/budget/size-cache.ts'
import type { TurnGuesses } from './memory/context/material/turn-guesses.ts'
import type { ScopeGuesses } from './memory/recall/scope-guesses.ts'
import type { DeltaQueue } from './turn/streaming/delta-queue.ts'
import type { AppendQueue } from './turn/append/append-queue.ts'
import type { UpdateDerivatives } from './turn/version.ts'

export type Deps = Platform
  & Engine & {
    appends: AppendQueue
    deltas: DeltaQueue
    updateDerivatives: UpdateDerivatives
    moveFacts: MoveFacts
    files: Files
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
