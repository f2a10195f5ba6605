// Provider settings of a test world: built-in providers, and no automatic jobs.

import type { DepsConfig } from '../../src/deps.ts'

/** No setting needs a model server or an API key; a threshold of 0 turns the automatic job off. */
export const OFFLINE = {
  embedder: { kind: 'static' },
  summarizer: { kind: 'extractive' },
  extractor: { kind: 'rules' },
  promptsDir: undefined,
  redact: 'off',
  chatProviders: { echo: { kind: 'echo' } },
  automatic: { titles: false, threadSummaryEvery: 0, factExtractionEvery: 0, userSummaryEvery: 0, dedupEvery: 0 },
} satisfies Partial<DepsConfig>
