// Turns for the tests of the web app.

import type { Turn } from '../../../src/client/index.ts'

/** Returns a committed turn with these fields. Its `seq` is its position unless it is given. */
export const turnAt = (position: number, fields: Partial<Turn> = {}): Turn => ({
  id: `turn_${position}`,
  seq: position,
  position,
  actor: 'ada',
  author: null,
  role: 'USER',
  status: 'COMMITTED',
  text: `${position}`,
  parts: [],
  audience: null,
  model: null,
  metadata: {},
  traceId: null,
  createdAt: '2026-03-04T10:00:00.000Z',
  pinned: false,
  isEdited: false,
  abortReason: null,
  tokenUsage: null,
  citations: [],
  replyTo: null,
  ...fields,
})
