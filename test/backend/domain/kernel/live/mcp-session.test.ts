// Sessions of MCP clients: to whom they belong, how many there are, and when they end.

import { describe, onTestFinished, expect, it, vi } from 'vitest'
import {
  createSession,
  deleteExpiredSessions,
  endSession,
  MAX_SESSIONS,
  MAX_SUBSCRIPTIONS,
  noteNotified,
  SESSION_SECONDS,
  subscribe,
  unsubscribe,
  useSession,
  watchSession,
} from '../../../../../src/domain/kernel/live/mcp-session.ts'
import { backends } from '../../../../support/backend.ts'
import { PATIENCE_MS } from '../../../../support/patience.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld } from '../../../../support/world.ts'

describe.each(backends)('a session on $name', (backend) => {
  const world = useWorld(backend)
  const expireIn = (id: string, seconds: number) =>
    sql(world.deps.pool).query('UPDATE mcp_session SET expires_at = now() + make_interval(secs => $2) WHERE id = $1', [
      id,
      seconds,
    ])
  const secondsOf = async (id: string) => {
    const text = 'SELECT extract(epoch FROM expires_at - now())::float8 AS seconds FROM mcp_session WHERE id = $1'
    const { rows } = await sql(world.deps.pool).query<{ seconds: number }>(text, [id])
    return rows[0]?.seconds
  }

  it('belongs to one actor of one tenant', async () => {
    const [tenant, other] = [world.tenant(), world.tenant()]
    const { id } = await createSession(world.deps, tenant.as('ada'))
    expect(await useSession(world.deps, tenant.as('ada'), id)).toMatchObject({ id, subscriptions: {} })
    for (const viewer of [tenant.as('bob'), other.as('ada')]) {
      expect(await useSession(world.deps, viewer, id)).toBe(null)
    }
    for (const wrong of ['', 'x', `${id} `]) expect(await useSession(world.deps, tenant.as('ada'), wrong)).toBe(null)
  })

  it('expires a week after its last use, and is then deleted', async () => {
    const viewer = world.tenant().as('ada')
    const [used, unused] = [await createSession(world.deps, viewer), await createSession(world.deps, viewer)]
    await expireIn(used.id, 60)
    await useSession(world.deps, viewer, used.id)
    expect(await secondsOf(used.id)).toBeGreaterThan(SESSION_SECONDS - 600)
    await expireIn(unused.id, -1)
    expect(await useSession(world.deps, viewer, unused.id)).toBe(null)
    expect(await deleteExpiredSessions(world.deps)).toBe(1)
    expect(await secondsOf(unused.id)).toBe(undefined)
    expect(await secondsOf(used.id)).toBeDefined()
  })

  it('ends when its actor has more than the maximum, the one that was unused for the longest time first', async () => {
    const tenant = world.tenant()
    const viewer = tenant.as('ada')
    const foreign = await createSession(world.deps, tenant.as('bob'))
    const sessions = []
    for (let index = 0; index < MAX_SESSIONS; index++) sessions.push(await createSession(world.deps, viewer))
    await expireIn(sessions[7]!.id, 60)
    await createSession(world.deps, viewer)
    const found = await Promise.all(sessions.map(({ id }) => useSession(world.deps, viewer, id)))
    expect(found.flatMap((each, index) => (each ? [] : [index]))).toEqual([7])
    expect(await useSession(world.deps, tenant.as('bob'), foreign.id)).not.toBe(null)
  })

  it('keeps the subscriptions and how far the client was notified, and tells watchers of changes', async () => {
    const viewer = world.tenant().as('ada')
    const session = await createSession(world.deps, viewer)
    const changed = vi.fn<() => void>()
    onTestFinished(await watchSession(world.deps, session, changed))
    const read = async () => (await useSession(world.deps, viewer, session.id))?.subscriptions
    await subscribe(world.deps, session, 'a', 3)
    await subscribe(world.deps, session, "b'?", 4)
    await vi.waitUntil(() => changed.mock.calls.length === 2, { timeout: PATIENCE_MS })
    await unsubscribe(world.deps, session, 'a')
    await noteNotified(world.deps, session, { a: 9, "b'?": 5 })
    expect(await read()).toEqual({ "b'?": 5 })
    await noteNotified(world.deps, session, { a: 9 })
    expect(await read()).toEqual({ "b'?": 5 })
    await endSession(world.deps, session)
    expect(await read()).toBe(undefined)
    await vi.waitUntil(() => changed.mock.calls.length === 4, { timeout: PATIENCE_MS })
  })

  it('has at most so many subscriptions, also if they are added at the same time', async () => {
    const viewer = world.tenant().as('ada')
    const session = await createSession(world.deps, viewer)
    const added = await Promise.allSettled(
      Array.from({ length: MAX_SUBSCRIPTIONS + 5 }, (_, index) => subscribe(world.deps, session, `u${index}`, 1)),
    )
    const refused = added.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
    expect(refused).toHaveLength(5)
    expect(refused[0]).toMatchObject({ code: 'LIMIT_REACHED', limit: MAX_SUBSCRIPTIONS })
    const found = await useSession(world.deps, viewer, session.id)
    expect(Object.keys(found!.subscriptions)).toHaveLength(MAX_SUBSCRIPTIONS)
    // A subscription that exists is not a further one.
    await subscribe(world.deps, session, Object.keys(found!.subscriptions)[0]!, 2)
  })
})
