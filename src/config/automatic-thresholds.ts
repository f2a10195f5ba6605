// The settings of what the server does by itself, counted in turns: 0 leaves it to those who ask for it.

import { z } from 'zod'
import { whole } from '../fields.ts'

const MOST = 100_000

export const automaticVariables = {
  THREAD_SUMMARY_EVERY_N: whole(0, MOST, 0).describe(
    'Turns of a conversation after which they are summarised by themselves; 0: never.',
  ),
  FACT_EXTRACTION_EVERY_N: whole(0, MOST, 0).describe(
    'Turns of a conversation with `factExtraction` after which facts are taken from them; 0: never.',
  ),
  USER_SUMMARY_EVERY_N: whole(0, MOST, 0).describe(
    'Turns of a user, in all conversations, after which the profile is refreshed; 0: never.',
  ),
  DEDUP_EVERY_N: whole(0, MOST, 5).describe(
    'Turns of a user after which the facts about them are reconciled, where facts are taken by themselves; 0: never.',
  ),
}

const environment = z.object(automaticVariables)

/** After how many turns; 0 for never. */
export const automaticOf = (env: z.output<typeof environment>) => ({
  threadSummaryEvery: env.THREAD_SUMMARY_EVERY_N,
  factExtractionEvery: env.FACT_EXTRACTION_EVERY_N,
  userSummaryEvery: env.USER_SUMMARY_EVERY_N,
  dedupEvery: env.DEDUP_EVERY_N,
})
