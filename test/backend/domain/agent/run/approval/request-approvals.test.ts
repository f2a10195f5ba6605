// A tool call that waits for approval: nobody changes it, answers it or repeats its id, and the model gets the outcome
// of the decision.

import { beforeEach, describe, expect, it } from 'vitest'
import { eraseTurn } from '../../../../../../src/domain/trust/erasure/erase-turn.ts'
import { getApprovalPages, type Approval } from '../../../../../../src/domain/agent/run/approval/approval.ts'
import { callHash } from '../../../../../../src/domain/agent/run/tools/call-hash.ts'
import { cancelRun } from '../../../../../../src/domain/agent/run/cancel.ts'
import { continueDecidedRuns } from '../../../../../../src/domain/agent/run/approval/continue-decided.ts'
import {
  resolveApproval,
  type ResolveApprovalInput,
} from '../../../../../../src/domain/agent/run/approval/resolve-approval.ts'
import { getRuns } from '../../../../../../src/domain/agent/run/run.ts'
import { runTurn } from '../../../../../../src/domain/agent/run/start.ts'
import { endLostRuns } from '../../../../../../src/domain/agent/run/sweep.ts'
import type { Tool } from '../../../../../../src/domain/agent/run/tools/tools.ts'
import { waitForRun } from '../../../../../../src/domain/agent/run/wait.ts'
import { commitTurn } from '../../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, appendTurns, openTurn } from '../../../../../../src/domain/turn/append/append.ts'
import { partsOf, type PartInput } from '../../../../../../src/domain/turn/content.ts'
import { history } from '../../../../../../src/domain/turn/history.ts'
import { supersedeTurn } from '../../../../../../src/domain/turn/supersede.ts'
import { Conflict, InvalidInput } from '../../../../../../src/errors.ts'
import { SYSTEM } from '../../../../../../src/store/db/scope.ts'
import { backends } from '../../../../../support/backend.ts'
import { createScriptedProvider, type Script } from '../../../../../support/scripted-provider.ts'
import { useWorld, type Tenant } from '../../../../../support/world.ts'
import { WRITER } from '../../../../../support/writer.ts'

const provider = createScriptedProvider()
const executed: unknown[] = []
const pay: Tool = {
  name: 'pay',
  requiresApproval: true,
  execute(args) {
    executed.push(args)
    return { paid: true }
  },
}
/** A tool whose results a client appends. */
const order = { name: 'order', description: 'Orders something.', requiresApproval: true }

const call = (name: string, amount: number, id = 'c1') => ({ id, name, arguments: { amount } })
const callPart = (amount: number, callId = 'c1', name = 'pay'): PartInput => ({
  toolCall: { callId, name, arguments: { amount } },
})
const resultPart = (result: unknown, callTurnId?: string, name = 'pay'): PartInput => ({
  toolResult: { callId: 'c1', name, result, ...(callTurnId && { callTurnId }) },
})

