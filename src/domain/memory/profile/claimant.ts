// The author of a statement that a profile quotes as a claim.

import { isStated, type Assertion } from '../fact/trust.ts'

/** Returns the author of a claim; null for a fact that is stated as true. */
export const claimantOf = (fact: Assertion): string | null => (isStated(fact) ? null : (fact.assertedBy ?? 'somebody'))
