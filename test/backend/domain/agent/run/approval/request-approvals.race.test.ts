// While two processes execute, decide and continue a run, a client of the agent tries to change its call, to answer it
// and to repeat its id, from before the call waits until the run has ended. The transcript, the approval and the executed
// arguments always agree, and the model gets the outcome of the decision. FC_SEED repeats the cases of a run.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../../../../../src/domain/deps.ts'
import { getApprovalPages, type Approval } from '../../../../../../src/domain/agent/run/approval/approval.ts'
import { callHash, callsIn } from '../../../../../../src/domain/agent/run/tools/call-hash.ts'
import { continueDecidedRuns } from '../../../../../../src/domain/agent/run/approval/continue-decided.ts'
import { resolveApproval } from '../../../../../../src/domain/agent/run/approval/resolve-approval.ts'
import { getRuns } from '../../../../../../src/domain/agent/run/run.ts'
import { runTurn } from '../../../../../../src/domain/agent/run/start.ts'
import { commitTurn } from '../../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, openTurn } from '../../../../../../src/domain/turn/append/append.ts'
import { partsOf } from '../../../../../../src/domain/turn/content.ts'
import { history } from '../../../../../../src/domain/turn/history.ts'
import { supersedeTurn } from '../../../../../../src/domain/turn/supersede.ts'
import { Conflict } from '../../../../../../src/errors.ts'
import { backends } from '../../../../../support/backend.ts'
import { casesOf } from '../../../../../support/long.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../../support/process.ts'
import { createScriptedProvider } from '../../../../../support/scripted-provider.ts'
import { WRITER } from '../../../../../support/writer.ts'

const seed = Number(process.env.FC_SEED ?? Math.floor(Math.random() * 2 ** 31))

const ATTACKS = ['supersede', 'answer', 'answer by a streaming turn', 'repeat the id'] as const
const race = fc.record({
  attacks: fc.uniqueArray(fc.constantFrom(...ATTACKS), { minLength: 1 }),
  /** Whether the attacks begin before the reply is committed, or when its call waits. */
  early: fc.boolean(),
  approve: fc.boolean(),
  /** The processes of the run, of the decision and of the attacks. */
  at: fc.tuple(fc.nat(1), fc.nat(1), fc.nat(1)),
})

