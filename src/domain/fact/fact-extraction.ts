// The result of recording or extracting facts, as the viewer sees it: a fact that was stored before is new to a viewer who
// did not see it, so that no count tells of hidden facts.

import type { Platform } from '../platform.ts'
import type { Viewer } from '../view.ts'
import { getFacts, type Fact } from './fact.ts'

/** Result of recording or extracting facts. */
export type FactExtraction = {
  /** The facts that are new to the viewer. */
  facts: Fact[]
  /** Number of assertions that repeat a fact which the viewer sees; assertions that the viewer does not see are omitted. */
  exactDuplicatesSkipped: number
  /** Whether an extraction left unread turns; the same call continues with them. */
  hasMore: boolean
}

/**
 * Splits assertions into facts that are new to the viewer and repetitions.
 * @param asserted the fact of each assertion that the viewer sees, in order
 * @param known the facts that the viewer saw before
 */
export function newAndRepeated(
  asserted: readonly string[],
  known: ReadonlySet<string>,
): { ids: string[]; repetitions: number } {
  const ids = [...new Set(asserted)].filter((id) => !known.has(id))
  return { ids, repetitions: asserted.length - ids.length }
}

/** Returns the result for the viewer; arguments as in `newAndRepeated` and `FactExtraction`. */
export async function extractionOf(
  deps: Pick<Platform, 'db'>,
  viewer: Viewer,
  asserted: readonly string[],
  known: ReadonlySet<string>,
  hasMore: boolean,
): Promise<FactExtraction> {
  const { ids, repetitions } = newAndRepeated(asserted, known)
  const facts = await getFacts(deps, viewer, ids)
  return { facts: ids.flatMap((id) => facts.get(id) ?? []), exactDuplicatesSkipped: repetitions, hasMore }
}
