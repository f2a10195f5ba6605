// Creation and removal of the HNSW indexes of an embedder.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildVectorIndex, readVectorSegments, vectorIndexes } from '../../../../src/store/vectors/vector-index.ts'
import { backends, type Opened } from '../../../support/backend.ts'
import { seedConversation } from '../../../support/seeded-vectors.ts'
import { sql } from '../../../support/sql.ts'

/** The name of a model may contain any character, and be longer than a Postgres identifier. */
const EMBEDDER = { name: `openai:it's "a" model/with:a-long-name-${'x'.repeat(80)}:6`, dimension: 6 }

describe.runIf(backends.at(-1)!.name === 'postgres')('the vector index (needs TEST_DATABASE_URL)', () => {
  let opened: Opened
  beforeAll(async () => {
    opened = await backends.at(-1)!.open()
    await seedConversation(opened.pool, {
      tenant: 't',
      conversationId: 'conv_1',
      turns: 500,
      embedder: EMBEDDER.name,
      dimension: 6,
    })
    await seedConversation(opened.pool, {
      tenant: 't',
      conversationId: 'conv_2',
      turns: 50,
      embedder: 'other:5',
      dimension: 5,
    })
  })
  afterAll(() => opened?.close())

  const range = { from: 0, to: 501 }
  const build = (to = 501) => buildVectorIndex(opened.url!, EMBEDDER, { from: 0, to, rows: 500 })
  const read = () => readVectorSegments(opened.db, EMBEDDER.name)

  it('contains the vectors of its embedder only, and is created once by concurrent calls', async () => {
    expect(await read()).toEqual([])
    const created = await Promise.all([build(), build(), build()])
    expect(created.filter(Boolean)).toHaveLength(1)
    expect(await read()).toEqual([{ ...range, valid: true, rows: 500 }])
    expect(await build()).toBe(false)
  })

  it('is created again after an interrupted creation', async () => {
    await sql(opened.pool).query(`UPDATE pg_index SET indisvalid = false
      WHERE indexrelid IN (SELECT oid FROM pg_class WHERE relname LIKE 'turn_vector_hnsw_%')`)
    expect((await read())[0]?.valid).toBe(false)
    expect(await build()).toBe(true)
    expect((await read())[0]?.valid).toBe(true)
  })

  it('replaces a smaller one, which is dropped once it is unused', async () => {
    const indexes = vectorIndexes(opened.db, opened.url!)
    expect(await build(551)).toBe(true)
    expect(await read()).toHaveLength(2)
    expect(await indexes.countNewer(EMBEDDER.name, 0, 1_000)).toEqual({ newer: 500, end: 551 })
    expect(await indexes.countNewer('other:5', 501, 1_000)).toEqual({ newer: 50, end: 551 })
    expect(await indexes.countNewer('other:5', 501, 10)).toEqual({ newer: 10, end: 551 })
    await indexes.dropUnused(EMBEDDER.name)
    expect(await read()).toEqual([{ from: 0, to: 551, valid: true, rows: 500 }])
    await indexes.dropUnused(EMBEDDER.name)
    expect(await read()).toHaveLength(1)
  })

  it('is dropped, and dropping a missing index does nothing', async () => {
    await vectorIndexes(opened.db, opened.url!).drop(EMBEDDER.name)
    expect(await read()).toEqual([])
    await vectorIndexes(opened.db, opened.url!).drop(EMBEDDER.name)
  })

  it('is not created if the signal is aborted', async () => {
    const aborted = AbortSignal.abort(new Error('stop'))
    await expect(buildVectorIndex(opened.url!, EMBEDDER, { ...range, rows: 500 }, aborted)).rejects.toThrow('stop')
    expect(await read()).toEqual([])
  })

  it('is not created if the signal is aborted while the connection is being opened', async () => {
    const controller = new AbortController()
    const built = buildVectorIndex(opened.url!, EMBEDDER, { ...range, rows: 500 }, controller.signal)
    controller.abort(new Error('stop'))
    await expect(built).rejects.toThrow('stop')
    expect(await read()).toEqual([])
  })
})
