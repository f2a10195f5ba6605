// Creation and removal of the HNSW index of an embedder.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dropVectorIndex, buildVectorIndex, readVectorIndex } from '../../src/store/vector-index.ts'
import { backends, type Opened } from '../support/backend.ts'
import { seedConversation } from '../support/seeded-vectors.ts'
import { sql } from '../support/sql.ts'

/** The name of a model may contain any character, and be longer than a Postgres identifier. */
const EMBEDDER = { name: `openai:it's "a" model/with:a-long-name-${'x'.repeat(80)}:6`, dimension: 6 }

describe.runIf(backends.length > 1)('the vector index (needs TEST_DATABASE_URL)', () => {
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

  const build = () => buildVectorIndex(opened.url!, EMBEDDER, 500)
  const read = () => readVectorIndex(opened.db, EMBEDDER.name)

  it('contains the vectors of its embedder only, and is created once by concurrent calls', async () => {
    expect(await read()).toBe(null)
    const created = await Promise.all([build(), build(), build()])
    expect(created.filter(Boolean)).toHaveLength(1)
    expect(await read()).toEqual({ valid: true, rows: 500 })
    expect(await build()).toBe(false)
  })

  it('is created again after an interrupted creation', async () => {
    await sql(opened.pool).query(`UPDATE pg_index SET indisvalid = false
      WHERE indexrelid IN (SELECT oid FROM pg_class WHERE relname LIKE 'turn_vector_hnsw_%')`)
    expect((await read())?.valid).toBe(false)
    expect(await build()).toBe(true)
    expect((await read())?.valid).toBe(true)
  })

  it('is dropped, and dropping a missing index does nothing', async () => {
    await dropVectorIndex(opened.url!, EMBEDDER.name)
    expect(await read()).toBe(null)
    await dropVectorIndex(opened.url!, EMBEDDER.name)
  })

  it('is not created if the signal is aborted', async () => {
    await expect(buildVectorIndex(opened.url!, EMBEDDER, 500, AbortSignal.abort(new Error('stop')))).rejects.toThrow(
      'stop',
    )
    expect(await read()).toBe(null)
  })

  it('is not created if the signal is aborted while the connection is being opened', async () => {
    const controller = new AbortController()
    const built = buildVectorIndex(opened.url!, EMBEDDER, 500, controller.signal)
    controller.abort(new Error('stop'))
    await expect(built).rejects.toThrow('stop')
    expect(await read()).toBe(null)
  })
})
