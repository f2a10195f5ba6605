// Vector maintenance: when the index of an embedder is created. The index itself is tested in test/store.

import { expect, it, vi } from 'vitest'
import { maintainVectors } from '../../../src/domain/indexing/vector-maintenance.ts'
import type { Db } from '../../../src/store/db.ts'
import type { EmbedderRow } from '../../../src/store/sql/indexing/embedders.ts'

const SERVING: EmbedderRow = { name: 'static', dimension: 100, filledAt: new Date(0), isOutdated: false }

/** Runs the maintenance with that progress of the embedder. Returns whether it created the index. */
async function createsIndex(progress: { done: number; remaining: number; turns: number }): Promise<boolean> {
  const make = vi.fn(async () => true)
  const indexes = { read: async () => null, make, drop: async () => {} }
  const db = { $queryRaw: async () => [progress] } as unknown as Db
  const log = { info: () => {} } as never
  await maintainVectors({ db, log, indexes }, [SERVING], 'static', async () => {}, new AbortController().signal)
  return make.mock.calls.length > 0
}

it.each([
  ['too few turns', { turns: 9_999, done: 10_000, remaining: 0 }, false],
  ['enough turns, all embedded', { turns: 10_000, done: 10_000, remaining: 0 }, true],
  ['an import of which a tenth is embedded', { turns: 100_000, done: 10_000, remaining: 90_000 }, false],
  ['an import of which a tenth is missing', { turns: 100_000, done: 90_000, remaining: 10_000 }, true],
])('with %s, the index is created or not', async (_, progress, expected) => {
  expect(await createsIndex(progress)).toBe(expected)
})
