// The result of recording or extracting facts, as the viewer sees it. A fact that was already stored counts as new to a
// viewer who did not see it, so that no count reveals hidden facts.

import type { Platform } from '../platform.ts'
import type { Viewer } from '../view.ts'
import { getFacts, type Fact } from './fact.ts'

/** Result of recording or extracting facts. */
export type FactExtraction = {
  /** The facts that are new to the viewer. */
  facts: Fact[]
  /**
   * Number of assertions that repeat a fact that the viewer saw before the call, or an earlier assertion of the call.
   * Excludes assertions by turns that the viewer does not see.
   */
  exactDuplicatesSkipped: number
  /** Whether an extraction left unread turns; a repeated call continues with them. */
  hasMore: boolean
}

/**
 * Returns the ids of the facts that are new to the viewer, and the number of the other assertions.
 * @param asserted id of the fact of each assertion that the viewer sees, in order
 * @param seenBefore ids of the facts that the viewer saw before the call
 */
export function newAndRepeated(
  asserted: readonly string[],
  seenBefore: ReadonlySet<string>,
): { ids: string[]; repetitions: number } {
  const ids = [...new Set(asserted)].filter((id) => !seenBefore.has(id))
  return { ids, repetitions: asserted.length - ids.length }
}

/** Returns the result for the viewer. See `newAndRepeated` and `FactExtraction` for the arguments. */
export async function extractionOf(
  deps: Pick<Platform, 'db'>,
  viewer: Viewer,
  asserted: readonly string[],
  seenBefore: ReadonlySet<string>,
  hasMore: boolean,
): Promise<FactExtraction> {
  const { ids, repetitions } = newAndRepeated(asserted, seenBefore)
  const facts = await getFacts(deps, viewer, ids)
  return { facts: ids.flatMap((id) => facts.get(id) ?? []), exactDuplicatesSkipped: repetitions, hasMore }
}
