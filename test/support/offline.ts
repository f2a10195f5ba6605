// What a world needs of the settings that name providers: what is built in, and nothing by itself.

import type { DepsConfig } from '../../src/deps.ts'

/** No model, no key, and nothing by itself. */
export const OFFLINE = {
  embedder: { kind: 'static' },
  summarizer: { kind: 'extractive' },
  extractor: { kind: 'rules' },
  promptsDir: undefined,
  redactFacts: false,
  automatic: { threadSummaryEvery: 0, factExtractionEvery: 0, userSummaryEvery: 0, dedupEvery: 0 },
} satisfies Partial<DepsConfig>
