// The sweep of open turns with an expired lease alternates between tenants, and the numbers of open turns and of
// participants are limited.

import type { Statement } from '../../../../../src/store/db/tenant-pool.ts'
import { describe, expect, it, vi } from 'vitest'
import { addParticipant, MAX_PARTICIPANTS } from '../../../../../src/domain/conversation/participant/participant.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortSilentTurns, abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { APPEND_LIMITS } from '../../../../../src/domain/turn/append/append-refusal.ts'
import { LimitReached } from '../../../../../src/errors.ts'
import { readSilentStreams } from '../../../../../src/store/sql/turn/streaming/read-silent-streams.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { sql } from '../../../../support/sql.ts'

describe.each(backends)('open turns on $name', (backend) => {
  const world = useWorld(backend)

  /** Opens turns concurrently. Returns their ids, with null for each turn that a limit rejected. */
  const openMany = (tenant: Tenant, conversationId: string, count: number, actor = 'bot') =>
    Promise.all(
      Array.from({ length: count }, () =>
        openTurn(world.deps, tenant.as(actor), {
          writerToken: WRITER,
          conversationId,
          turn: { role: 'ASSISTANT', actor: 'bot' },
        }).then(
          ({ turn }) => turn.id,
          (error) => {
            if (error instanceof LimitReached) return null
            throw error
          },
        ),
      ),
    )
  const silence = (tenant: Tenant, ago: string) =>
    sql(world.deps.pool).query('UPDATE stream SET renewed_at = now() - $2::interval WHERE tenant = $1', [
      tenant.name,
      ago,
    ])

  it('are aborted round-robin across tenants, all of them in one sweep', async () => {
    const [many, few] = [world.tenant(), world.tenant()]
    for (let i = 0; i < 3; i++) await openMany(many, await many.newConversation('bot'), 80)
    const [late] = await openMany(few, await few.newConversation('bot'), 1)
    await silence(many, '2 hours')
    await silence(few, '1 hour')
    const first = await readSilentStreams(world.deps.db, { defaultMs: world.deps.streamLeaseMs, maxLeaseMs: null }, 4)
    expect(first.map(({ tenant }) => tenant)).toEqual([many.name, few.name, many.name, many.name])
    expect(first[1]!.id).toBe(late)
    expect(await abortSilentTurns(world.deps)).toBe(241)
    expect(await abortSilentTurns(world.deps)).toBe(0)
  })

  it('are aborted even if aborting one of them fails', async () => {
    const tenant = world.tenant()
    const [first] = await openMany(tenant, await tenant.newConversation('bot'), 3)
    await silence(tenant, '1 hour')
    const isBroken = (given: { name?: string; values?: unknown[] }) =>
      given.name === 'close-turn' && given.values?.[2] === first
    const pool = new Proxy(world.deps.pool, {
      get: (target, key) =>
        key === 'query'
          ? (given: Statement) => (isBroken(given) ? Promise.reject(new Error('broken')) : target.query(given))
          : Reflect.get(target, key),
    })
    await expect(abortSilentTurns({ ...world.deps, pool })).rejects.toThrow('broken')
    expect(await abortSilentTurns(world.deps)).toBe(1)
  })

  it('are limited for each conversation', async () => {
    const tenant = world.tenant()
    const limit = APPEND_LIMITS.openInConversation
    const conversationId = await tenant.newConversation('bot')
    const opened = await openMany(tenant, conversationId, limit + 20)
    expect(opened.filter((each) => each !== null)).toHaveLength(limit)
    await expect(
      openTurn(world.deps, tenant.as('ann'), { writerToken: WRITER, conversationId, turn: { role: 'USER' } }),
    ).rejects.toMatchObject({ code: 'LIMIT_REACHED', limit, message: expect.stringContaining(`${limit} open turns`) })
    const turnId = opened.find((each) => each !== null)!
    await abortTurn(world.deps, tenant.as('bot'), { writerToken: WRITER, turnId })
    expect(await openMany(tenant, conversationId, 1)).not.toContain(null)
    expect(await openMany(tenant, await tenant.newConversation('bot'), 1)).not.toContain(null)
  })

  it('are limited for each viewer of a tenant', async () => {
    const tenant = world.tenant()
    const { openByViewer, openInConversation } = APPEND_LIMITS
    for (let left = openByViewer; left > 0; left -= openInConversation) {
      await openMany(tenant, await tenant.newConversation('bot'), openInConversation)
    }
    const conversationId = await tenant.newConversation('bot')
    expect(await openMany(tenant, conversationId, 1)).toEqual([null])
    expect(await openMany(tenant, conversationId, 1, 'another')).not.toContain(null)
    const other = world.tenant()
    expect(await openMany(other, await other.newConversation('bot'), 1)).not.toContain(null)
  })

  it('and appended turns do not add participants beyond the maximum of a conversation', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('bot')
    await sql(world.deps.pool).query(
      `INSERT INTO participant (conversation_id, tenant, actor, kind, windows)
       SELECT $1, $3, 'p' || n, 'HUMAN', '{1}' FROM generate_series(1, $2::integer) n`,
      [conversationId, MAX_PARTICIPANTS - 2, tenant.name],
    )
    const joins = await Promise.allSettled(
      ['x', 'y', 'y', 'p1'].map((actor) => tenant.append(conversationId, actor, 'hi')),
    )
    expect(joins.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
    const participant = { actor: 'z' }
    await expect(addParticipant(world.deps, tenant.as('bot'), { conversationId, participant })).rejects.toMatchObject({
      code: 'LIMIT_REACHED',
      limit: MAX_PARTICIPANTS,
    })
  })

  it('with a long text are committed one at a time while another tenant is active', async () => {
    const { activity, gates } = world.deps
    const tenant = world.tenant()
    const [long, short] = await openMany(tenant, await tenant.newConversation('bot'), 2)
    const write = (turnId: string, text: string) =>
      appendDelta(world.deps, tenant.as('bot'), { turnId, writerToken: WRITER, text })
    const commit = (turnId: string) => commitTurn(world.deps, tenant.as('bot'), { turnId, writerToken: WRITER })
    await write(long!, 'word '.repeat(7_000))
    await write(short!, 'word')
    let release = () => {}
    const held = gates.heavy.run(tenant.name, () => new Promise<void>((resolve) => (release = resolve)))
    activity.note('another')
    const committed = commit(long!)
    await vi.waitFor(() => expect(gates.heavy.waiting).toBe(1))
    expect((await commit(short!)).status).toBe('COMMITTED')
    expect(gates.heavy.waiting).toBe(1)
    release()
    await held
    expect((await committed).text).toHaveLength(35_000)
  })
})
