// Defines the trust of facts. A person is trusted most about itself, then other people, then agents, then tools. A
// derived fact is never more trusted than the facts it was made from. A less trusted fact never supersedes a more
// trusted one: both are kept, and the less trusted one is quoted as a claim.

/** The kind of participant who stated a fact. */
export type Source = 'HUMAN' | 'AGENT' | 'TOOL'

/** Returns the source that a turn's role implies for any kind of actor; null for USER and SYSTEM, which imply none. */
export const kindOfRole = (role: 'SYSTEM' | 'USER' | 'ASSISTANT' | 'TOOL'): Source | null =>
  role === 'ASSISTANT' ? 'AGENT' : role === 'TOOL' ? 'TOOL' : null

/** Trust by source; greater is more trusted. A tool may return text by anyone, and an agent may repeat that text. */
export const TRUST: Readonly<Record<Source, number>> = { TOOL: 0, AGENT: 1, HUMAN: 2 }

/** Trust of a person's statement about itself. */
const OWN = 3

/** The fields of a fact that determine its trust. `assertedBy` is null if unknown. */
export type Assertion = { userId: string | null; saidBy: Source; assertedBy: string | null }

/** Returns the trust of a fact; greater is more trusted. */
export const trustOf = ({ userId, saidBy, assertedBy }: Assertion): number =>
  saidBy === 'HUMAN' && userId !== null && assertedBy === userId ? OWN : TRUST[saidBy]

/** Whether a fact is a person's statement about itself. */
export const isOwn = (fact: Assertion): boolean => trustOf(fact) === OWN

/**
 * Whether a fact is stated as true: a person's statement about itself or about no user. Other facts are quoted as
 * claims by their authors.
 */
export const isStated = (fact: Assertion): boolean => (fact.userId === null ? fact.saidBy === 'HUMAN' : isOwn(fact))

/** Returns the less trusted of two sources. Null is no source: the other one is returned. */
export const lessTrusted = (a: Source | null, b: Source | null): Source | null =>
  a === null || b === null ? (a ?? b) : TRUST[a] < TRUST[b] ? a : b
