// Refused calls that the server handles together with permitted calls, or that wait for a lock. The access matrix
// (access-matrix.test.ts) sends one call after another.

import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { updateConversation } from '../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../src/domain/trust/erasure/delete-conversation.ts'
import { recordFacts } from '../../src/domain/memory/fact/record.ts'
import { addParticipant } from '../../src/domain/conversation/participant/participant.ts'
import { updateParticipant } from '../../src/domain/conversation/participant/update-participant.ts'
import { appendDelta } from '../../src/domain/turn/streaming/append-delta.ts'
import { commitTurn } from '../../src/domain/turn/streaming/stream.ts'
import { appendTurn, openTurn } from '../../src/domain/turn/append/append.ts'
import { NotFound } from '../../src/errors.ts'
import { backends } from '../support/backend.ts'

import { sql } from '../support/sql.ts'
import { useWorld, type Tenant } from '../support/world.ts'
import { WRITER } from '../support/writer.ts'

describe.each(backends)('ids on $name', (backend) => {
  const world = useWorld(backend)

  async function membersConversation(tenant: Tenant): Promise<string> {
    const conversation = await tenant.newConversation('ann', 'owner')
    await updateConversation(world.deps, tenant.as('owner'), { conversationId: conversation, visibility: 'MEMBERS' })
    return conversation
  }

  it('of a MEMBERS conversation are unknown to outsiders even in one statement with calls of participants', async () => {
    const tenant = world.tenant()
    const conversation = await membersConversation(tenant)
    const open = await tenant.newConversation('eve')
    const before = await tenant.lastSeq(conversation)
    const calls = Array.from({ length: 20 }, (_, n) => [
      tenant.append(conversation, 'ann', `mine ${n}`),
      tenant.append(conversation, 'eve', `theirs ${n}`, { audience: ['ann'] }),
      tenant.append(open, 'eve', `elsewhere ${n}`),
    ]).flat()
    const outcomes = (await Promise.allSettled(calls)).map(({ status }) => status)
    expect(outcomes).toEqual(Array.from({ length: 20 }, () => ['fulfilled', 'rejected', 'fulfilled']).flat())
    for (const call of calls.filter((_, index) => index % 3 === 1)) await expect(call).rejects.toThrow(NotFound)
    expect(await tenant.lastSeq(conversation)).toBe(before! + 20)
    const { rows } = await sql(world.deps.pool).query('SELECT actor FROM participant WHERE conversation_id = $1', [
      conversation,
    ])
    expect(rows.map(({ actor }) => actor).sort()).toEqual(['ann', 'owner'])
  })

  /** Creates a conversation in which "bob" was never addressed, with an open turn. */
  async function createObjects(tenant: Tenant): Promise<{ conversationId: string; openId: string }> {
    const conversationId = await tenant.newConversation('ann', 'bob')
    await tenant.append(conversationId, 'ann', 'I like tea.')
    const given = { writerToken: WRITER, conversationId, turn: { role: 'ASSISTANT' as const } }
    const { turn: open } = await openTurn(world.deps, tenant.as('ann'), given)
    return { conversationId, openId: open.id }
  }

  it('of actors in the audience of a rejected call are not marked as addressed', async () => {
    const tenant = world.tenant()
    const { conversationId } = await createObjects(tenant)
    const before = await sql(world.deps.pool).query('SELECT * FROM participant WHERE conversation_id = $1', [
      conversationId,
    ])
    const turn = { role: 'USER' as const, content: 'hello', audience: ['bob'] }
    await expect(
      appendTurn(world.deps, tenant.as('ann'), { conversationId, turn, expectedLastSeq: 1 }),
    ).rejects.toThrow('expectedLastSeq')
    const after = await sql(world.deps.pool).query('SELECT * FROM participant WHERE conversation_id = $1', [
      conversationId,
    ])
    expect(after.rows).toEqual(before.rows)
  })

  it('of another tenant do not add a delta to the queued deltas of the writer', async () => {
    const [tenant, stranger] = [world.tenant(), world.tenant()]
    const { openId: turnId } = await createObjects(tenant)
    const sent = await Promise.allSettled([
      appendDelta(world.deps, tenant.as('ann'), { writerToken: WRITER, turnId, text: 'one ' }),
      appendDelta(world.deps, stranger.as('ann'), { writerToken: WRITER, turnId, text: 'forged ' }),
      appendDelta(world.deps, tenant.as('ann'), { writerToken: WRITER, turnId, text: 'two' }),
    ])
    expect(sent.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((await commitTurn(world.deps, tenant.as('ann'), { writerToken: WRITER, turnId })).text).toBe('one two')
  })

  // The embedded database accepts no second client that could lock a row.
  if (backend.name === 'postgres')
    it('of another tenant are rejected even while the conversation is locked, and delay no call of the owning tenant', async () => {
      const [tenant, stranger] = [world.tenant(), world.tenant()]
      const { conversationId } = await createObjects(tenant)
      const client = new pg.Client(world.url)
      await client.connect()
      await client.query('BEGIN')
      await client.query('SELECT FROM journal WHERE conversation_id = $1 FOR UPDATE', [conversationId])
      const own = tenant.append(conversationId, 'ann', 'mine')
      await expect(stranger.append(conversationId, 'ann', 'theirs')).rejects.toThrow(NotFound)
      await client.query('COMMIT')
      await client.end()
      await own
    })
})

// The embedded database accepts no second client that could lock a row.
describe.each(backends.filter(({ name }) => name === 'postgres'))('a locked conversation on $name', (backend) => {
  // Every waiting call needs a connection of its own.
  const world = useWorld(backend, { databasePoolSize: 24 })

  it('is hidden from calls that waited while it became MEMBERS', async () => {
    const tenant = world.tenant()
    const id = await tenant.newConversation('ann')
    const client = new pg.Client(world.url)
    await client.connect()
    await client.query('BEGIN')
    await client.query('SELECT FROM journal WHERE conversation_id = $1 FOR UPDATE', [id])
    const calls = [
      tenant.append(id, 'eve', 'hello'),
      updateConversation(world.deps, tenant.as('eve'), { conversationId: id, title: 'taken' }),
      updateParticipant(world.deps, tenant.as('eve'), { conversationId: id, actor: 'ann', displayName: 'taken' }),
      addParticipant(world.deps, tenant.as('eve'), { conversationId: id, participant: { actor: 'eve' } }),
      recordFacts(world.deps, tenant.as('eve'), {
        conversationId: id,
        facts: [{ subject: 'ann', predicate: 'likes', object: 'tea' }],
      }),
      deleteConversation(world.deps, tenant.as('eve'), id),
    ].map((call) => call.catch((error: unknown) => error))
    await expect
      .poll(async () => {
        const text = `SELECT count(*)::integer AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
        return (await sql(world.deps.reads.pool).query(text)).rows[0].n
      })
      .toBe(calls.length)
    await client.query(`UPDATE journal SET visibility = 'MEMBERS' WHERE conversation_id = $1`, [id])
    await client.query(`UPDATE conversation SET visibility = 'MEMBERS' WHERE id = $1`, [id])
    await client.query('COMMIT')
    await client.end()
    for (const outcome of await Promise.all(calls)) expect(outcome).toBeInstanceOf(NotFound)
    expect(await tenant.lastSeq(id)).toBe(1)
  })
})
