// The providers that make facts and profiles, as the domain uses them together.

import type { FactExtractor } from './fact-extractor.ts'
import type { FactJudge } from './fact-judge.ts'
import type { ProfileWriter } from './profile-writer.ts'

export type FactServices = {
  readonly extractor: FactExtractor
  /** Judges pairs that rules leave open; null leaves them open. */
  readonly judge: FactJudge | null
  /** null: profiles are merged by rule. */
  readonly profileWriter: ProfileWriter | null
  /** Ends what runs. May be called twice. */
  close(): Promise<void>
}
