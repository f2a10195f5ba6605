// Divides the budget among the sections of a context, in two passes: each section gets what it needs up to its share;
// then sections that need more get what the others left, in order of value. Pure arithmetic on sizes.

import { larger, minus, NOTHING, partOf, plus, smaller, type Shares, type Size } from './budget.ts'

/**
 * The sections that share the budget, the most valuable per token first. `facts` precede the turns, `relevant` facts
 * follow them. `recent` is last, because a conversation may always fill it.
 */
const SECTIONS = ['relevant', 'profile', 'facts', 'pinned', 'recalled', 'summary', 'recent'] as const
export type Section = (typeof SECTIONS)[number]

type Budget = {
  /** The space for all sections. */
  space: Size
  /** The size of the newest turn, with the tool call and results that belong to it. It counts as recent. */
  newest: Size
  shares: Shares
  /** What each section needs, without the newest turn; NOTHING for a section that is not requested. */
  needs: Record<Section, Size>
  /** What the summaries and the relevant facts need at least. They get it before all other sections. */
  least: Record<'summary' | 'relevant', Size>
  /** Whether all recent turns are to be included, if they fit beside the shares of the other sections. */
  wholeFirst: boolean
}

const positive = (size: Size): Size => larger(size, NOTHING)

/**
 * Returns the space of each section; `recent` includes the newest turn. The spaces do not exceed `space` together, and
 * depend on no section's content but through `needs`.
 */
export function allot({ space, newest, shares, needs, least, wholeFirst }: Budget): Record<Section, Size> {
  const given = Object.fromEntries(SECTIONS.map((section) => [section, NOTHING])) as Record<Section, Size>
  let left = positive(minus(space, newest))
  const give = (section: Section, upTo: Size) => {
    const more = smaller(positive(minus(smaller(needs[section], upTo), given[section])), left)
    given[section] = plus(given[section], more)
    left = minus(left, more)
  }
  for (const section of ['summary', 'relevant'] as const) give(section, least[section])
  for (const section of SECTIONS) {
    const share = partOf(space, shares[section])
    give(section, section === 'recent' ? positive(minus(share, newest)) : share)
  }
  const order = wholeFirst ? (['profile', 'pinned', 'recent', ...SECTIONS] as const) : SECTIONS
  for (const section of order) if (section !== 'facts') give(section, needs[section])
  return { ...given, recent: plus(given.recent, newest) }
}

/** Number of steps in which the need of the recent turns is counted, as parts of the space. */
const STEPS = 16

/**
 * Returns a need rounded up to a multiple of a fraction of the space, so that a turn that is appended rarely changes the
 * spaces of the sections that precede it.
 */
export function inStepsOf(space: Size, need: Size): Size {
  const step = partOf(space, 1 / STEPS)
  return Object.fromEntries(
    Object.entries(need).map(([measure, value]) => {
      const size = step[measure as keyof Size]
      return [measure, measure === 'messages' || !(size > 0) ? value : Math.ceil(value / size) * size]
    }),
  ) as Size
}
