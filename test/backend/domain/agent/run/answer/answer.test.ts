// The answers of agents that the server runs because turns woke them up: one answer for each wake-up, or a reason.

import { beforeEach, describe, expect, it } from 'vitest'
import { Conflict } from '../../../../../../src/errors.ts'
import { eraseTurn } from '../../../../../../src/domain/trust/erasure/erase-turn.ts'
import { claimTurn, releaseClaim } from '../../../../../../src/domain/agent/claim/claim.ts'
import { getWakeUps } from '../../../../../../src/domain/agent/claim/wake-up-page.ts'
import { answerNext } from '../../../../../../src/domain/agent/run/answer/answer.ts'
import { cancelRun } from '../../../../../../src/domain/agent/run/cancel.ts'
import { continueDecidedRuns } from '../../../../../../src/domain/agent/run/approval/continue-decided.ts'
import { expireApprovals } from '../../../../../../src/domain/agent/run/approval/request-approvals.ts'
import { resolveApproval } from '../../../../../../src/domain/agent/run/approval/resolve-approval.ts'
import { runTurn } from '../../../../../../src/domain/agent/run/start.ts'
import { waitForRun } from '../../../../../../src/domain/agent/run/wait.ts'
import { history } from '../../../../../../src/domain/turn/history.ts'
import { supersedeTurn } from '../../../../../../src/domain/turn/supersede.ts'
import { ProviderCallFailed } from '../../../../../../src/providers/ports/provider-adapter.ts'
import { JobFailed } from '../../../../../../src/store/jobs/job-queue.ts'
import { readDueAgents, readDueAgentsAmong } from '../../../../../../src/store/sql/agent/wake-up/due-wake-ups.ts'
import { readUnclaimedWakeUps } from '../../../../../../src/store/sql/agent/wake-up/read-wake-ups.ts'
import { backends } from '../../../../../support/backend.ts'
import { createScriptedProvider, gate } from '../../../../../support/scripted-provider.ts'
import { sql } from '../../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../../support/world.ts'

const provider = createScriptedProvider()
const LIMITS = { attempts: 2, delayMs: 0 }

