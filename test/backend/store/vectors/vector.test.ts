// Half-precision vectors in pgvector's binary form, compared with the conversion by the database.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HALVES_HEADER, halvesArray, readHalves, vectorValue } from '../../../../src/store/vectors/vector.ts'
import { backends, type Opened } from '../../../support/backend.ts'
import { sql } from '../../../support/sql.ts'

/** Numbers of all sizes: normal and subnormal in half precision, ones that become zero, and ones that are rounded up. */
const NUMBERS = [0, 1, -1, 0.1, -0.333, 0.99999, 6.1e-5, 6.05e-5, -3e-6, 5.96e-8, 2e-8, 1e-12, 0.00048828125, 12.34]

describe.each(backends)('half-precision vectors, on $name', ({ open }) => {
  let opened: Opened
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.close())

  it('are sent and read in binary form as the database converts them', async () => {
    const random = Float32Array.from({ length: NUMBERS.length }, (_, i) => Math.sin(i * 12.9898) / 10)
    const vectors = [Float32Array.from(NUMBERS), random]
    const { rows: types } = await sql(opened.pool).query<{ id: number }>(`SELECT 'halfvec'::regtype::oid::int AS id`)
    const { rows } = await sql(opened.pool).query<{ sent: string; expected: string; bytes: Buffer }>(
      `SELECT v.sent::text AS sent, v.expected::halfvec::text AS expected, halfvec_send(v.sent) AS bytes
       FROM unnest($1::halfvec[], $2::text[]) AS v(sent, expected)`,
      [halvesArray(vectors, types[0]!.id), vectors.map(vectorValue)],
    )
    expect(rows).toHaveLength(2)
    for (const { sent, expected, bytes } of rows) {
      expect(sent).toBe(expected)
      const read = new Float32Array(NUMBERS.length + 1)
      readHalves({ from: bytes, to: read, dimension: NUMBERS.length }, HALVES_HEADER, 1)
      const stored = JSON.parse(expected) as number[]
      for (const [i, number] of stored.entries()) expect(read[i + 1]).toBeCloseTo(number, 7)
    }
  })
})
