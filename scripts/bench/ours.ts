// Our side of a comparison in one process: the domain on Postgres and Redis, with the embedder that both sides use.

import type { Deps } from '../../src/domain/deps.ts'
import { buildContext } from '../../src/domain/memory/context/build.ts'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { createEmbedding } from '../../src/domain/memory/indexing/embedder-in-use.ts'
import { recall } from '../../src/domain/memory/recall/recall.ts'
import { appendTurn, appendTurns } from '../../src/domain/turn/append/append.ts'
import { pageOfTurns } from '../../src/domain/turn/history.ts'
import { readEmbedderProgress } from '../../src/store/sql/memory/indexing/embedders.ts'
import { vectorIndexes } from '../../src/store/vectors/vector-index.ts'
import { openDeps, type Services } from './services.ts'
import { textEmbedder } from './text-embedder.ts'

const viewer = { tenant: 'default', actor: 'ada' }

/** Number of turns per call of a bulk append. */
const BATCH = 500
const POLL_MS = 5
/** Interval of the sweeps that build indexes of vectors, ms; below the `quietMs` of `settle`. */
const SWEEP_MS = 1_000

export type Ours = {
  deps: Deps
  createConversation(owner: string): Promise<string>
  append(conversationId: string, text: string): Promise<void>
  appendAll(conversationId: string, texts: readonly string[]): Promise<void>
  /** Waits until every turn has a vector. */
  untilEmbedded(): Promise<void>
  /** Each read returns the number of turns it found. */
  recall(conversationId: string, query: string, scope: 'CONVERSATION' | 'OWNER'): Promise<number>
  context(conversationId: string, query: string): Promise<number>
  page(conversationId: string): Promise<number>
  close(): Promise<void>
}

/**
 * @param embeds whether turns are embedded after they are appended
 * @param settings variables of the environment
 */
export async function openOurs(
  { databaseUrl, redisUrl }: Services,
  embeds: boolean,
  settings: Record<string, string> = {},
): Promise<Ours> {
  const { deps, close } = await openDeps(databaseUrl, redisUrl, settings)
  await deps.embedding.stop()
  const embedding = createEmbedding(
    { ...deps, embedder: textEmbedder },
    { find: async () => null, indexes: vectorIndexes(deps.db, databaseUrl), sweepMs: SWEEP_MS },
  )
  // The platform notifies the embedding object that createDeps returned, so change that object.
  Object.assign(deps.embedding, embedding)
  if (embeds) await embedding.start()
  return {
    deps,
    close,
    async createConversation(owner) {
      const participants = [{ actor: 'ada' }, { actor: 'scout', kind: 'AGENT' as const }]
      const compaction = { strategy: 'NEVER' as const }
      const input = { owner, participants, compaction, automaticTitle: false }
      return (await createConversation(deps, viewer, input)).conversation.id
    },
    async append(conversationId, content) {
      await appendTurn(deps, viewer, { conversationId, turn: { role: 'USER', content } })
    },
    async appendAll(conversationId, texts) {
      for (let from = 0; from < texts.length; from += BATCH) {
        const turns = texts
          .slice(from, from + BATCH)
          .map((content, at) =>
            at % 2 ? { actor: 'scout', role: 'ASSISTANT' as const, content } : { role: 'USER' as const, content },
          )
        await appendTurns(deps, viewer, { conversationId, turns })
      }
    },
    async untilEmbedded() {
      // Not `deps.embedding.progress`, which returns the same number for a second.
      while ((await readEmbedderProgress(deps.db, textEmbedder.name)).remaining > 0)
        await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    },
    async recall(conversationId, query, scope) {
      const { hits } = await recall(deps, viewer, { conversationId, query, scope, k: 10, kinds: ['TURN'] })
      return hits.length
    },
    async context(conversationId, query) {
      const semanticRecall = { k: 10 }
      const input = { conversationId, query, tokenBudget: 8_000, recentTurns: 20, semanticRecall }
      return (await buildContext(deps, viewer, input)).messages.length
    },
    async page(conversationId) {
      const pages = await pageOfTurns(deps, viewer, [conversationId], { last: 50 })
      return [...pages.values()][0]!.items.length
    },
  }
}
