// How far a fact is trusted, by its source. A derived fact is never more trusted than the facts it was made from, and a
// less trusted fact never supersedes a more trusted one: it is kept beside it as a claim.

/** The kind of participant that stated a fact. */
export type Source = 'HUMAN' | 'AGENT' | 'TOOL'

/** The source implied by a turn's role, whatever the kind of its actor; null for USER and SYSTEM, which imply none. */
export const kindOfRole = (role: 'SYSTEM' | 'USER' | 'ASSISTANT' | 'TOOL'): Source | null =>
  role === 'ASSISTANT' ? 'AGENT' : role === 'TOOL' ? 'TOOL' : null

/** Greater is more trusted. A tool may return text by anyone, and an agent may repeat it. */
export const TRUST: Readonly<Record<Source, number>> = { TOOL: 0, AGENT: 1, HUMAN: 2 }

/** Facts with less trust are shown as quoted claims. */
export const BELIEVED = TRUST.HUMAN

/** Returns the less trusted of two sources; null means no source. */
export const lessTrusted = (a: Source | null, b: Source | null): Source | null =>
  a === null || b === null ? (a ?? b) : TRUST[a] < TRUST[b] ? a : b
