// The variables of automatic work: whether titles are automatic, and the numbers of turns that trigger summaries, the
// extraction of facts, and profiles. 0 disables the automatic work, but not the mutations for it.

import { z } from 'zod'
import { flag, whole } from '../runtime/fields.ts'

/** Maximum of each threshold, in turns. */
const MAX_TURNS = 100_000

export const automaticVariables = {
  AUTOMATIC_TITLES: flag('true').describe(
    'Whether conversations without a title get one from their first turns, unless their `automaticTitle` is false. The summarizer makes it.',
  ),
  THREAD_SUMMARY_EVERY_N: whole(0, MAX_TURNS, 0).describe(
    'Number of unsummarised turns of a conversation that triggers a summary; 0: never.',
  ),
  FACT_EXTRACTION_EVERY_N: whole(0, MAX_TURNS, 1).describe(
    'Number of turns of a conversation with `factExtraction` that triggers the extraction of facts. A larger number saves calls of a model; 0: never.',
  ),
  USER_SUMMARY_EVERY_N: whole(0, MAX_TURNS, 0).describe(
    'Number of turns of a user, in all conversations, that triggers a refresh of the profile. Unless 0, a change of the facts about the user triggers it too; 0: never.',
  ),
}

const environment = z.object(automaticVariables)

/** The settings of a parsed environment; thresholds are in turns, and 0 means never. */
export const automaticOf = (env: z.output<typeof environment>) => ({
  titles: env.AUTOMATIC_TITLES,
  threadSummaryEvery: env.THREAD_SUMMARY_EVERY_N,
  factExtractionEvery: env.FACT_EXTRACTION_EVERY_N,
  userSummaryEvery: env.USER_SUMMARY_EVERY_N,
})
