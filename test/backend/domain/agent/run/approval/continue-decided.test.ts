// Runs that wait for approval: the calls that the server or the client executes after the decisions, and the results
// for the model.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startBackground } from '../../../../../../src/domain/background/jobs.ts'
import { addParticipant, removeParticipant } from '../../../../../../src/domain/conversation/participant/participant.ts'
import { eraseTurn } from '../../../../../../src/domain/trust/erasure/erase-turn.ts'
import { getApprovalPages, type Approval } from '../../../../../../src/domain/agent/run/approval/approval.ts'
import { cancelRun } from '../../../../../../src/domain/agent/run/cancel.ts'
import { continueDecidedRuns } from '../../../../../../src/domain/agent/run/approval/continue-decided.ts'
import { expireApprovals } from '../../../../../../src/domain/agent/run/approval/request-approvals.ts'
import {
  resolveApproval,
  type ResolveApprovalInput,
} from '../../../../../../src/domain/agent/run/approval/resolve-approval.ts'
import { getRuns } from '../../../../../../src/domain/agent/run/run.ts'
import { runTurn, type RunTurnInput } from '../../../../../../src/domain/agent/run/start.ts'
import { endLostRuns } from '../../../../../../src/domain/agent/run/sweep.ts'
import type { Tool } from '../../../../../../src/domain/agent/run/tools/tools.ts'
import { waitForRun } from '../../../../../../src/domain/agent/run/wait.ts'
import { partsOf } from '../../../../../../src/domain/turn/content.ts'
import { history } from '../../../../../../src/domain/turn/history.ts'
import { Conflict, InvalidInput } from '../../../../../../src/errors.ts'
import { SYSTEM } from '../../../../../../src/store/db/scope.ts'
import { backends } from '../../../../../support/backend.ts'
import { createScriptedProvider, gate, type Script } from '../../../../../support/scripted-provider.ts'
import { useWorld, type Tenant } from '../../../../../support/world.ts'

const provider = createScriptedProvider()
const executed: [tool: string, args: unknown][] = []
let payment = gate()
const schema = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }
const pay: Tool = {
  name: 'pay',
  schema,
  requiresApproval: true,
  async execute(args) {
    executed.push(['pay', args])
    await payment.pause()
    return { paid: true }
  },
}
const read: Tool = {
  name: 'read',
  execute(args) {
    executed.push(['read', args])
    return { balance: 7 }
  },
}
/** A tool whose results a client appends. */
const order = { name: 'order', description: 'Orders something.', requiresApproval: true }

const call = (id: string, name: string, args: unknown = { amount: 9 }) => ({ id, name, arguments: args })

