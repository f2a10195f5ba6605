// Creates the token counter and the providers other than the embedder. Some of them share the token counter and the
// static embedder.

import { createTokenCounter } from '../text/tokens.ts'
import { createProviders, type ChatProviderSettings, type GivenProvider } from './chat-registry.ts'
import type { Embedder } from './ports/embedder.ts'
import {
  createFactServices,
  createSummarizers,
  type EmbedderSettings,
  type FactSettings,
  type SummarizerSettings,
} from './registry.ts'
import { createReranking, type RerankerSettings } from './reranker-registry.ts'
import { createStaticEmbedder } from './static/embedder.ts'
import type { ProviderTestLog } from './test-provider.ts'

export type ServiceSettings = {
  embedder: EmbedderSettings
  summarizer: SummarizerSettings
  extractor: FactSettings
  promptsDir: string | undefined
  reranker?: RerankerSettings | undefined
  chatProviders?: Readonly<Record<string, ChatProviderSettings>> | undefined
  providers?: Readonly<Record<string, GivenProvider>> | undefined
}

/**
 * Creates these objects, and adds a cleanup step for each. `embedder` is the selected embedder.
 * @throws TypeError for invalid names of chat providers
 * @throws CallFailed if the operator must correct a setting of the reranker
 */
export async function createServices(
  settings: ServiceSettings,
  embedder: Embedder,
  log: ProviderTestLog,
  cleanup: { add(step: () => unknown): void },
) {
  const reranking = await createReranking(settings.reranker ?? { kind: 'off' }, log)
  if (reranking) cleanup.add(() => reranking.reranker.close())
  const tokens = createTokenCounter()
  cleanup.add(() => tokens.close())
  const words = settings.embedder.kind === 'static' ? embedder : await createStaticEmbedder()
  if (words !== embedder) cleanup.add(() => words.close())
  const shared = { words, tokens, promptsDir: settings.promptsDir }
  const summarizers = await createSummarizers(settings.summarizer, shared)
  cleanup.add(() => summarizers.close())
  const factServices = await createFactServices(settings.extractor, shared)
  cleanup.add(() => factServices.close())
  const providers = await createProviders(settings.chatProviders ?? {}, settings.providers)
  cleanup.add(() => providers.close())
  return { tokens, reranking, summarizers, factServices, providers }
}
