// Facts for the tests.

import type { FactDetails } from '../../../../src/web/memory/queries.ts'

export const factOf = (fields: Partial<FactDetails>): FactDetails => ({
  id: 'f1',
  subject: 'Ada',
  predicate: 'lives in',
  object: 'Rome',
  confidence: 1,
  importance: 0.5,
  userId: null,
  saidBy: 'HUMAN',
  assertedBy: 'ada',
  observedAt: '2026-05-01T10:00:00.000Z',
  validFrom: null,
  validTo: null,
  supersededAt: null,
  supersedeReason: null,
  supersedeNote: null,
  restoredAt: null,
  restoreNote: null,
  supersededBy: null,
  sources: { nodes: [], pageInfo: { hasNextPage: false } },
  usedIn: { nodes: [], pageInfo: { hasNextPage: false } },
  ...fields,
})
