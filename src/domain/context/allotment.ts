// Divides the budget among the sections of a context. Pure arithmetic on sizes.

import { minus, partOf, NOTHING, type Shares, type Size } from './budget.ts'

type Budget = {
  /** The whole budget. */
  all: Size
  /** The size of the system prompt, the chosen instructions and the opening message (`openingSize`). */
  fixed: Size
  /** The size of the newest turn, with the tool call and results that belong to it. */
  newest: Size
  shares: Shares
  /** Whether to reserve a share of the budget, and one message, for recalled turns. */
  withRecall: boolean
}

/** Sections that share the budget, in the order in which they are filled. */
type Section = 'profile' | 'facts' | 'summary' | 'pinned' | 'window'

/** Returns the smaller value of each measure. */
const smaller = (a: Size, b: Size): Size =>
  Object.fromEntries(Object.keys(a).map((key) => [key, Math.min(a[key as keyof Size], b[key as keyof Size])])) as Size

/**
 * Returns the size limit of each section. A limit applies to the section and all earlier sections together, so a
 * section may use the space that earlier sections left. The limit of the summaries is the whole space except the newest
 * turn. Only the limit of the window includes the newest turn.
 */
export function allot({ all, fixed, newest, shares, withRecall }: Budget): Record<Section, Size> {
  const space = minus(all, fixed)
  const withoutNewest = minus(space, newest)
  const shared = withRecall ? minus(space, { ...NOTHING, messages: 1 }) : space
  const recalled = withRecall ? shares.recalled : 0
  // Without recall, the share of recalled turns is divided among the other sections in proportion to their shares.
  const total = 1 - shares.recalled + recalled
  const upTo = (part: number) => partOf(shared, part / total)
  return {
    profile: smaller(upTo(shares.profile), withoutNewest),
    facts: smaller(upTo(shares.profile + shares.facts), withoutNewest),
    summary: withoutNewest,
    pinned: smaller(upTo(shares.profile + shares.facts + shares.summary + shares.pinned), withoutNewest),
    window: smaller(upTo(total - recalled), space),
  }
}