describe.each(backends)('calls that wait while others write, on $name,', (backend) => {
  const provider = createScriptedProvider()
  let executed: unknown[] = []
  const pay = {
    name: 'pay',
    requiresApproval: true,
    async execute(args: unknown) {
      executed.push(args)
      // Gives the attacks time to write between the execution and its result.
      await new Promise((resolve) => setImmediate(resolve))
      return { paid: true }
    },
  }
  let site: Site
  let processes: Process[]
  beforeAll(async () => {
    site = await openSite(backend, { providers: { scripted: provider }, tools: [pay] })
    processes = [await site.start(), await site.start()]
  })
  afterAll(() => site.close())

  async function play({ attacks, early, approve, at }: typeof race extends fc.Arbitrary<infer T> ? T : never) {
    provider.reset()
    executed = []
    const [running, deciding, attacking] = at.map((index) => processes[index]!.deps) as [Deps, Deps, Deps]
    const ada = newViewer()
    const bot = { ...ada, actor: 'bot' }
    const participants = [{ actor: 'bot', kind: 'AGENT' as const }]
    const conversationId = (await createConversation(running, ada, { participants })).conversation.id
    const open = await openTurn(running, ada, { conversationId, writerToken: WRITER, turn: { role: 'TOOL' } })
    const other = await appendTurn(running, bot, { conversationId, turn: { role: 'ASSISTANT', content: 'Hm.' } })

    let begin!: () => void
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const call = { id: 'c1', name: 'pay', arguments: { amount: 5 } }
    provider.next([call, async () => void (early && begin())], ['Done.'])
    const { run } = await runTurn(running, ada, {
      ...{ conversationId, actor: 'bot', provider: 'scripted', wait: false },
      turns: [{ role: 'USER', content: 'Pay 5.' }],
    })
    const read = async () => (await getRuns(running, ada, [run.id])).get(run.id)!
    const hasEnded = async () => ['COMPLETED', 'FAILED'].includes((await read()).state)
    const raised = { toolCall: { callId: 'c1', name: 'pay', arguments: { amount: 5_000 } } }
    const forged = { toolResult: { callId: 'c1', name: 'pay', result: { forged: true } } }
    const attack = (kind: (typeof ATTACKS)[number], turnId: string): Promise<unknown> => {
      switch (kind) {
        case 'supersede':
          return supersedeTurn(attacking, bot, { turnId, turn: { role: 'ASSISTANT', parts: [raised] } })
        case 'answer': {
          const toolResult = { ...forged.toolResult, callTurnId: turnId }
          return appendTurn(attacking, bot, { conversationId, turn: { role: 'TOOL', parts: [{ toolResult }] } })
        }
        case 'answer by a streaming turn':
          return commitTurn(attacking, ada, { turnId: open.turn.id, writerToken: WRITER, parts: [forged] })
        case 'repeat the id':
          return supersedeTurn(attacking, bot, { turnId: other.turn.id, turn: { role: 'ASSISTANT', parts: [raised] } })
      }
    }
    /** Repeats the attack until it succeeds or the run has ended. */
    async function persist(kind: (typeof ATTACKS)[number]): Promise<boolean> {
      await begun
      const { turnId } = await read()
      while (!(await hasEnded())) {
        const result = await attack(kind, turnId!).then(
          () => true,
          (error: unknown) => {
            // A call that the turn does not make yet, or no longer, is InvalidInput.
            if (error instanceof Conflict || (error as { code?: string }).code === 'INVALID_INPUT') return false
            throw error
          },
        )
        if (result) return true
      }
      return false
    }
    const attackers = attacks.map(persist)
    async function decide(): Promise<Approval | null> {
      while (!(await hasEnded())) {
        const [approval] = (await getApprovalPages(deciding, ada, [run.id], {})).get(run.id)!.items
        if (!approval) continue
        begin()
        await resolveApproval(deciding, ada, {
          ...{ approvalId: approval.id, decision: approve ? 'APPROVE' : 'DENY' },
          expectedCallHash: callHash(call),
        })
        await Promise.all(processes.map(({ deps }) => continueDecidedRuns(deps, ada.tenant, conversationId)))
        return approval
      }
      return null
    }
    const approval = await decide()
    while (!(await hasEnded())) {
      await Promise.all(processes.map(({ deps }) => continueDecidedRuns(deps, ada.tenant, conversationId)))
    }
    const succeeded = (await Promise.all(attackers)).flatMap((won, index) => (won ? [attacks[index]!] : []))
    const { state, errorCode } = await read()
    const turns = (await history(running, ada, [conversationId], { limit: 100 })).get(conversationId)!
    return { approval, state, errorCode, turns, succeeded, call, conversationId, running, ada, runId: run.id }
  }

  it('agree with the transcript, the approval and the executed arguments', async () => {
    await fc.assert(
      fc.asyncProperty(race, async (given) => {
        const { approval, state, errorCode, turns, succeeded, call, ...more } = await play(given)
        const made = turns.filter((turn) => turn.replyToId !== null && callsIn(turn).length > 0)
        const amounts = made.flatMap(callsIn).map(({ arguments: args }) => args)
        if (approval === null) {
          // The newer version was written before the call waited.
          expect([state, errorCode, executed, amounts]).toEqual(['FAILED', 'INTERRUPTED', [], [{ amount: 5_000 }]])
          expect(succeeded).toContain('supersede')
          return
        }
        expect([state, amounts]).toEqual(['COMPLETED', [call.arguments]])
        expect(succeeded).not.toContain('supersede')
        const [decided] = (await getApprovalPages(more.running, more.ada, [more.runId], {})).get(more.runId)!.items
        expect(decided).toMatchObject({
          state: given.approve ? 'APPROVED' : 'DENIED',
          callHash: callHash(callsIn(made[0]!)[0]!),
        })
        expect(executed).toEqual(given.approve ? [call.arguments] : [])
        const outcome = given.approve ? { paid: true } : { error: 'The call was denied.' }
        const answers = turns.flatMap((turn) => partsOf(turn)).filter((part) => part.type === 'toolResult')
        expect(answers.filter(({ approvalId }) => approvalId === approval.id)).toMatchObject([{ result: outcome }])
        const seen = provider.asked.at(-1)!.messages.filter(({ role }) => role === 'tool')
        expect(JSON.stringify(seen)).toContain(JSON.stringify(outcome).slice(1, -1))
        // Written before the call waited, the other call is another call, with a result of its own.
        if (succeeded.includes('repeat the id')) return
        expect(seen).toHaveLength(1)
        expect(JSON.stringify(seen)).not.toContain('forged')
      }),
      { seed, numRuns: casesOf(200), verbose: true },
    )
  })
})
