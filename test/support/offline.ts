// Provider settings for tests: built-in providers, and no automatic jobs.

import type { DepsConfig } from '../../src/deps.ts'

/** None of the providers needs a model server or an API key. A threshold of 0 disables the automatic job. */
export const OFFLINE = {
  embedder: { kind: 'static' },
  summarizer: { kind: 'extractive' },
  extractor: { kind: 'rules' },
  promptsDir: undefined,
  redact: 'off',
  chatProviders: { echo: { kind: 'echo' } },
  automatic: { titles: false, threadSummaryEvery: 0, factExtractionEvery: 0, userSummaryEvery: 0 },
} satisfies Partial<DepsConfig>
