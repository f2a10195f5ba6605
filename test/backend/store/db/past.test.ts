// The schema `past`: its views have the columns of the tables, apply the policies, and apply only to the statements of
// the scope. Former states are bounded.

import { describe, expect, it } from 'vitest'
import { pastDb, pastPool } from '../../../../src/store/db/past.ts'
import type { Moment } from '../../../../src/store/db/scope.ts'
import { readTime } from '../../../../src/store/sql/turn/journal/moments.ts'
import { readLastSeq } from '../../../../src/store/sql/turn/journal/read-journal.ts'
import { withTransaction } from '../../../../src/store/db/tx.ts'
import { backends } from '../../../support/backend.ts'
import { sql } from '../../../support/sql.ts'
import { useWorld } from '../../../support/world.ts'

const COLUMNS = `
  SELECT c.relname AS name,
    array_agg(a.attname || ' ' || format_type(a.atttypid, NULL) ORDER BY a.attnum) AS columns
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE c.relnamespace = $1::text::regnamespace
    AND c.relname IN (SELECT v.relname FROM pg_class v WHERE v.relnamespace = 'past'::regnamespace)
  GROUP BY 1 ORDER BY 1`

describe.each(backends)('the past on $name', (backend) => {
  const world = useWorld(backend)
  const query = (text: string, values?: unknown[]) => sql(world.deps.pool).query(text, values)

  it('has views with the columns of the tables, which apply the policies of the reader', async () => {
    const [views, tables] = [await query(COLUMNS, ['past']), await query(COLUMNS, ['public'])]
    expect(views.rows).toEqual(tables.rows)
    expect(views.rows.map(({ name }) => name)).toEqual([
      'chunk',
      'conversation',
      'entry',
      'fact',
      'fact_source',
      'journal',
      'participant',
      'stream_part',
      'summary',
      'superseded_fact',
      'turn',
      'turn_vector',
      'user_profile',
    ])
    const { rows } = await query(`SELECT relname FROM pg_class WHERE relnamespace = 'past'::regnamespace
      AND NOT coalesce('security_invoker=true' = ANY (reloptions), false)`)
    expect(rows).toEqual([])
  })

  it('shows new columns after create_past', async () => {
    const client = await world.deps.pool.connect()
    try {
      await client.query('RESET ROLE; BEGIN; ALTER TABLE summary ADD COLUMN mood text; SELECT create_past()')
      await client.query(
        `SET colloquy.past_at = '2026-01-01'; SET colloquy.past_conversation = ''; SET colloquy.past_seq = ''`,
      )
      expect((await client.query('SELECT mood FROM past.summary')).rows).toEqual([])
    } finally {
      await client.query('ROLLBACK')
      client.release(true)
    }
  })

  it('applies to the statements of its scope only, and to no other tenant', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const viewer = tenant.as('ann')
    await tenant.append(conversationId, 'ann', 'One.')
    const first = await readLastSeq(deps.pool, viewer, conversationId)
    const at = await readTime(deps.pool, tenant.name)
    const moment: Moment = { at, entry: { conversationId, seq: first! } }
    await tenant.append(conversationId, 'ann', 'Two.')
    const past = pastPool(deps.pool, moment)
    // Alternating on one connection: the named statement of the present must stay that of the present.
    for (let i = 0; i < 3; i++) {
      expect(await readLastSeq(past, viewer, conversationId)).toBe(first)
      expect(await readLastSeq(deps.pool, viewer, conversationId)).toBe(first! + 1)
    }
    const text = 'SELECT id FROM turn WHERE conversation_id = $1'
    const found = async (name: string) =>
      (await past.query({ scope: name, text, values: [conversationId] })).rows.length
    expect(await found(tenant.name)).toBe(1)
    expect(await found(world.tenant().name)).toBe(0)
    const rows = await pastDb(deps.db, moment).of(tenant.name).$queryRaw`SELECT id FROM turn`
    expect(rows).toHaveLength(1)
  })

  it('cannot be changed', async () => {
    const { deps } = world
    const moment: Moment = { at: new Date(), entry: null }
    const past = pastDb(deps.db, moment)
    await expect(withTransaction(past, 'any', async () => {})).rejects.toThrow('not possible in the past')
    await expect(past.of('any').$executeRaw`INSERT INTO turn (id) VALUES ('x')`).rejects.toThrow()
    expect(() => pastPool(deps.pool, moment).connect()).toThrow('not possible in the past')
  })

  it('keeps the 50 newest former states of a row, and none of an update that changes nothing', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const states = async () =>
      (
        await query(
          `SELECT state->>'system_prompt' AS prompt FROM former_state WHERE conversation_id = $1 ORDER BY number`,
          [conversationId],
        )
      ).rows.map(({ prompt }) => prompt)
    for (let i = 0; i <= 60; i++)
      await query('UPDATE conversation SET system_prompt = $2 WHERE id = $1', [conversationId, `Prompt ${i}`])
    expect(await states()).toEqual(Array.from({ length: 50 }, (_, i) => `Prompt ${i + 10}`))
    await query('UPDATE conversation SET system_prompt = system_prompt, title = $2 WHERE id = $1', [
      conversationId,
      'New',
    ])
    expect(await states()).toHaveLength(50)
  })
})
