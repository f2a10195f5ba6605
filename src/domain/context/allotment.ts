// Divides the budget among the sections of a context. Pure arithmetic on sizes.

import { minus, partOf, NOTHING, type Shares, type Size } from './budget.ts'

type Budget = {
  /** The whole budget. */
  all: Size
  /** The size of the messages that every context has, without the newest turn. */
  fixed: Size
  newest: Size
  shares: Shares
  /** Whether a share, and one message, is reserved for recalled turns. */
  withRecall: boolean
}

/** Sections that share the budget, in the order in which they are filled. */
type Section = 'profile' | 'facts' | 'summary' | 'pinned' | 'window'

/** The smaller of two sizes, measure by measure. */
const within = (a: Size, b: Size): Size =>
  Object.fromEntries(Object.keys(a).map((key) => [key, Math.min(a[key as keyof Size], b[key as keyof Size])])) as Size

/**
 * Returns the size limit of each section. A limit is for its section and all before it together, so a section may use
 * the space that earlier ones left. Summaries may use all space; only the window includes the newest turn.
 */
export function allot({ all, fixed, newest, shares, withRecall }: Budget): Record<Section, Size> {
  const space = minus(all, fixed)
  const besideNewest = minus(space, newest)
  const shared = withRecall ? minus(space, { ...NOTHING, messages: 1 }) : space
  const recalled = withRecall ? shares.recalled : 0
  const total = 1 - shares.recalled + recalled
  const upTo = (part: number) => partOf(shared, part / total)
  return {
    profile: within(upTo(shares.profile), besideNewest),
    facts: within(upTo(shares.profile + shares.facts), besideNewest),
    summary: besideNewest,
    pinned: within(upTo(shares.profile + shares.facts + shares.summary + shares.pinned), besideNewest),
    window: within(upTo(total - recalled), space),
  }
}
