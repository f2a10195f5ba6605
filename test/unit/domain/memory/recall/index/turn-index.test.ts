// The in-memory index of a conversation: the versions that a view contains.

import { expect, it } from 'vitest'
import { updated, visibleTurns } from '../../../../../../src/domain/memory/recall/index/turn-index.ts'
import type { IndexedVersion } from '../../../../../../src/store/sql/memory/recall/read-turn-index.ts'

const version = (seq: number, audience: string[] | null = null): IndexedVersion => ({
  conversationId: 'conv_1',
  position: seq,
  seq,
  at: seq,
  actor: 'ada',
  tokens: 1,
  cues: 0,
  length: 1,
  isCommitted: true,
  role: 'USER',
  audience,
  terms: Int32Array.of(7),
  vector: null,
})
const indexOf = (...versions: IndexedVersion[]) =>
  updated('conv_1', null, null, {
    lastSeq: versions.length,
    removedThrough: 0,
    embeddedThrough: 0,
    versions,
    positions: null,
    participants: [],
  })

it('a view from before the first private turn for its actor excludes that turn, as all views with its cache key do', () => {
  const index = indexOf(version(1), version(2, ['ada', 'bob']))
  const seen = (actor: string | null, addressed: boolean) => [
    ...visibleTurns(index, { actor, windows: [1], addressed }).versions,
  ]
  expect(seen('ada', false)).toEqual([0])
  expect(seen(null, false)).toEqual([0])
  expect(seen('ada', true)).toEqual([0, 1])
  expect(seen('eve', true)).toEqual([0])
})
