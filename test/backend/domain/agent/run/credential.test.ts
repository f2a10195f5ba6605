// What a run reads for the credential that started it: data of other conversations only as the credential permits, at
// the start, at each call of the provider, and after the run has waited.

import { beforeEach, describe, expect, it } from 'vitest'
import { createApiKey, revokeApiKey, rotateApiKey } from '../../../../../src/domain/trust/api-key/api-key.ts'
import { readToken } from '../../../../../src/domain/trust/api-key/token.ts'
import { createVerifier } from '../../../../../src/domain/trust/api-key/verify.ts'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { recordFacts } from '../../../../../src/domain/memory/fact/record.ts'
import { removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { RIGHTS, type Principal, type Right } from '../../../../../src/domain/kernel/rights/principal.ts'
import { refreshUserProfile } from '../../../../../src/domain/memory/profile/refresh.ts'
import { recall } from '../../../../../src/domain/memory/recall/recall.ts'
import { getApprovalPages } from '../../../../../src/domain/agent/run/approval/approval.ts'
import { continueDecidedRuns } from '../../../../../src/domain/agent/run/approval/continue-decided.ts'
import { resolveApproval } from '../../../../../src/domain/agent/run/approval/resolve-approval.ts'
import { getRuns } from '../../../../../src/domain/agent/run/run.ts'
import { runTurn, type RunTurnInput } from '../../../../../src/domain/agent/run/start.ts'
import type { Tool } from '../../../../../src/domain/agent/run/tools/tools.ts'
import { waitForRun } from '../../../../../src/domain/agent/run/wait.ts'
import { history } from '../../../../../src/domain/turn/history.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { NotAllowed } from '../../../../../src/errors.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'
import { backends } from '../../../../support/backend.ts'
import { createScriptedProvider } from '../../../../support/scripted-provider.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const provider = createScriptedProvider()
const executed: unknown[] = []
const pay: Tool = {
  name: 'pay',
  requiresApproval: true,
  execute: (args) => {
    executed.push(args)
    return { paid: true }
  },
}
const call = { id: 'c1', name: 'pay', arguments: {} }
const lookUp = { name: 'look_up', description: 'Looks something up.', schema: { type: 'object' } }

/** In a conversation of Ada and the agent. */
const OWN = 'the harbour of Ada is Bergen'
/** In another conversation of the owner, with the agent and without Ada. */
const HIDDEN = 'zanzibar7f3a9'
/** In another conversation of the owner, with Ada and without the agent. */
const UNSEEN = 'quicksilver4c1'
/** In another conversation of the owner, with Ada and the agent. */
const SHARED = 'marmalade52b'

describe.each(backends)('the credential of a run on $name', (backend) => {
  const world = useWorld(backend, { providers: { scripted: provider }, tools: [pay] })
  let tenant: Tenant
  let conversationId: string

  const conversationOf = async (...actors: string[]) => {
    const participants = actors.map((actor) => ({
      actor,
      kind: actor === 'bot' ? ('AGENT' as const) : ('HUMAN' as const),
    }))
    const input = { participants, visibility: 'MEMBERS' as const }
    const { conversation } = await createConversation(world.deps, tenant.as('owner'), input)
    return conversation.id
  }
  beforeEach(async () => {
    tenant = world.tenant()
    executed.length = 0
    provider.reset()
    conversationId = await conversationOf('ada', 'bot')
    await tenant.append(conversationId, 'ada', OWN)
    for (const [canary, actors] of [
      [HIDDEN, ['bot']],
      [UNSEEN, ['ada']],
      [SHARED, ['ada', 'bot']],
    ] as const) {
      const id = await conversationOf(...actors)
      await tenant.append(id, 'owner', `The harbour ${canary} is open.`)
      const fact = { userId: 'owner', subject: 'owner', predicate: 'likes', object: `the ${canary}` }
      await recordFacts(world.deps, tenant.as('owner'), { conversationId: id, facts: [fact] })
    }
  })

  /** Returns a viewer with the rights, as a JSON Web Token or an API key of `more` would give it. */
  const holder = (rights: readonly Right[], more: Partial<Principal> = {}): Viewer => {
    const principal: Principal = {
      tenant: tenant.name,
      actor: 'ada',
      kind: 'HUMAN',
      rights: new Set(rights),
      conversations: null,
      credential: 'jwt:1',
      expiresAt: null,
      ...more,
    }
    return { ...tenant.as(principal.actor), principal }
  }
  /** Lets the owner configure the agent, so that no caller needs the right `act-as` to run it. */
  const configure = async () => {
    const where = { conversationId_actor: { conversationId, actor: 'bot' } }
    await world.deps.db.of(SYSTEM).participant.update({ where, data: { agent: { provider: 'scripted' } } })
  }
  beforeEach(configure)

  const ask = (viewer: Viewer, context: RunTurnInput['context'], more: Partial<RunTurnInput> = {}) =>
    runTurn(world.deps, viewer, {
      conversationId,
      actor: 'bot',
      turns: [{ role: 'USER', content: 'Which harbour?' }],
      context,
      ...more,
    }).then(({ run }) => run)
  const sent = () => JSON.stringify(provider.asked.at(-1)?.messages ?? [])
  /** Returns the markers that the newest prompt contains. */
  const found = () => [OWN, HIDDEN, UNSEEN, SHARED].filter((each) => sent().includes(each))
  const stateOf = async (id: string) => (await getRuns(world.deps, tenant.as('ada'), [id])).get(id)!

  it.each<[string, Right[], 'one' | 'all', RunTurnInput['context'], Right | null]>([
    [
      'without `manage` for scope TENANT',
      ['read', 'write', 'act-as'],
      'all',
      { semanticRecall: { scope: 'TENANT' } },
      'manage',
    ],
    ['without `read` for scope OWNER', ['write'], 'all', { semanticRecall: { scope: 'OWNER' } }, 'read'],
    ['without `read` for facts', ['write'], 'all', { includeFacts: true }, 'read'],
    ['without `read` for profiles', ['write'], 'all', { includeProfile: true }, 'read'],
    ['for one conversation for scope OWNER', [...RIGHTS], 'one', { semanticRecall: { scope: 'OWNER' } }, null],
    ['for one conversation for scope TENANT', [...RIGHTS], 'one', { semanticRecall: { scope: 'TENANT' } }, null],
    ['for one conversation for profiles', [...RIGHTS], 'one', { includeProfile: true }, null],
  ])('is refused at the start: a credential %s', async (_, rights, reach, context, right) => {
    const viewer = holder(rights, { conversations: reach === 'one' ? new Set([conversationId]) : null })
    const before = await tenant.lastSeq(conversationId)
    const refused = ask(viewer, context)
    await expect(refused).rejects.toThrow(NotAllowed)
    await expect(refused).rejects.toMatchObject({ right, verb: 'runTurn' })
    expect([provider.asked, await tenant.lastSeq(conversationId)]).toEqual([[], before])
    const { semanticRecall } = context!
    if (semanticRecall && rights.includes('read')) {
      const same = recall(world.deps, viewer, { query: 'harbour', conversationId, scope: semanticRecall.scope! })
      await expect(same).rejects.toMatchObject({ right })
    }
  })

  it('lets a run without other conversations read its own, even without `read` or for one conversation', async () => {
    await ask(holder(['write']), { semanticRecall: {} })
    await ask(holder(['read', 'write'], { conversations: new Set([conversationId]) }), { includeFacts: true })
    expect(provider.asked).toHaveLength(2)
    expect(found()).toEqual([OWN])
  })

  it('limits recall in other conversations to what both the caller and the agent see', async () => {
    await ask(holder(['read', 'write']), { semanticRecall: { scope: 'OWNER', k: 20 } })
    expect(found()).toEqual([OWN, SHARED])
    await ask(holder(['read', 'write', 'manage']), { semanticRecall: { scope: 'TENANT', k: 20 } })
    expect(found()).toEqual([OWN, SHARED])
  })

  it('limits facts of other conversations to what both the caller and the agent see', async () => {
    await ask(holder(['read', 'write']), { includeFacts: true })
    expect(found()).toEqual([OWN, SHARED])
  })

  it('limits profiles to those that both the caller and the agent see', async () => {
    await refreshUserProfile(world.deps, tenant.as('owner'), { userId: 'owner' })
    await ask(holder(['read', 'write']), { includeProfile: true })
    expect(found()).toEqual([OWN, SHARED])
  })

  it('lets a caller that may act as the agent read what the agent sees', async () => {
    const context = { semanticRecall: { scope: 'OWNER' as const, k: 20 }, includeFacts: true }
    await ask(holder(['read', 'write', 'act-as']), context)
    expect(found()).toEqual([OWN, HIDDEN, SHARED])
    await ask(holder(['read', 'write'], { actor: 'bot', kind: 'AGENT' }), context)
    expect(found()).toEqual([OWN, HIDDEN, SHARED])
    await ask(tenant.as('ada'), context)
    expect(found()).toEqual([OWN, HIDDEN, SHARED])
  })

  describe('of a run that waits', () => {
    const context = { semanticRecall: { scope: 'OWNER' as const, k: 20 }, includeFacts: true }
    const issue = async () => {
      const input = { name: 'app', actor: 'ada', kind: 'HUMAN' as const, rights: ['read', 'write'] as Right[] }
      const { apiKey, token } = await createApiKey(world.deps, tenant.as('admin'), input)
      const principal = (await createVerifier(world.deps)(readToken(token)!)) as Principal
      return { keyId: apiKey.id, viewer: { ...tenant.as('ada'), principal } }
    }
    /** Starts a run that waits for approval of a tool call. */
    const wait = async (viewer: Viewer) => {
      provider.next([call], ['Paid.'])
      const run = await ask(viewer, context)
      expect([run.state, found()]).toEqual(['WAITING_FOR_APPROVAL', [OWN, SHARED]])
      return run
    }
    /** Approves the tool call of the run, and lets background work continue the run. */
    const approve = async ({ id }: { id: string }) => {
      const [approval] = (await getApprovalPages(world.deps, tenant.as('owner'), [id], {})).get(id)!.items
      await resolveApproval(world.deps, tenant.as('owner'), { approvalId: approval!.id, decision: 'APPROVE' })
      expect(await continueDecidedRuns(world.deps, tenant.name, conversationId)).toBe(1)
      await waitForRun(world.deps, { id, tenant: tenant.name })
      return stateOf(id)
    }

    it('holds after the decision, in the process that continues the run', async () => {
      const { viewer, keyId } = await issue()
      const run = await wait(viewer)
      await rotateApiKey(world.deps, tenant.as('admin'), { id: keyId, expectedVersion: 1 })
      expect(await approve(run)).toMatchObject({ state: 'COMPLETED' })
      expect([executed, provider.asked.length, found()]).toEqual([[{}], 2, [OWN, SHARED]])
    })

    it('ends the run if its key is revoked: no tool is executed, and no prompt is sent', async () => {
      const { viewer, keyId } = await issue()
      const run = await wait(viewer)
      await revokeApiKey(world.deps, tenant.as('admin'), { id: keyId })
      expect(await approve(run)).toMatchObject({
        state: 'FAILED',
        errorCode: 'NOT_ALLOWED',
        errorMessage: expect.stringContaining('revoked'),
      })
      expect([executed, provider.asked.length]).toEqual([[], 1])
    })

    it('ends the run if its key lost a right that the run needs', async () => {
      const { viewer, keyId } = await issue()
      const run = await wait(viewer)
      await world.deps.db.of(SYSTEM).apiKey.update({ where: { id: keyId }, data: { rights: ['write'] } })
      expect(await approve(run)).toMatchObject({ state: 'FAILED', errorCode: 'NOT_ALLOWED' })
      expect(provider.asked).toHaveLength(1)
    })

    it('confines the run to its conversation if its key expires', async () => {
      const { viewer, keyId } = await issue()
      const run = await wait(viewer)
      await world.deps.db
        .of(SYSTEM)
        .apiKey.update({ where: { id: keyId }, data: { expiresAt: new Date(Date.now() - 1) } })
      expect(await approve(run)).toMatchObject({ state: 'COMPLETED' })
      expect([provider.asked.length, found()]).toEqual([2, [OWN]])
    })

    it('confines the run to its conversation if its token expires', async () => {
      const run = await wait(holder(['read', 'write'], { expiresAt: new Date(Date.now() + 60_000) }))
      const { credential } = await world.deps.db.of(SYSTEM).run.findUniqueOrThrow({ where: { id: run.id } })
      const expired = { ...(credential as object), expiresAt: new Date(Date.now() - 1).toISOString() }
      await world.deps.db.of(SYSTEM).run.update({ where: { id: run.id }, data: { credential: expired } })
      expect(await approve(run)).toMatchObject({ state: 'COMPLETED' })
      expect([provider.asked.length, found()]).toEqual([2, [OWN]])
    })

    it('confines the run to its conversation if the caller was removed from it', async () => {
      const run = await wait((await issue()).viewer)
      await removeParticipant(world.deps, tenant.as('owner'), { conversationId, actor: 'ada' })
      await approve(run)
      expect([provider.asked.length, found()]).toEqual([2, [OWN]])
    })

    it('is that of the first call, also if another credential continues the run', async () => {
      provider.next([{ id: 'c1', name: 'look_up', arguments: {} }], ['Found.'])
      const run = await ask(holder(['read', 'write', 'act-as']), context, { tools: [lookUp] })
      expect(run.state).toBe('WAITING_FOR_TOOLS')
      const calling = (await history(world.deps, tenant.as('bot'), [conversationId], {})).get(conversationId)!.at(-1)!
      const toolResult = { callId: 'c1', name: 'look_up', result: 7, callTurnId: calling.id }
      await ask(holder(['read', 'write'], { conversations: new Set([conversationId]) }), null, {
        runId: run.id,
        turns: [{ role: 'TOOL', parts: [{ toolResult }] }],
      })
      expect([provider.asked.length, found()]).toEqual([2, [OWN, HIDDEN, SHARED]])
    })

    it('is stored until the run ends', async () => {
      const read = (id: string) => world.deps.db.of(SYSTEM).run.findUniqueOrThrow({ where: { id } })
      const run = await wait((await issue()).viewer)
      expect((await read(run.id)).credential).toMatchObject({ actor: 'ada', rights: ['read', 'write'] })
      await approve(run)
      expect((await read(run.id)).credential).toBeNull()
    })
  })
})
