// Vector maintenance: the conditions for creating the index of an embedder. test/store tests the index itself.

import { expect, it, vi } from 'vitest'
import { maintainVectors } from '../../../src/domain/indexing/vector-maintenance.ts'
import type { Db } from '../../../src/store/db.ts'
import type { EmbedderRow } from '../../../src/store/sql/indexing/embedders.ts'

const SERVING: EmbedderRow = { name: 'static', dimension: 100, filledAt: new Date(0), isOutdated: false }

/** Runs the maintenance with that progress of the embedder. Returns whether it created the index. */
async function createsIndex(progress: { done: number; remaining: number; turns: number }): Promise<boolean> {
  const build = vi.fn(async () => true)
  const indexes = { read: async () => null, build, drop: async () => {} }
  const db = { of: () => ({ $queryRaw: async () => [progress] }) } as unknown as Db
  const log = { info: () => {} } as never
  await maintainVectors({ db, log, indexes }, [SERVING], 'static', async () => {}, new AbortController().signal)
  return build.mock.calls.length > 0
}

it.each([
  ['is not created for too few turns', { turns: 9_999, done: 10_000, remaining: 0 }, false],
  ['is created for enough turns, all embedded', { turns: 10_000, done: 10_000, remaining: 0 }, true],
  ['is not created while a tenth of an import is embedded', { turns: 100_000, done: 10_000, remaining: 90_000 }, false],
  ['is created while a tenth of an import is missing', { turns: 100_000, done: 90_000, remaining: 10_000 }, true],
])('the index %s', async (_, progress, expected) => {
  expect(await createsIndex(progress)).toBe(expected)
})
