// How the budget is divided among the sections of a context. Pure arithmetic on sizes.

import { minus, partOf, NOTHING, type Shares, type Size } from './budget.ts'

type Budget = {
  /** The whole budget. */
  all: Size
  /** The size of the messages that every context has, the newest turn aside. */
  fixed: Size
  newest: Size
  shares: Shares
  /** Whether a part is kept for recalled turns, with its message. */
  withRecall: boolean
}

/** Sections that share the budget, in the order in which they are chosen. */
type Section = 'profile' | 'facts' | 'summary' | 'pinned' | 'window'

/** The smaller of two spaces, measure by measure. */
const within = (a: Size, b: Size): Size =>
  Object.fromEntries(Object.keys(a).map((key) => [key, Math.min(a[key as keyof Size], b[key as keyof Size])])) as Size

/**
 * The size up to which the sections may grow: each limit is for its section and all before it together, so a section may
 * use what the ones before it left. Summaries may use all; only the window includes the newest turn.
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
