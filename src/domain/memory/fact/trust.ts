// Defines the trust of facts. A person's statement about themselves is trusted most, then other statements by people,
// then statements by agents, then statements by tools. A merged fact is never more trusted than its originals. A less
// trusted fact never supersedes a more trusted one: if it would win by time, confidence or hash, both are kept.

import type { ParticipantKind } from '../../../store/generated/enums.ts'
import { TRUST } from '../../kernel/rights/principal.ts'

/** Trust of a person's statement about themselves. */
const OWN = 3

/**
 * The fields of a fact that determine its trust. `userId` is null for a fact about no user, `assertedBy` if unknown.
 */
export type Assertion = { userId: string | null; saidBy: ParticipantKind; assertedBy: string | null }

/** Returns the trust of a fact; a higher value is more trusted. */
export const trustOf = ({ userId, saidBy, assertedBy }: Assertion): number =>
  saidBy === 'HUMAN' && userId !== null && assertedBy === userId ? OWN : TRUST[saidBy]

/** Whether a fact is a person's statement about themselves. */
export const isOwn = (fact: Assertion): boolean => trustOf(fact) === OWN

/**
 * Whether a fact is stated as true: a person's statement about themselves, or a person's statement whose subject is not
 * a user. Other facts are quoted as their authors' claims.
 */
export const isStated = (fact: Assertion): boolean => (fact.userId === null ? fact.saidBy === 'HUMAN' : isOwn(fact))

/** Returns the author of a claim; null for a fact that is stated as true. */
export const claimantOf = (fact: Assertion): string | null => (isStated(fact) ? null : (fact.assertedBy ?? 'somebody'))
