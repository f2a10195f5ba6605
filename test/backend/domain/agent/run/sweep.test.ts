// Runs whose process has died, or that no client continues in time: the last reply of a run decides its next state.

import { beforeEach, describe, expect, it, vi } from 'vitest'
import { cancelRun } from '../../../../../src/domain/agent/run/cancel.ts'
import { getRuns } from '../../../../../src/domain/agent/run/run.ts'
import { runTurn } from '../../../../../src/domain/agent/run/start.ts'
import { endLostRuns, eventAfterLoss, type LastReply } from '../../../../../src/domain/agent/run/sweep.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import { insertRun } from '../../../../../src/store/sql/agent/run/runs.ts'
import { newId } from '../../../../../src/domain/kernel/id.ts'
import { backends } from '../../../../support/backend.ts'
import { createScriptedProvider, forever } from '../../../../support/scripted-provider.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'

describe('eventAfterLoss', () => {
  const reply = (status: 'STREAMING' | 'COMMITTED' | 'ABORTED', more: Partial<LastReply> = {}): LastReply => ({
    ...{ status, calls: 0, openCalls: 0, openToApprove: 0, openOfServer: 0, hasApprovals: false },
    ...more,
  })
  it.each([
    ['no reply', null, 'fail'],
    ['an open reply', reply('STREAMING'), 'fail'],
    ['an aborted reply', reply('ABORTED'), 'fail'],
    ['an answer', reply('COMMITTED'), 'complete'],
    ['calls that only the caller can answer', reply('COMMITTED', { calls: 2, openCalls: 1 }), 'await-tools'],
    ['calls of tools of the server', reply('COMMITTED', { calls: 2, openCalls: 1, openOfServer: 1 }), 'fail'],
    ['calls to approve', reply('COMMITTED', { calls: 1, openCalls: 1, openToApprove: 1 }), 'await-approval'],
    ['calls that have results', reply('COMMITTED', { calls: 2 }), 'fail'],
  ] as const)('after %s', (_, last, event) => {
    expect(eventAfterLoss(last)).toBe(event)
  })
})

describe.each(backends)('the sweep of runs on $name', (backend) => {
  const provider = createScriptedProvider()
  const world = useWorld(backend, { providers: { scripted: provider } })
  let tenant: Tenant
  let conversationId: string
  beforeEach(async () => {
    provider.reset()
    tenant = world.tenant()
    conversationId = await tenant.newConversation('ada', { actor: 'bot', kind: 'AGENT' })
  })
  const tools = [{ name: 'look_up', description: 'Looks something up.' }]
  const ask = async () =>
    (
      await runTurn(world.deps, tenant.as('ada'), {
        conversationId,
        actor: 'bot',
        provider: 'scripted',
        turns: [{ role: 'USER', content: 'Who?' }],
        tools,
      })
    ).run
  const read = async (id: string) => (await getRuns(world.deps, tenant.as('ada'), [id])).get(id)
  /** Sets columns as a process that died would have left them. */
  const leave = (id: string, columns: string) =>
    sql(world.deps.pool).query(`UPDATE run SET ${columns}, lease_until = now() - interval '1 s' WHERE id = $1`, [id])

  it('completes a run whose answer is committed', async () => {
    const { id } = await ask()
    await leave(id, `state = 'RUNNING', holder = 'dead', ended_at = NULL`)
    await endLostRuns(world.deps)
    expect(await read(id)).toMatchObject({ state: 'COMPLETED', errorCode: null })
  })

  it('lets a run with committed tool calls wait for their results', async () => {
    provider.next([{ id: 'c1', name: 'look_up', arguments: {} }])
    const { id } = await ask()
    await leave(id, `state = 'RUNNING', holder = 'dead'`)
    await endLostRuns(world.deps)
    expect(await read(id)).toMatchObject({ state: 'WAITING_FOR_TOOLS' })
  })

  it('leaves all runs alone while processes could not renew their leases for a whole lease', async () => {
    const { id } = await ask()
    await leave(id, `state = 'RUNNING', holder = 'dead', ended_at = NULL`)
    await endLostRuns(world.deps, 7_999)
    expect(await read(id)).toMatchObject({ state: 'RUNNING' })
    await endLostRuns(world.deps, 8_000)
    expect(await read(id)).toMatchObject({ state: 'COMPLETED' })
  })

  it('finds a run and its open turn lost 8 s after their process has died, although other turns have 30 s', async () => {
    provider.next(['one ', forever])
    const { run } = await runTurn(world.deps, tenant.as('ada'), {
      ...{ conversationId, actor: 'bot', provider: 'scripted', wait: false },
      turns: [{ role: 'USER', content: 'Who?' }],
    })
    const lease = async () => {
      const { rows } = await sql(world.deps.pool).query(
        `SELECT extract(epoch FROM r.lease_until - clock_timestamp())::float8 AS run, s.lease_seconds AS turn
         FROM run r LEFT JOIN stream s ON s.turn_id = r.turn_id WHERE r.id = $1`,
        [run.id],
      )
      return rows[0]
    }
    expect((await lease()).run).toBeLessThanOrEqual(8)
    await vi.waitFor(async () => expect((await lease()).turn).toBe(8))
    await cancelRun(world.deps, tenant.as('ada'), { runId: run.id })
  })

  it('fails a run whose reply is open, and aborts the reply', async () => {
    const { id } = await ask()
    const bot = tenant.as('bot')
    const { turn } = await openTurn(world.deps, bot, {
      conversationId,
      turn: { role: 'ASSISTANT' },
      writerToken: WRITER,
    })
    await leave(id, `state = 'RUNNING', holder = 'dead', ended_at = NULL, turn_id = '${turn.id}'`)
    await endLostRuns(world.deps)
    expect(await read(id)).toMatchObject({ state: 'FAILED', errorCode: 'INTERRUPTED' })
    expect((await getTurns(world.deps, bot, [turn.id])).get(turn.id)!.status).toBe('ABORTED')
  })

  it('fails a run that no client continues in time', async () => {
    provider.next([{ id: 'c1', name: 'look_up', arguments: {} }])
    const { id } = await ask()
    await endLostRuns(world.deps)
    expect(await read(id)).toMatchObject({ state: 'WAITING_FOR_TOOLS' })
    await leave(id, `holder = NULL`)
    await endLostRuns(world.deps)
    expect(await read(id)).toMatchObject({ state: 'FAILED', errorCode: 'EXPIRED' })
  })

  it('deletes a run that was never started, so that the agent can run again', async () => {
    const id = newId('run')
    const clients = { clientId: null, clientHash: null, holder: 'dead', leaseMs: 0 }
    const lost = {
      id,
      conversationId,
      actor: 'bot',
      viewer: 'ada',
      provider: 'scripted',
      model: 'default',
      supersedesId: null,
      options: {},
      credential: null,
    }
    expect(await insertRun(world.deps.pool, tenant.name, { ...lost, ...clients })).toBe(true)
    await expect(ask()).rejects.toThrow(/already running/)
    await leave(id, `version = 1`)
    await endLostRuns(world.deps)
    expect((await ask()).state).toBe('COMPLETED')
  })
})
