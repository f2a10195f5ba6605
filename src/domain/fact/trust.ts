// Defines the trust of facts by their source. A derived fact is never more trusted than the facts it was made from. A
// less trusted fact never supersedes a more trusted one: both are kept.

/** The kind of participant who stated a fact. */
export type Source = 'HUMAN' | 'AGENT' | 'TOOL'

/** Returns the source that a turn's role implies for any kind of actor; null for USER and SYSTEM, which imply none. */
export const kindOfRole = (role: 'SYSTEM' | 'USER' | 'ASSISTANT' | 'TOOL'): Source | null =>
  role === 'ASSISTANT' ? 'AGENT' : role === 'TOOL' ? 'TOOL' : null

/** Trust by source; greater is more trusted. A tool may return text by anyone, and an agent may repeat that text. */
export const TRUST: Readonly<Record<Source, number>> = { TOOL: 0, AGENT: 1, HUMAN: 2 }

/** Minimum trust of facts that are stated as true; facts below it are quoted as claims. */
export const MIN_TRUSTED = TRUST.HUMAN

/** Returns the less trusted of two sources. Null is no source: the other one is returned. */
export const lessTrusted = (a: Source | null, b: Source | null): Source | null =>
  a === null || b === null ? (a ?? b) : TRUST[a] < TRUST[b] ? a : b
