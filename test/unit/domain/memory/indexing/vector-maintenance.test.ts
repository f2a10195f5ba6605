// Vector maintenance: when it builds or drops the indexes of an embedder, and which ranges it indexes. test/backend/store
// tests the indexes themselves.

import { expect, it, vi } from 'vitest'
import { maintainVectors } from '../../../../../src/domain/memory/indexing/vector-maintenance.ts'
import type { Db } from '../../../../../src/store/db/db.ts'
import type { EmbedderRow } from '../../../../../src/store/sql/memory/indexing/embedders.ts'
import type { VectorSegment } from '../../../../../src/store/vectors/vector-segments.ts'

const SERVING: EmbedderRow = { name: 'static', dimension: 100, filledAt: new Date(0), isOutdated: false }
const ALL_EMBEDDED = { done: 100_000, remaining: 0, turns: 100_000 }
const segment = (from: number, to: number, valid = true): VectorSegment => ({ from, to, valid, rows: to - from })

/**
 * Runs the maintenance with these segments and the number of vectors that are newer. Returns 'drops', 'nothing', or the
 * segment that is built.
 */
async function maintain(newer: number, progress = ALL_EMBEDDED, segments: VectorSegment[] = []): Promise<unknown> {
  const end = Math.max(0, ...segments.map(({ to }) => to)) + newer
  const build = vi.fn(async () => true)
  const dropUnused = vi.fn(async () => {})
  const countNewer = async () => ({ newer, end })
  const indexes = { read: async () => segments, countNewer, build, dropUnused, drop: async () => {} }
  const db = { of: () => ({ $queryRaw: async () => [progress] }) } as unknown as Db
  const log = { info: () => {} } as never
  await maintainVectors(
    { db, log, indexes },
    { rows: [SERVING], serving: 'static' },
    async () => {},
    new AbortController().signal,
  )
  const [built] = build.mock.calls as unknown as [unknown, unknown][]
  return dropUnused.mock.calls.length > 0 ? 'drops' : built ? built[1] : 'nothing'
}

it.each([
  ['builds no index for fewer than 10,000 vectors', 9_999, ALL_EMBEDDED, 'nothing'],
  ['builds the first index for 10,000 vectors', 10_000, ALL_EMBEDDED, { from: 0, to: 10_000, rows: 10_000 }],
  [
    'builds no index while only a tenth of an import is embedded',
    10_000,
    { ...ALL_EMBEDDED, done: 10_000, remaining: 90_000 },
    'nothing',
  ],
  [
    'builds the first index once nine tenths of an import are embedded',
    90_000,
    { ...ALL_EMBEDDED, done: 90_000, remaining: 10_000 },
    { from: 0, to: 90_000, rows: 90_000 },
  ],
])('the maintenance %s', async (_, newer, progress, expected) => {
  expect(await maintain(newer, progress)).toEqual(expected)
})

it('the maintenance indexes newer vectors together with segments that are not much larger', async () => {
  const segments = [segment(0, 100_000), segment(100_000, 130_000)]
  expect(await maintain(9_999, ALL_EMBEDDED, segments)).toBe('nothing')
  expect(await maintain(10_000, ALL_EMBEDDED, segments)).toEqual({ from: 0, to: 140_000, rows: 140_000 })
  expect(await maintain(10_000, ALL_EMBEDDED, [segment(0, 200_000)])).toEqual({
    from: 200_000,
    to: 210_000,
    rows: 10_000,
  })
})

it('the maintenance drops replaced and unfinished indexes before it builds another one', async () => {
  expect(await maintain(10_000, ALL_EMBEDDED, [segment(0, 10_000), segment(0, 20_000)])).toBe('drops')
  expect(await maintain(10_000, ALL_EMBEDDED, [segment(0, 10_000, false)])).toBe('drops')
})
