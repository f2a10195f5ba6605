// How far a fact is believed: as far as who said it. A derived fact is never more trusted than what it was made of, and
// what is less trusted never displaces what is more trusted; it stands beside it as somebody's claim.

/** Who said it, as participants are kinds of. */
export type Source = 'HUMAN' | 'AGENT' | 'TOOL'

/** Whose words a turn in that role has, whoever sent it; null for people and whoever gives instructions. */
export const kindOfRole = (role: 'SYSTEM' | 'USER' | 'ASSISTANT' | 'TOOL'): Source | null =>
  role === 'ASSISTANT' ? 'AGENT' : role === 'TOOL' ? 'TOOL' : null

/** Greater is more trusted. What a tool returns may be anybody's text; an agent may have read it. */
export const TRUST: Readonly<Record<Source, number>> = { TOOL: 0, AGENT: 1, HUMAN: 2 }

/** Below this a fact is shown as a quoted claim, not as what is so. */
export const BELIEVED = TRUST.HUMAN

/** The one of two who had a part in it that is to be believed less; null stands for nobody. */
export const lessTrusted = (a: Source | null, b: Source | null): Source | null =>
  a === null || b === null ? (a ?? b) : TRUST[a] < TRUST[b] ? a : b
