// Makes the summarizers that conversations may name: the built-in one always, and the one that the settings name. Code that was
// not chosen is not loaded. None is tried out: what does not work delays summaries, nothing else.

import type { Embedder } from './ports/embedder.ts'
import { createExtractiveSummarizer, EXTRACTIVE } from './static/extractive-summarizer.ts'
import type { ChatSettings } from './openai/chat.ts'
import type { Summarizer } from './ports/summarizer.ts'
import type { TokenCounter } from '../text/tokens.ts'

type SummarizerSettings = { kind: 'extractive' } | ({ kind: 'openai' } & ChatSettings)

export type Summarizers = {
  /** The server's own: for conversations that name none, or one that is not there any more. */
  readonly standard: Summarizer
  /** All of them, by the model's name. */
  readonly byModel: ReadonlyMap<string, Summarizer>
  close(): Promise<void>
}

/**
 * `words`: the static embedder, which the built-in summarizer reads with. It stays the caller's to close. `promptsDir`:
 * where the operator's own prompts lie.
 */
export async function createSummarizers(
  settings: SummarizerSettings,
  words: Embedder,
  tokens: TokenCounter,
  promptsDir?: string,
): Promise<Summarizers> {
  const extractive = createExtractiveSummarizer(words, tokens)
  const byModel = new Map<string, Summarizer>([[EXTRACTIVE, extractive]])
  let standard = extractive
  if (settings.kind === 'openai') {
    const { createOpenAiSummarizer } = await import('./openai/summarizer.ts')
    standard = createOpenAiSummarizer({ ...settings, promptsDir }, tokens)
    byModel.set(standard.model, standard)
  }
  return {
    standard,
    byModel,
    async close() {
      for (const each of byModel.values()) await each.close()
    },
  }
}
