// The providers of facts and profiles. One setting selects all of them.

import type { FactExtractor } from './fact-extractor.ts'
import type { FactJudge } from './fact-judge.ts'
import type { ProfileWriter } from './profile-writer.ts'

export type FactServices = {
  readonly extractor: FactExtractor
  /** Judges the pairs of facts that the rules leave undecided; null to leave them undecided. */
  readonly judge: FactJudge | null
  /** Writes profiles; null if rules merge facts into profiles. */
  readonly profileWriter: ProfileWriter | null
  /** Closes all these providers. Idempotent. */
  close(): Promise<void>
}
