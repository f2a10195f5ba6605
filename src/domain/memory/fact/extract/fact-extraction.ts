// Builds the result of recording or extracting facts, as the viewer sees it. A fact that was already stored counts as
// new to a viewer who did not see it, so that no count reveals hidden facts.

import type { Platform } from '../../../kernel/platform.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { getFacts, type Fact } from '../fact.ts'

export type FactExtraction = {
  /** The facts that are new to the viewer. */
  facts: Fact[]
  /**
   * Number of assertions that repeat an earlier assertion of the call, or a fact visible to the viewer before the call.
   * Excludes assertions from turns that the viewer does not see.
   */
  exactDuplicatesSkipped: number
  /** Whether an extraction left turns unread; a repeated call continues with them. False for recorded facts. */
  hasMore: boolean
}

/**
 * Returns the ids of the asserted facts that are new to the viewer, and the number of assertions that repeat a fact.
 * @param asserted the fact id of each assertion that the viewer sees, in order; an id may occur several times
 * @param seenBefore ids of the facts that the viewer saw before the call
 * @internal Exported for tests.
 */
export function newAndRepeated(
  asserted: readonly string[],
  seenBefore: ReadonlySet<string>,
): { ids: string[]; repetitions: number } {
  const ids = [...new Set(asserted)].filter((id) => !seenBefore.has(id))
  return { ids, repetitions: asserted.length - ids.length }
}

/** What a call asserted. See `newAndRepeated` for `asserted` and `seenBefore`, and FactExtraction for `hasMore`. */
type Asserted = { asserted: readonly string[]; seenBefore: ReadonlySet<string>; hasMore: boolean }

/** Returns the result for the viewer. */
export async function extractionOf(
  deps: Pick<Platform, 'db'>,
  viewer: Viewer,
  { asserted, seenBefore, hasMore }: Asserted,
): Promise<FactExtraction> {
  const { ids, repetitions } = newAndRepeated(asserted, seenBefore)
  const facts = await getFacts(deps, viewer, ids)
  return { facts: ids.flatMap((id) => facts.get(id) ?? []), exactDuplicatesSkipped: repetitions, hasMore }
}