describe.each(backends)('a call that waits for approval, on $name,', (backend) => {
  const world = useWorld(backend, { providers: { scripted: provider }, tools: [pay] })
  let tenant: Tenant
  let conversationId: string
  beforeEach(async () => {
    tenant = world.tenant()
    conversationId = await tenant.newConversation({ actor: 'ada', kind: 'HUMAN' }, { actor: 'bot', kind: 'AGENT' })
    executed.length = 0
    provider.reset()
  })

  const [ada, bot] = [() => tenant.as('ada'), () => tenant.as('bot')]
  const runsOf = async (id: string) => (await getRuns(world.deps, ada(), [id])).get(id)!
  const approvalOf = async (runId: string): Promise<Approval> =>
    (await getApprovalPages(world.deps, ada(), [runId], {})).get(runId)!.items[0]!
  async function ask(scripts: Script[], tools = [{ name: 'pay' }]) {
    provider.next(...scripts)
    const turns = [{ role: 'USER' as const, content: 'Go.' }]
    const input = { conversationId, actor: 'bot', provider: 'scripted', turns, tools }
    const { run } = await runTurn(world.deps, ada(), input)
    return { runId: run.id, turnId: run.turnId!, approval: await approvalOf(run.id) }
  }
  const decide = (approval: Approval, decision: Omit<ResolveApprovalInput, 'approvalId'>) =>
    resolveApproval(world.deps, ada(), { approvalId: approval.id, ...decision })
  async function continueRun(runId: string) {
    await continueDecidedRuns(world.deps, tenant.name, conversationId)
    await waitForRun(world.deps, { id: runId, tenant: tenant.name })
    return runsOf(runId)
  }
  const append = (actor: string, parts: PartInput[], role: 'TOOL' | 'ASSISTANT' = 'TOOL') =>
    appendTurn(world.deps, tenant.as(actor), { conversationId, turn: { role, parts } })
  const partsInHistory = async () =>
    (await history(world.deps, ada(), [conversationId], {})).get(conversationId)!.flatMap((turn) => partsOf(turn))
  const results = async () =>
    (await partsInHistory()).flatMap((part) => (part.type === 'toolResult' ? [part.result] : []))
  /** Appends a result while the run looks ended, as if the result had been written before the call waited. */
  async function slipIn(runId: string, parts: PartInput[]) {
    const run = world.deps.db.of(SYSTEM).run
    await run.update({ where: { id: runId }, data: { endedAt: new Date() } })
    await append('ada', parts)
    await run.update({ where: { id: runId }, data: { endedAt: null } })
  }
  /** The results of tool calls in the newest prompt. */
  const seenByModel = () =>
    provider.asked.at(-1)!.messages.flatMap(({ role, content }) => (role === 'tool' ? [JSON.stringify(content)] : []))

  it('keeps its arguments, so that the approved ones are executed and stand', async () => {
    const { runId, turnId, approval } = await ask([[call('pay', 5)], ['Paid.']])
    const raise = () =>
      supersedeTurn(world.deps, bot(), { turnId, turn: { role: 'ASSISTANT', parts: [callPart(5_000)] } })
    await expect(raise()).rejects.toThrow(Conflict)
    await expect(raise()).rejects.toThrow(`Call "c1" of turn ${turnId} waits for approval ${approval.id}.`)
    await decide(approval, { decision: 'APPROVE' })
    await expect(raise()).rejects.toThrow(Conflict)
    expect(await continueRun(runId)).toMatchObject({ state: 'COMPLETED' })
    expect(executed).toEqual([{ amount: 5 }])
    await expect(raise()).rejects.toThrow(`was approved by approval ${approval.id}`)
    expect((await partsInHistory()).filter(({ type }) => type === 'toolCall')).toMatchObject([
      { callId: 'c1', arguments: { amount: 5 } },
    ])
  })

  it.each<[how: string, write: (turnId: string) => Promise<unknown>]>([
    ['appended by the agent', () => append('bot', [resultPart({ paid: 'no' })])],
    ['appended by another participant', (turnId) => append('ada', [resultPart({ paid: 'no' }, turnId)])],
    [
      'in a batch',
      () => {
        const turns = [
          { role: 'USER' as const, content: 'So.' },
          { role: 'TOOL' as const, parts: [resultPart(0)] },
        ]
        return appendTurns(world.deps, ada(), { conversationId, turns })
      },
    ],
    [
      'imported with a time',
      () => {
        const turn = { role: 'TOOL' as const, parts: [resultPart(0)], createdAt: new Date(0) }
        return appendTurn(world.deps, ada(), { conversationId, turn })
      },
    ],
    [
      'in the turns of another run',
      () =>
        runTurn(world.deps, ada(), {
          ...{ conversationId, actor: 'bot', provider: 'scripted' },
          turns: [{ role: 'TOOL', parts: [resultPart(0)] }],
        }),
    ],
    [
      'committed with a streaming turn',
      async () => {
        const input = { conversationId, turn: { role: 'TOOL' as const }, writerToken: WRITER }
        const { turn } = await openTurn(world.deps, ada(), input)
        await commitTurn(world.deps, ada(), { turnId: turn.id, writerToken: WRITER, parts: [resultPart(0)] })
      },
    ],
    [
      'in a newer version of another turn',
      async () => {
        const { id } = await tenant.append(conversationId, 'ada', 'Hm.')
        await supersedeTurn(world.deps, ada(), { turnId: id, turn: { role: 'TOOL', parts: [resultPart(0)] } })
      },
    ],
  ])('has no result %s before the run writes it', async (_, write) => {
    const { runId, turnId, approval } = await ask([[call('pay', 5)], ['Paid.']])
    for (const decision of [null, 'APPROVE'] as const) {
      if (decision) await decide(approval, { decision })
      const refused = write(turnId)
      await expect(refused).rejects.toThrow(Conflict)
      await expect(refused).rejects.toThrow(`Call "c1" of turn ${turnId}`)
    }
    expect(await results()).toEqual([])
    expect(await continueRun(runId)).toMatchObject({ state: 'COMPLETED' })
    expect(await results()).toEqual([{ paid: true }])
  })

  it('shares its id with no later call of the agent, until the run has moved on', async () => {
    const { runId, turnId, approval } = await ask([[call('pay', 5)], ['Paid.']])
    const { id } = await tenant.append(conversationId, 'bot', 'Hm.', { role: 'ASSISTANT' })
    const { turn } = await openTurn(world.deps, bot(), {
      ...{ conversationId, writerToken: WRITER },
      turn: { role: 'ASSISTANT' },
    })
    const commit = () =>
      commitTurn(world.deps, bot(), { turnId: turn.id, writerToken: WRITER, parts: [callPart(5_000)] })
    for (const write of [
      () => append('bot', [callPart(5_000)], 'ASSISTANT'),
      () => supersedeTurn(world.deps, bot(), { turnId: id, turn: { role: 'ASSISTANT', parts: [callPart(5_000)] } }),
      commit,
    ]) {
      await expect(write()).rejects.toThrow(Conflict)
      await expect(write()).rejects.toThrow(`Call "c1" of turn ${turnId} waits for approval ${approval.id}.`)
    }
    await append('ada', [callPart(5_000)], 'ASSISTANT')
    await append('bot', [callPart(5_000, 'c2')], 'ASSISTANT')
    await decide(approval, { decision: 'APPROVE' })
    await continueRun(runId)
    await commit()
  })

  it('does not keep another run of the agent from calling a tool with the same id', async () => {
    const first = await ask([[call('pay', 5)]])
    const second = await ask([[call('pay', 6)]])
    for (const { runId, approval } of [second, first]) {
      await decide(approval, { decision: 'APPROVE' })
      expect(await continueRun(runId)).toMatchObject({ state: 'COMPLETED' })
    }
    expect(executed).toHaveLength(2)
  })

  it('gets its result from the client once it is approved and the run waits for the result', async () => {
    const { runId, turnId, approval } = await ask([[call('order', 5)], ['Ordered.']], [order])
    await decide(approval, { decision: 'APPROVE' })
    const parts = [resultPart('ordered', turnId, 'order')]
    await expect(append('ada', parts)).rejects.toThrow('once the run is WAITING_FOR_TOOLS')
    expect(await continueRun(runId)).toMatchObject({ state: 'WAITING_FOR_TOOLS' })
    const raise = supersedeTurn(world.deps, bot(), {
      ...{ turnId, turn: { role: 'ASSISTANT', parts: [callPart(5_000, 'c1', 'order')] } },
    })
    await expect(raise).rejects.toThrow(Conflict)
    const { run } = await runTurn(world.deps, ada(), { conversationId, runId, turns: [{ role: 'TOOL', parts }] })
    expect(run.state).toBe('COMPLETED')
    expect(await results()).toEqual(['ordered'])
  })

  it('gets no result but the denial, even after the run', async () => {
    const { runId, turnId, approval } = await ask([[call('pay', 5)], ['No.']])
    await decide(approval, { decision: 'DENY', reason: 'Too much.' })
    expect(await continueRun(runId)).toMatchObject({ state: 'COMPLETED' })
    await expect(append('ada', [resultPart({ paid: true }, turnId)])).rejects.toThrow('was denied')
    const denial = await world.deps.db.of(SYSTEM).turn.findFirstOrThrow({ where: { conversationId, role: 'TOOL' } })
    for (const parts of [[resultPart({ paid: true })], [{ text: 'It was paid.' }]]) {
      const edit = supersedeTurn(world.deps, bot(), { turnId: denial.id, turn: { role: 'TOOL', parts } })
      await expect(edit).rejects.toThrow(Conflict)
    }
    expect(await results()).toEqual([{ error: 'The call was denied.', reason: 'Too much.' }])
  })

  it('no longer excludes results and versions after its run was cancelled', async () => {
    const { runId, turnId } = await ask([[call('pay', 5)]])
    await cancelRun(world.deps, ada(), { runId })
    await append('ada', [resultPart('by hand', turnId)])
    await supersedeTurn(world.deps, bot(), { turnId, turn: { role: 'ASSISTANT', parts: [callPart(6)] } })
    expect(await results()).toEqual(['by hand'])
  })

  it('can be erased, which cancels its approval', async () => {
    const { runId, turnId } = await ask([[call('pay', 5)]])
    await eraseTurn(world.deps, tenant.as('owner'), { turnId })
    expect(await approvalOf(runId)).toMatchObject({ state: 'CANCELLED', callHash: null })
    expect(await continueRun(runId)).toMatchObject({ state: 'FAILED', errorCode: 'INTERRUPTED' })
  })

  it('takes no clientId of its run, so that no other turn stands in the place of its result', async () => {
    const { runId } = await ask([[call('pay', 5)]])
    const squat = { role: 'USER' as const, content: 'Hm.', clientId: `${runId}:1` }
    const refused = appendTurn(world.deps, bot(), { conversationId, turn: squat })
    await expect(refused).rejects.toThrow('runs use these for their results')
  })

  describe('with a hash', () => {
    /** Changes the arguments of the stored call, as no verb of the server does. */
    const tamper = (turnId: string, amount: number) =>
      world.deps.db
        .of(SYSTEM)
        .turn.updateMany({
          where: { id: turnId },
          data: { parts: [{ type: 'toolCall', callId: 'c1', name: 'pay', arguments: { amount } }] },
        })
    const CHANGED = { error: 'The call was not executed: its tool, id or arguments are not the approved ones.' }

    it('is not executed with arguments that were not approved', async () => {
      const { runId, turnId, approval } = await ask([[call('pay', 5)], ['I did not pay.']])
      expect(approval.callHash).toBe(callHash(call('pay', 5)))
      await decide(approval, { decision: 'APPROVE', expectedCallHash: approval.callHash })
      await tamper(turnId, 5_000)
      expect(await continueRun(runId)).toMatchObject({ state: 'COMPLETED' })
      expect([executed, await results()]).toEqual([[], [CHANGED]])
      expect(seenByModel()).toEqual([expect.stringContaining(CHANGED.error)])
    })

    it('is not executed if a newer version of its turn has other arguments', async () => {
      const { runId, turnId, approval } = await ask([[call('pay', 5)], ['I did not pay.']])
      // As before versions of waiting turns were refused.
      const run = world.deps.db.of(SYSTEM).run
      await run.update({ where: { id: runId }, data: { endedAt: new Date() } })
      await supersedeTurn(world.deps, bot(), { turnId, turn: { role: 'ASSISTANT', parts: [callPart(5_000)] } })
      await run.update({ where: { id: runId }, data: { endedAt: null } })
      await decide(approval, { decision: 'APPROVE' })
      expect(await continueRun(runId)).toMatchObject({ state: 'COMPLETED' })
      expect([executed, await results()]).toEqual([[], [CHANGED]])
    })

    it('is not decided about by an actor who expects another hash', async () => {
      const { runId, approval } = await ask([[call('pay', 5)], ['Paid.']])
      const other = callHash(call('pay', 6))
      for (const decision of ['APPROVE', 'DENY'] as const) {
        const refused = decide(approval, { decision, expectedCallHash: other })
        await expect(refused).rejects.toThrow(Conflict)
        await expect(refused).rejects.toThrow(`its callHash is ${approval.callHash}`)
      }
      await expect(decide(approval, { decision: 'APPROVE', expectedCallHash: 'x' })).rejects.toThrow(InvalidInput)
      expect(await approvalOf(runId)).toMatchObject({ state: 'PENDING' })
      await decide(approval, { decision: 'APPROVE', expectedCallHash: approval.callHash })
      await expect(decide(approval, { decision: 'APPROVE', expectedCallHash: other })).rejects.toThrow(Conflict)
    })

    it('that an older version of the server did not store, gets it with the decision', async () => {
      const { runId, turnId, approval } = await ask([[call('pay', 5)], ['Paid.']])
      await world.deps.db.of(SYSTEM).approval.updateMany({ where: { runId }, data: { callHash: null } })
      const other = decide(approval, { decision: 'APPROVE', expectedCallHash: callHash(call('pay', 6)) })
      await expect(other).rejects.toThrow(Conflict)
      await decide(approval, { decision: 'APPROVE' })
      expect((await approvalOf(runId)).callHash).toBe(callHash(call('pay', 5)))
      await tamper(turnId, 5_000)
      await continueRun(runId)
      expect(executed).toEqual([])
    })
  })

  it('does not wait if its turn was superseded while the process that made it was dead', async () => {
    const { runId, turnId } = await ask([[call('pay', 5)]])
    const db = world.deps.db.of(SYSTEM)
    await db.approval.deleteMany({ where: { runId } })
    const dead = { state: 'RUNNING' as const, holder: 'dead', leaseUntil: new Date(0) }
    await db.run.update({ where: { id: runId }, data: dead })
    await supersedeTurn(world.deps, bot(), { turnId, turn: { role: 'ASSISTANT', parts: [callPart(5_000)] } })
    await endLostRuns(world.deps)
    expect(await runsOf(runId)).toMatchObject({ state: 'FAILED', errorCode: 'INTERRUPTED' })
    expect(await approvalOf(runId)).toBeUndefined()
  })

  describe('with a result from before it waited,', () => {
    it('is denied, and the model gets the denial', async () => {
      const { runId, turnId, approval } = await ask([[call('pay', 5)], ['I did not pay.']])
      await slipIn(runId, [resultPart('It is paid.', turnId)])
      await decide(approval, { decision: 'DENY', reason: 'Too much.' })
      expect(await continueRun(runId)).toMatchObject({ state: 'COMPLETED' })
      expect(executed).toEqual([])
      const denial = { error: 'The call was denied.', reason: 'Too much.' }
      expect(await results()).toEqual(['It is paid.', denial])
      expect(seenByModel()).toEqual([expect.stringContaining('The call was denied.')])
      expect(seenByModel()[0]).not.toContain('It is paid.')
    })

    it('is approved, executed, and the model gets the result of the execution', async () => {
      const { runId, turnId, approval } = await ask([[call('pay', 5)], ['Paid.']])
      await slipIn(runId, [resultPart('It failed.', turnId)])
      await decide(approval, { decision: 'APPROVE' })
      expect(await continueRun(runId)).toMatchObject({ state: 'COMPLETED' })
      expect(executed).toEqual([{ amount: 5 }])
      expect(seenByModel()).toEqual([expect.stringContaining('paid')])
    })

    it('is approved, and its client still has to append the result', async () => {
      const { runId, turnId, approval } = await ask([[call('order', 5)], ['Ordered.']], [order])
      await slipIn(runId, [resultPart('too early', turnId, 'order')])
      await decide(approval, { decision: 'APPROVE' })
      expect(await continueRun(runId)).toMatchObject({ state: 'WAITING_FOR_TOOLS' })
      const resume = (parts: PartInput[]) =>
        runTurn(world.deps, ada(), {
          conversationId,
          runId,
          turns: parts.map((part) => ({ role: 'TOOL', parts: [part] })),
        })
      await expect(resume([])).rejects.toThrow('still waits for results of the calls c1')
      expect((await resume([resultPart('ordered', turnId, 'order')])).run.state).toBe('COMPLETED')
      expect(seenByModel()).toEqual([expect.stringContaining('ordered')])
    })
  })
})
