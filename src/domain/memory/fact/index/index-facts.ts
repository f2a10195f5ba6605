// Computes the terms of facts that have none, which an earlier version of the server wrote. New facts get theirs when
// they are written (write.ts).

import { readUnindexedFacts, writeFactTerms } from '../../../../store/sql/memory/fact/index-facts.ts'
import { backfill } from '../../indexing/backfill.ts'
import type { Platform } from '../../../kernel/platform.ts'
import { factTerms } from '../write.ts'

/** Computes the terms of the facts of all tenants that have none, and returns their number. */
export const indexFacts = ({ db }: Pick<Platform, 'db'>): Promise<number> =>
  backfill({
    read: (limit) => readUnindexedFacts(db, limit),
    entryOf: ({ id, tenant, ...statement }) => ({ id, terms: factTerms(tenant, statement) }),
    write: (facts) => writeFactTerms(db, facts),
  })
