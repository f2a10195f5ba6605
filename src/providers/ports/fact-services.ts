// The providers of facts and profiles, which are chosen together.

import type { FactExtractor } from './fact-extractor.ts'
import type { FactJudge } from './fact-judge.ts'
import type { ProfileWriter } from './profile-writer.ts'

export type FactServices = {
  readonly extractor: FactExtractor
  /** Judges pairs that rules leave undecided; null leaves them undecided. */
  readonly judge: FactJudge | null
  /** Writes profiles; null merges them by rules. */
  readonly profileWriter: ProfileWriter | null
  /** Ends running calls. Idempotent. */
  close(): Promise<void>
}