describe.each(backends)('agents that turns wake up on $name', (backend) => {
  const world = useWorld(backend, {
    providers: { scripted: provider },
    tools: [{ name: 'pay', requiresApproval: true, execute: () => 'paid' }],
  })
  let tenant: Tenant
  let conversationId: string
  const signal = new AbortController().signal
  const agent = (actor: string, name = 'scripted') => ({
    actor,
    respond: 'MENTIONED' as const,
    agent: { provider: name, instructions: `You are ${actor}.` },
  })
  beforeEach(async () => {
    tenant = world.tenant()
    conversationId = await tenant.newConversation({ actor: 'ann', kind: 'HUMAN' }, agent('bot'), agent('lost', 'gone'))
    provider.reset()
  })
  const answer = (actor = 'bot', deps = world.deps) =>
    answerNext(deps, { tenant: tenant.name, conversationId, actor }, signal, LIMITS)
  const wakeUps = async () =>
    (
      await sql(world.deps.pool).query(
        `SELECT turn_id, answer_id, dropped_reason, attempts FROM wake_up WHERE conversation_id = $1 ORDER BY position`,
        [conversationId],
      )
    ).rows
  const turns = async (actor = 'ann') =>
    (await history(world.deps, tenant.as(actor), [conversationId], {})).get(conversationId)!
  async function isAsked() {
    await expect.poll(() => provider.asked.length).toBe(1)
  }
  const due = () => readDueAgentsAmong(world.deps.db, [conversationId])

  it('answer each turn once, oldest first, with their settings', async () => {
    const first = await tenant.append(conversationId, 'ann', '@bot one')
    const second = await tenant.append(conversationId, 'ann', '@bot two')
    provider.next(['first answer'], ['second answer'])
    expect(await due()).toEqual([{ tenant: tenant.name, key: `${conversationId} bot` }])
    expect(await readDueAgents(world.deps.db, `${conversationId} bo`, 1)).toEqual(await due())
    expect([await answer(), await answer(), await answer()]).toEqual([true, true, false])
    const [, , third, fourth] = await turns()
    expect(third).toMatchObject({ actor: 'bot', text: 'first answer', replyToId: first.id })
    expect(fourth).toMatchObject({ actor: 'bot', text: 'second answer', replyToId: second.id })
    expect(await wakeUps()).toEqual([
      { turn_id: first.id, answer_id: third!.id, dropped_reason: null, attempts: 1 },
      { turn_id: second.id, answer_id: fourth!.id, dropped_reason: null, attempts: 1 },
    ])
    expect(provider.asked[0]!.messages[0]!.content).toEqual([{ type: 'text', text: 'You are bot.' }])
    expect(await due()).toEqual([])
  })

  it('answer a turn once if several processes find it at the same time', async () => {
    await tenant.append(conversationId, 'ann', '@bot')
    const { pause, open } = gate()
    provider.next([pause, 'ok'])
    const answers = [answer(), answer(), answer()]
    await isAsked()
    expect(await due()).toEqual([])
    open()
    expect((await Promise.all(answers)).filter(Boolean)).toHaveLength(1)
    expect((await turns()).filter(({ actor }) => actor === 'bot')).toHaveLength(1)
  })

  it('answer the newest version of a turn, and a private turn in private', async () => {
    const { id: turnId } = await tenant.append(conversationId, 'ann', '@bot one', { audience: ['bot'] })
    const edit = { turnId, turn: { role: 'USER' as const, content: '@bot two' } }
    const { turn: newer } = await supersedeTurn(world.deps, tenant.as('ann'), edit)
    await answer()
    expect((await turns()).at(-1)).toMatchObject({ actor: 'bot', replyToId: newer.id, audience: ['bot', 'ann'] })
    expect(await turns('stranger')).toEqual([])
    expect(await wakeUps()).toMatchObject([{ turn_id: turnId, answer_id: expect.any(String) }])
  })

  it('are run again after a failure, and drop the wake-up after the last attempt', async () => {
    const turn = await tenant.append(conversationId, 'ann', '@bot')
    const failure = () => new ProviderCallFailed('REFUSED', 'The provider answered 401.', false)
    provider.next([failure()], [failure()])
    await expect(answer()).rejects.toThrow(JobFailed)
    expect(await wakeUps()).toMatchObject([{ answer_id: null, dropped_reason: null, attempts: 1 }])
    expect([await answer(), await answer(), await answer()]).toEqual([true, true, false])
    expect(await wakeUps()).toEqual([
      { turn_id: turn.id, answer_id: null, dropped_reason: 'AGENT_FAILED', attempts: 2 },
    ])
    const runs = await world.deps.db.of(tenant.name).run.findMany({ where: { conversationId } })
    expect(runs.map(({ state, replyToId }) => [state, replyToId])).toEqual([
      ['FAILED', turn.id],
      ['FAILED', turn.id],
    ])
  })

  it('answer after a failure if the next attempt succeeds', async () => {
    await tenant.append(conversationId, 'ann', '@bot')
    provider.next(['half ', new Error('reset')], ['whole'])
    await expect(answer()).rejects.toThrow(JobFailed)
    expect(await answer()).toBe(true)
    expect((await turns()).slice(1).map(({ text, status }) => [text, status])).toEqual([
      ['half ', 'ABORTED'],
      ['whole', 'COMMITTED'],
    ])
    expect(await wakeUps()).toMatchObject([{ answer_id: expect.any(String), attempts: 2 }])
  })

  it('drop the wake-up at once if the server has no such provider', async () => {
    await tenant.append(conversationId, 'ann', '@lost')
    expect(await answer('lost')).toBe(false)
    expect(await wakeUps()).toMatchObject([{ dropped_reason: 'AGENT_FAILED', attempts: 1 }])
  })

  it('do not answer once their run was cancelled', async () => {
    await tenant.append(conversationId, 'ann', '@bot')
    const { pause } = gate()
    provider.next([pause])
    const answering = answer()
    await isAsked()
    const { id: runId } = (await world.deps.db.of(tenant.name).run.findFirst({ where: { conversationId } }))!
    await cancelRun(world.deps, tenant.as('bot'), { runId })
    await answering
    expect([await answer(), await answer()]).toEqual([true, false])
    expect(await wakeUps()).toMatchObject([{ dropped_reason: 'RUN_CANCELLED', attempts: 1 }])
  })

  it('wait while their run waits for results of tools', async () => {
    await tenant.append(conversationId, 'ann', '@bot')
    const tool = { name: 'look_up', description: 'Looks something up.' }
    await world.deps.db
      .of(tenant.name)
      .participant.updateMany({
        where: { conversationId, actor: 'bot' },
        data: { agent: { provider: 'scripted', tools: [tool] } },
      })
    provider.next([{ id: 'c1', name: 'look_up', arguments: {} }], ['found'])
    await answer()
    expect(await due()).toEqual([])
    expect(await wakeUps()).toMatchObject([{ answer_id: null, attempts: 1 }])
    const { id: runId } = (await world.deps.db.of(tenant.name).run.findFirst({ where: { conversationId } }))!
    const result = { toolResult: { callId: 'c1', name: 'look_up', result: 1 } }
    await runTurn(world.deps, tenant.as('bot'), { conversationId, runId, turns: [{ role: 'TOOL', parts: [result] }] })
    const answerId = (await turns()).at(-1)!.id
    expect(await wakeUps()).toMatchObject([{ answer_id: answerId, attempts: 1 }])
    const claims = await world.deps.db.of(tenant.name).claim.findMany({ where: { conversationId } })
    expect(claims).toMatchObject([{ slot: 'bot', outcome: 'ANSWERED', answerId }])
  })

  describe('with a call that waits for approval', () => {
    const waitingRun = async () => {
      const { id: turnId } = await tenant.append(conversationId, 'ann', '@bot')
      provider.next([{ id: 'c1', name: 'pay', arguments: {} }], ['It was not paid.'])
      await answer()
      const run = (await world.deps.db.of(tenant.name).run.findFirst({ where: { conversationId } }))!
      expect(run.state).toBe('WAITING_FOR_APPROVAL')
      return { turnId, runId: run.id }
    }
    const offered = () => readUnclaimedWakeUps(world.deps.pool, tenant.as('bot'), null, 10)

    it('keep the turn without a claim, and prevent claims that exclude their answer', async () => {
      const { turnId, runId } = await waitingRun()
      expect(await wakeUps()).toMatchObject([{ answer_id: null, dropped_reason: null, attempts: 1 }])
      expect([await due(), await offered()]).toEqual([[], []])
      expect((await getWakeUps(world.deps, tenant.as('bot'), {})).items).toMatchObject([{ turnId, claim: null }])
      for (const [actor, scope] of [
        ['bot', 'AGENT'],
        ['bot', 'TURN'],
        ['ann', 'TURN'],
      ] as const) {
        const claiming = claimTurn(world.deps, tenant.as(actor), { turnId, scope, claimToken: 'the token of a claim' })
        await expect(claiming).rejects.toThrow(`"bot" answers turn ${turnId} by run ${runId}, which has not ended.`)
      }
      const other = { turnId, claimToken: 'the token of a claim' }
      expect(await claimTurn(world.deps, tenant.as('ann'), other)).toMatchObject({ scope: 'AGENT' })
    })

    it('do not let a former claim of theirs dismiss the turn', async () => {
      const { id: turnId } = await tenant.append(conversationId, 'ann', '@bot')
      const former = { turnId, scope: 'TURN' as const, claimToken: 'the token of a claim' }
      await claimTurn(world.deps, tenant.as('bot'), former)
      await releaseClaim(world.deps, tenant.as('bot'), former)
      provider.next([{ id: 'c1', name: 'pay', arguments: {} }])
      await answer()
      const dismissing = releaseClaim(world.deps, tenant.as('bot'), { ...former, dismiss: true })
      await expect(dismissing).rejects.toThrow(`"bot" answers turn ${turnId} by run`)
      expect(await wakeUps()).toMatchObject([{ answer_id: null, dropped_reason: null }])
    })

    it.each(['denied', 'expired'])('answer the turn after the call was %s', async (how) => {
      const { turnId, runId } = await waitingRun()
      const { id: approvalId } = (await world.deps.db.of(tenant.name).approval.findFirst({ where: { runId } }))!
      if (how === 'denied') await resolveApproval(world.deps, tenant.as('owner'), { approvalId, decision: 'DENY' })
      else {
        const past = new Date(Date.now() - 1_000)
        await world.deps.db.of(tenant.name).approval.update({ where: { id: approvalId }, data: { expiresAt: past } })
        await expireApprovals(world.deps)
      }
      expect(await wakeUps()).toMatchObject([{ answer_id: null }])
      expect(await continueDecidedRuns(world.deps, tenant.name, conversationId)).toBe(1)
      await waitForRun(world.deps, { id: runId, tenant: tenant.name })
      const last = (await turns()).at(-1)!
      expect(last).toMatchObject({ text: 'It was not paid.', replyToId: turnId })
      expect(await wakeUps()).toEqual([{ turn_id: turnId, answer_id: last.id, dropped_reason: null, attempts: 1 }])
      expect([await due(), await offered(), await answer()]).toEqual([[], [], false])
    })

    const decided = async (decision: 'APPROVE' | 'DENY') => {
      const { turnId, runId } = await waitingRun()
      const { id: approvalId } = (await world.deps.db.of(tenant.name).approval.findFirst({ where: { runId } }))!
      await resolveApproval(world.deps, tenant.as('owner'), { approvalId, decision })
      return { turnId, runId }
    }
    const claims = (turnId: string) =>
      world.deps.db.of(tenant.name).claim.findMany({ where: { turnId }, orderBy: { slot: 'asc' } })
    const claimAsAnn = (turnId: string) =>
      claimTurn(world.deps, tenant.as('ann'), { turnId, scope: 'TURN', claimToken: 'the token of a claim' })

    it.each(['APPROVE', 'DENY'] as const)('claim the turn while they write the answer after %s', async (decision) => {
      const { turnId, runId } = await decided(decision)
      const { pause, open } = gate()
      provider.reset()
      provider.next([pause, 'Done.'])
      await continueDecidedRuns(world.deps, tenant.name, conversationId)
      await isAsked()
      // The open turn keeps the claim of the run.
      await expect(claimAsAnn(turnId)).rejects.toThrow('"bot" has claimed turn')
      open()
      await waitForRun(world.deps, { id: runId, tenant: tenant.name })
      const last = (await turns()).at(-1)!
      expect(last).toMatchObject({ text: 'Done.', status: 'COMMITTED' })
      expect(await claims(turnId)).toMatchObject([{ slot: 'bot', outcome: 'ANSWERED', answerId: last.id }])
      await expect(claimAsAnn(turnId)).rejects.toThrow(`Turn ${turnId} was already answered by turn ${last.id}`)
    })

    it('release the claim when the run fails after the decision', async () => {
      const { turnId, runId } = await decided('DENY')
      provider.reset()
      provider.next([new ProviderCallFailed('REFUSED', 'The provider answered 401.', false)])
      await continueDecidedRuns(world.deps, tenant.name, conversationId)
      await waitForRun(world.deps, { id: runId, tenant: tenant.name })
      expect(await claims(turnId)).toMatchObject([{ slot: 'bot', outcome: 'RELEASED' }])
      expect(await answer()).toBe(true)
      expect(await claims(turnId)).toMatchObject([{ slot: 'bot', outcome: 'ANSWERED' }])
    })

    it('answer even if the claim of the process that requested the approval is still live', async () => {
      const { turnId, runId } = await decided('APPROVE')
      await world.deps.db
        .of(tenant.name)
        .claim.updateMany({ where: { turnId }, data: { endedAt: null, outcome: null } })
      await continueDecidedRuns(world.deps, tenant.name, conversationId)
      await waitForRun(world.deps, { id: runId, tenant: tenant.name })
      expect(await claims(turnId)).toMatchObject([{ outcome: 'ANSWERED', answerId: (await turns()).at(-1)!.id }])
    })

    it('continue without a claim if the turn was erased', async () => {
      const { turnId, runId } = await decided('APPROVE')
      await eraseTurn(world.deps, tenant.as('ann'), { turnId })
      await continueDecidedRuns(world.deps, tenant.name, conversationId)
      await waitForRun(world.deps, { id: runId, tenant: tenant.name })
      expect((await turns()).at(-1)).toMatchObject({ actor: 'bot', text: 'It was not paid.' })
    })

    it('drop the wake-up when the run is cancelled', async () => {
      const { runId } = await waitingRun()
      await cancelRun(world.deps, tenant.as('bot'), { runId })
      expect(await answer()).toBe(true)
      expect(await wakeUps()).toMatchObject([{ answer_id: null, dropped_reason: 'RUN_CANCELLED' }])
      expect(await offered()).toEqual([])
    })
  })

  it('claim the turn while they answer, and do not answer a turn that another participant has claimed', async () => {
    const { id: turnId } = await tenant.append(conversationId, 'ann', '@bot')
    const claim = { turnId, scope: 'TURN' as const, claimToken: 'the token of a claim' }
    await claimTurn(world.deps, tenant.as('ann'), claim)
    expect([await due(), await answer()]).toEqual([[], false])
    await releaseClaim(world.deps, tenant.as('ann'), claim)
    const { pause, open } = gate()
    provider.next([pause, 'ok'])
    const answering = answer()
    await isAsked()
    await expect(claimTurn(world.deps, tenant.as('ann'), claim)).rejects.toThrow(Conflict)
    open()
    expect(await answering).toBe(true)
    await expect(claimTurn(world.deps, tenant.as('ann'), claim)).rejects.toThrow(Conflict)
    expect(
      await world.deps.db.of(tenant.name).claim.findMany({ where: { turnId, outcome: 'ANSWERED' } }),
    ).toMatchObject([{ slot: 'bot', answerId: (await turns()).at(-1)!.id }])
  })

  it('wait for a run that a client started, which does not count as an attempt', async () => {
    const turn = await tenant.append(conversationId, 'ann', '@bot')
    const { pause, open } = gate()
    const deps = { ...world.deps }
    provider.next([pause, 'by the caller'], ['by itself'])
    const running = runTurn(deps, tenant.as('ann'), {
      conversationId,
      actor: 'bot',
      turns: [{ role: 'USER', content: 'x' }],
    })
    await isAsked()
    expect([await due(), await answer()]).toEqual([[], false])
    open()
    await running
    expect(await answer()).toBe(true)
    expect(await wakeUps()).toMatchObject([{ turn_id: turn.id, answer_id: expect.any(String), attempts: 1 }])
  })
})