describe.each(backends)('a run that waits for approval, on $name,', (backend) => {
  const world = useWorld(backend, { providers: { scripted: provider }, tools: [pay, read] })
  let tenant: Tenant
  let conversationId: string
  beforeEach(async () => {
    tenant = world.tenant()
    conversationId = await tenant.newConversation({ actor: 'ada', kind: 'HUMAN' }, { actor: 'bot', kind: 'AGENT' })
    executed.length = 0
    provider.asked.length = 0
    payment = gate()
    payment.open()
  })
  afterEach(() => payment.open())

  const ada = () => tenant.as('ada')
  const ask = async (scripts: Script[], more: Partial<RunTurnInput> = {}) => {
    provider.next(...scripts)
    const input = {
      conversationId,
      actor: 'bot',
      provider: 'scripted',
      turns: [{ role: 'USER' as const, content: 'Go.' }],
    }
    const { run } = await runTurn(world.deps, ada(), { ...input, ...more })
    return run
  }
  const approvalsOf = async (runId: string): Promise<Approval[]> =>
    (await getApprovalPages(world.deps, ada(), [runId], {})).get(runId)!.items
  const decide = async (runId: string, ...decisions: Partial<ResolveApprovalInput>[]) => {
    const approvals = await approvalsOf(runId)
    for (const [index, decision] of decisions.entries()) {
      const approvalId = approvals[index]!.id
      await resolveApproval(world.deps, ada(), { approvalId, decision: 'APPROVE', ...decision })
    }
  }
  const stateOf = async (runId: string) => (await getRuns(world.deps, ada(), [runId])).get(runId)!
  /** Continues the decided runs of the conversation, as background work does, and waits for the run. */
  const continueDecided = async (runId: string) => {
    const count = await continueDecidedRuns(world.deps, tenant.name, conversationId)
    await waitForRun(world.deps, { id: runId, tenant: tenant.name })
    return count
  }
  const results = async () =>
    (await history(world.deps, ada(), [conversationId], {}))
      .get(conversationId)!
      .flatMap((turn) => partsOf(turn))
      .flatMap((part) => (part.type === 'toolResult' ? [[part.callId, part.result]] : []))

  it('executes no call of the reply before the last decision, and then all of them', async () => {
    const run = await ask([[call('c1', 'pay'), call('c2', 'read'), call('c3', 'pay', { amount: 4 })], ['Paid.']])
    expect(run.state).toBe('WAITING_FOR_APPROVAL')
    expect((await approvalsOf(run.id)).map(({ callId, state }) => [callId, state])).toEqual([
      ['c1', 'PENDING'],
      ['c3', 'PENDING'],
    ])
    await decide(run.id, { decision: 'APPROVE' })
    expect(await continueDecided(run.id)).toBe(0)
    expect([executed, await stateOf(run.id)]).toMatchObject([[], { state: 'WAITING_FOR_APPROVAL' }])

    await decide(run.id, {}, { arguments: { amount: 3 } })
    expect(await continueDecided(run.id)).toBe(1)
    expect(await stateOf(run.id)).toMatchObject({ state: 'COMPLETED', round: 2 })
    expect(executed).toEqual([
      ['pay', { amount: 9 }],
      ['read', { amount: 9 }],
      ['pay', { amount: 3 }],
    ])
    expect(await results()).toEqual([
      ['c1', { paid: true }],
      ['c2', { balance: 7 }],
      ['c3', { editedArguments: { amount: 3 }, result: { paid: true } }],
    ])
    expect(await continueDecided(run.id)).toBe(0)
  })

  it('passes denials with their reasons, and expired approvals, to the model as results', async () => {
    const tools = [{ name: 'pay', approvalSeconds: 1 }]
    const run = await ask([[call('c1', 'pay'), call('c2', 'pay')], ['I could not pay.']], { tools })
    await decide(run.id, { decision: 'DENY', reason: 'Too much.' })
    await world.deps.db
      .of(SYSTEM)
      .approval.updateMany({ where: { runId: run.id, state: 'PENDING' }, data: { expiresAt: new Date(0) } })
    await expireApprovals(world.deps)
    expect(await continueDecided(run.id)).toBe(1)
    expect([await stateOf(run.id), executed]).toMatchObject([{ state: 'COMPLETED' }, []])
    expect(await results()).toEqual([
      ['c1', { error: 'The call was denied.', reason: 'Too much.' }],
      ['c2', { error: 'Nobody approved the call in time.' }],
    ])
  })

  it('waits for the client to execute an approved call, and passes the denial of another call to the model', async () => {
    const run = await ask([[call('c1', 'order'), call('c2', 'order')], ['Ordered one.']], { tools: [order] })
    expect(run.state).toBe('WAITING_FOR_APPROVAL')
    const early = runTurn(world.deps, ada(), { conversationId, runId: run.id, turns: [] })
    await expect(early).rejects.toThrow('waits for approval')
    await decide(run.id, { decision: 'APPROVE' }, { decision: 'DENY' })
    expect(await continueDecided(run.id)).toBe(1)
    expect(await stateOf(run.id)).toMatchObject({ state: 'WAITING_FOR_TOOLS' })
    expect(await results()).toEqual([['c2', { error: 'The call was denied.' }]])
    const toolResult = { callId: 'c1', name: 'order', result: { ordered: 9 } }
    const turns = [{ role: 'TOOL' as const, parts: [{ toolResult }] }]
    const { run: done } = await runTurn(world.deps, ada(), { conversationId, runId: run.id, turns })
    expect(done.state).toBe('COMPLETED')
  })

  it('continues by itself in the background', async () => {
    const stop = startBackground(world.deps)
    const run = await ask([[call('c1', 'pay')], ['Paid.']])
    await decide(run.id, { decision: 'APPROVE' })
    await expect.poll(async () => (await stateOf(run.id)).state).toBe('COMPLETED')
    expect(executed).toEqual([['pay', { amount: 9 }]])
    await stop()
  })

  it('is continued by one of several processes', async () => {
    const run = await ask([[call('c1', 'pay')], ['Paid.']])
    await decide(run.id, { decision: 'APPROVE' })
    const counts = await Promise.all([1, 2, 3].map(() => continueDecidedRuns(world.deps, tenant.name, conversationId)))
    expect(counts.toSorted()).toEqual([0, 0, 1])
    await waitForRun(world.deps, { id: run.id, tenant: tenant.name })
    expect([await stateOf(run.id), executed]).toMatchObject([{ state: 'COMPLETED' }, [['pay', { amount: 9 }]]])
  })

  it('does not prevent other runs of the agent, and continues after they end', async () => {
    const waiting = await ask([[call('c1', 'pay')]])
    const { pause, open } = gate()
    const other = await ask([[pause, 'Later.']], { wait: false })
    await decide(waiting.id, { decision: 'APPROVE' })
    expect(await continueDecidedRuns(world.deps, tenant.name, conversationId)).toBe(0)
    expect(await stateOf(waiting.id)).toMatchObject({ state: 'WAITING_FOR_APPROVAL' })
    open()
    await waitForRun(world.deps, { id: other.id, tenant: tenant.name })
    expect(await continueDecided(waiting.id)).toBe(1)
    expect(await stateOf(waiting.id)).toMatchObject({ state: 'COMPLETED' })
  })

  it('rejects edited arguments that do not match the schema of the tool', async () => {
    const run = await ask([[call('c1', 'pay')]])
    const wrong = decide(run.id, { decision: 'APPROVE', arguments: { amount: 'all' } })
    await expect(wrong).rejects.toThrow(InvalidInput)
    await expect(wrong).rejects.toThrow('arguments: do not match the schema of pay')
    expect(await approvalsOf(run.id)).toMatchObject([{ state: 'PENDING', editedArguments: null }])
  })

  it('requests no approval for a reply with an invalid call', async () => {
    const run = await ask([[call('c1', 'pay'), call('c2', 'pay', { amount: 'all' })], [call('c3', 'pay')]])
    expect(run.state).toBe('WAITING_FOR_APPROVAL')
    expect(await approvalsOf(run.id)).toMatchObject([{ callId: 'c3' }])
  })

  it('cancels its approvals when it is cancelled', async () => {
    const run = await ask([[call('c1', 'pay'), call('c2', 'pay')]])
    await decide(run.id, { decision: 'APPROVE' })
    await cancelRun(world.deps, ada(), { runId: run.id })
    expect((await approvalsOf(run.id)).map(({ state }) => state)).toEqual(['APPROVED', 'CANCELLED'])
    await expect(decide(run.id, {}, { decision: 'APPROVE' })).rejects.toThrow(Conflict)
    expect(await continueDecided(run.id)).toBe(0)
    expect(executed).toEqual([])
  })

  it('stays cancelled if a decision arrives at the time of its cancellation', async () => {
    for (let n = 0; n < 5; n++) {
      const run = await ask([[call(`c${n}`, 'pay')]])
      await Promise.allSettled([
        decide(run.id, { decision: 'APPROVE' }),
        cancelRun(world.deps, ada(), { runId: run.id }),
      ])
      await continueDecided(run.id)
      expect(await stateOf(run.id)).toMatchObject({ state: 'CANCELLED' })
    }
    expect(executed).toEqual([])
  })

  it('fails when the turn with the calls is erased, or the agent was removed', async () => {
    const erased = await ask([[call('c1', 'pay')]])
    await eraseTurn(world.deps, tenant.as('owner'), { turnId: (await stateOf(erased.id)).turnId! })
    expect(await continueDecided(erased.id)).toBe(1)
    expect(await stateOf(erased.id)).toMatchObject({ state: 'FAILED', errorCode: 'INTERRUPTED' })

    const left = await ask([[call('c1', 'pay')]])
    await removeParticipant(world.deps, tenant.as('owner'), { conversationId, actor: 'bot' })
    await decide(left.id, { decision: 'DENY' })
    expect(await continueDecided(left.id)).toBe(1)
    expect(await stateOf(left.id)).toMatchObject({ state: 'FAILED', errorCode: 'AGENT_LEFT' })
    await addParticipant(world.deps, tenant.as('owner'), {
      conversationId,
      participant: { actor: 'bot', kind: 'AGENT' },
    })
    expect(executed).toEqual([])
  })

  describe('whose process dies', () => {
    /** Makes the run look as if its process had died. */
    const die = async (runId: string, data: object = {}) => {
      const lost = { state: 'RUNNING' as const, holder: 'dead', leaseUntil: new Date(0), ...data }
      await world.deps.db.of(SYSTEM).run.update({ where: { id: runId }, data: lost })
      await endLostRuns(world.deps)
    }

    it('before the approvals are requested, requests them', async () => {
      const run = await ask([[call('c1', 'pay'), call('c2', 'read')], ['Paid.']])
      await world.deps.db.of(SYSTEM).approval.deleteMany({ where: { runId: run.id } })
      await die(run.id)
      expect(await stateOf(run.id)).toMatchObject({ state: 'WAITING_FOR_APPROVAL' })
      expect(await approvalsOf(run.id)).toMatchObject([{ callId: 'c1', state: 'PENDING' }])
      await decide(run.id, { decision: 'APPROVE' })
      await continueDecided(run.id)
      expect(executed).toEqual([
        ['pay', { amount: 9 }],
        ['read', { amount: 9 }],
      ])
    })

    it('while it executes approved calls, fails, and executes no call again', async () => {
      const run = await ask([[call('c1', 'pay')]])
      await decide(run.id, { decision: 'APPROVE' })
      await die(run.id)
      expect(await stateOf(run.id)).toMatchObject({ state: 'FAILED', errorCode: 'INTERRUPTED' })
      expect(await continueDecided(run.id)).toBe(0)
      expect(executed).toEqual([])
    })

    it('before it appends the results of denials, appends them', async () => {
      const run = await ask([[call('c1', 'pay')], ['Well.']])
      await decide(run.id, { decision: 'DENY' })
      await die(run.id)
      expect(await stateOf(run.id)).toMatchObject({ state: 'WAITING_FOR_APPROVAL' })
      expect(await continueDecided(run.id)).toBe(1)
      expect(await stateOf(run.id)).toMatchObject({ state: 'COMPLETED' })
      expect(await results()).toEqual([['c1', { error: 'The call was denied.' }]])
    })
  })
})
