// Replies that a run cannot regenerate: nothing is written, and no run is left.

import { beforeEach, describe, expect, it } from 'vitest'
import { cancelRun } from '../../../../../src/domain/agent/run/cancel.ts'
import { getRunPages } from '../../../../../src/domain/agent/run/run.ts'
import { runTurn, type RunTurnInput } from '../../../../../src/domain/agent/run/start.ts'
import { addParticipant, removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { newId } from '../../../../../src/domain/kernel/id.ts'
import type { Principal } from '../../../../../src/domain/kernel/rights/principal.ts'
import { eraseTurn } from '../../../../../src/domain/trust/erasure/erase-turn.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { history } from '../../../../../src/domain/turn/history.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { createScriptedProvider, gate } from '../../../../support/scripted-provider.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'

const provider = createScriptedProvider()
const pay = { id: 'p1', name: 'pay', arguments: {} }
const lookUp = { id: 'c1', name: 'look_up', arguments: {} }

describe.each(backends)('a reply cannot be regenerated on $name', (backend) => {
  const world = useWorld(backend, {
    providers: { scripted: provider },
    tools: [{ name: 'pay', description: 'Pays.', requiresApproval: true, execute: () => 'paid' }],
  })
  let tenant: Tenant
  let conversationId: string
  beforeEach(async () => {
    tenant = world.tenant()
    const bot = { actor: 'bot', agent: { provider: 'scripted' } }
    conversationId = await tenant.newConversation({ actor: 'ada', kind: 'HUMAN' }, bot, 'eve')
    provider.reset()
  })
  const say = (content: string, more: object = {}, actor = 'bot') =>
    tenant.append(conversationId, actor, content, { role: actor === 'bot' ? 'ASSISTANT' : 'USER', ...more })
  const run = (more: Partial<RunTurnInput>, actor = 'ada') =>
    runTurn(world.deps, tenant.as(actor), { conversationId, ...more })
  const turns = async () => (await history(world.deps, tenant.as('ada'), [conversationId], {})).get(conversationId)!
  const runs = async () =>
    (await getRunPages(world.deps, tenant.as('ada'), [conversationId], {})).get(conversationId)!.items
  async function expectRefused(
    given: Partial<RunTurnInput>,
    type: new (...args: never[]) => Error,
    text: string | RegExp,
    actor = 'ada',
  ) {
    const [last, before] = [await tenant.lastSeq(conversationId), (await runs()).length]
    const error = await run(given, actor).catch((each: unknown) => each)
    expect(error).toBeInstanceOf(type)
    expect((error as Error).message).toMatch(text)
    expect(await tenant.lastSeq(conversationId)).toBe(last)
    expect(await runs()).toHaveLength(before)
    const { rows } = await sql(world.deps.pool).query(
      `SELECT id FROM run WHERE conversation_id = $1 AND state = 'RUNNING'`,
      [conversationId],
    )
    expect(rows).toEqual([])
  }

  it.each([
    ['turns', { turns: [{ role: 'USER' as const, content: 'And?' }] }],
    ['replyTo', { replyTo: newId('turn') }],
    ['runId', { runId: newId('run') }],
  ])('together with %s', async (name, more) => {
    const { id } = await say('In Hull.')
    await expectRefused({ supersedes: id, ...more }, InvalidInput, `supersedes: cannot be given with ${name}`)
  })

  it('if it is unknown, in another conversation, or outside the view', async () => {
    const unknown = newId('turn')
    await expectRefused({ supersedes: unknown }, InvalidInput, `${unknown}; ada sees no such turn`)
    const other = await tenant.newConversation('ada', 'bot')
    const foreign = await tenant.append(other, 'bot', 'In Hull.', { role: 'ASSISTANT' })
    await expectRefused({ supersedes: foreign.id }, InvalidInput, 'ada sees no such turn')
    const hidden = await say('In Hull.', { audience: ['ada'] })
    await expectRefused({ supersedes: hidden.id }, InvalidInput, 'eve sees no such turn', 'eve')
  })

  it('by another agent, and if it is no reply', async () => {
    const { id } = await say('In Hull.')
    await addParticipant(world.deps, tenant.as('ada'), {
      conversationId,
      participant: { actor: 'cat', agent: { provider: 'scripted' } },
    })
    await expectRefused({ supersedes: id, actor: 'cat' }, InvalidInput, 'its author is bot, not cat')
    const asked = await say('Where?', {}, 'ada')
    await expectRefused({ supersedes: asked.id }, InvalidInput, 'its role is USER, not ASSISTANT')
    const result = await say('noon', { role: 'TOOL' })
    await expectRefused({ supersedes: result.id }, InvalidInput, 'its role is TOOL')
  })

  it('while it is open', async () => {
    const { turn } = await openTurn(world.deps, tenant.as('bot'), {
      conversationId,
      turn: { role: 'ASSISTANT' },
      writerToken: WRITER,
    })
    await expectRefused({ supersedes: turn.id }, Conflict, 'is still open')
  })

  it('if it is not the newest version', async () => {
    const first = await say('In Hull.')
    await supersedeTurn(world.deps, tenant.as('bot'), {
      turnId: first.id,
      turn: { role: 'ASSISTANT', content: 'York' },
    })
    await expectRefused({ supersedes: first.id }, Conflict, 'Supersede the newest version')
  })

  it('once it is erased, or retention has removed its content', async () => {
    const erased = await say('In Hull.')
    await eraseTurn(world.deps, tenant.as('owner'), { turnId: erased.id })
    await expectRefused({ supersedes: erased.id }, Conflict, 'was erased')
    const removed = await say('In Hull.')
    await sql(world.deps.pool).query(`UPDATE turn SET removed_at = now() WHERE id = $1`, [removed.id])
    await expectRefused({ supersedes: removed.id }, Conflict, 'Retention removed the content')
  })

  it('once the agent has left', async () => {
    const { id } = await say('In Hull.')
    await removeParticipant(world.deps, tenant.as('bot'), { conversationId, actor: 'bot' })
    await expectRefused({ supersedes: id }, NotFound, 'bot')
    await expectRefused({ supersedes: id }, NotAllowed, 'has left the conversation', 'bot')
  })

  it('while an approval protects a call, and after the decision', async () => {
    provider.next([pay])
    const { run: waiting } = await run({ actor: 'bot', turns: [{ role: 'USER', content: 'Pay.' }] })
    expect(waiting.state).toBe('WAITING_FOR_APPROVAL')
    await expectRefused({ supersedes: waiting.turnId }, Conflict, 'waits for approval')
    await sql(world.deps.pool).query(`UPDATE approval SET state = 'DENIED' WHERE run_id = $1`, [waiting.id])
    await expectRefused({ supersedes: waiting.turnId }, Conflict, 'was denied')
  })

  it('while its tool calls wait; but once their run is cancelled', async () => {
    provider.next([lookUp])
    const { run: waiting } = await run({
      actor: 'bot',
      turns: [{ role: 'USER', content: 'Look.' }],
      tools: [{ name: 'look_up', description: 'Looks something up.' }],
    })
    expect(waiting.state).toBe('WAITING_FOR_TOOLS')
    await expectRefused({ supersedes: waiting.turnId }, Conflict, 'waits for results of the calls c1')
    await cancelRun(world.deps, tenant.as('ada'), { runId: waiting.id })
    expect((await run({ supersedes: waiting.turnId })).run.state).toBe('COMPLETED')
  })

  it('while the calls of a regenerated reply wait, although the run of the older version has ended', async () => {
    provider.next([lookUp], ['In Hull.'], [lookUp])
    const tools = [{ name: 'look_up', description: 'Looks something up.' }]
    const { run: first } = await run({ actor: 'bot', turns: [{ role: 'USER', content: 'Look.' }], tools })
    const answer = { toolResult: { callId: 'c1', name: 'look_up', result: 1, callTurnId: first.turnId } }
    expect((await run({ runId: first.id, turns: [{ role: 'TOOL', parts: [answer] }] })).run.state).toBe('COMPLETED')
    const { run: second } = await run({ supersedes: first.turnId, tools })
    expect(second.state).toBe('WAITING_FOR_TOOLS')
    await expectRefused({ supersedes: second.turnId }, Conflict, 'waits for results of the calls c1')
  })

  it('while a client that the server does not run answers its tool calls', async () => {
    const { id } = await say('', {
      content: undefined,
      parts: [{ toolCall: { callId: 'x1', name: 'look', arguments: {} } }],
    })
    await expectRefused({ supersedes: id }, Conflict, 'waits for results of the calls x1')
    await say('', {
      role: 'TOOL',
      content: undefined,
      parts: [{ toolResult: { callId: 'x1', name: 'look', result: 1 } }],
    })
    expect((await run({ supersedes: id })).run.state).toBe('COMPLETED')
  })

  it('by a credential that may not act as an agent without settings; but of one with settings', async () => {
    const principal: Principal = {
      ...{ tenant: tenant.name, actor: 'ada', kind: 'HUMAN', credential: 'token:ada' },
      ...{ rights: new Set(['read', 'write']), conversations: null, expiresAt: null },
    }
    const ada = { ...tenant.as('ada'), principal }
    const other = await tenant.newConversation({ actor: 'ada', kind: 'HUMAN' }, { actor: 'cat', kind: 'AGENT' })
    const cats = await tenant.append(other, 'cat', 'In Hull.', { role: 'ASSISTANT' })
    const given = { conversationId: other, supersedes: cats.id }
    await expect(runTurn(world.deps, ada, given)).rejects.toThrow(NotAllowed)
    const { id } = await say('In Hull.')
    expect((await runTurn(world.deps, ada, { conversationId, supersedes: id })).run.state).toBe('COMPLETED')
  })

  it('twice at the same time: one call wins, and the other one fails with Conflict', async () => {
    const { id } = await say('In Hull.')
    const { pause, open } = gate()
    provider.next([pause, 'In York.'], [pause, 'In York.'])
    const both = [0, 1].map(() => run({ supersedes: id, wait: false }))
    const results = await Promise.allSettled(both)
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect((results.find(({ status }) => status === 'rejected') as PromiseRejectedResult).reason).toBeInstanceOf(
      Conflict,
    )
    open()
    await expect.poll(async () => (await turns()).map(({ text }) => text)).toEqual(['In York.'])
    await expect.poll(async () => (await runs())[0]!.state).toBe('COMPLETED')
  })

  it('if somebody edits it before the provider is called: the run fails, and says why', async () => {
    const first = await say('In Hull.')
    const build = gate()
    const { count } = world.deps.tokens
    world.deps.tokens.count = async (text) => {
      if (text === 'Wait.') await build.pause()
      return count(text)
    }
    const { run: started } = await run({ supersedes: first.id, instructions: 'Wait.', wait: false }, 'bot')
    const edit = { turnId: first.id, turn: { role: 'ASSISTANT' as const, content: 'In Ely.' } }
    await supersedeTurn(world.deps, tenant.as('bot'), edit)
    build.open()
    world.deps.tokens.count = count
    await expect
      .poll(async () => (await runs()).find(({ id }) => id === started.id))
      .toMatchObject({
        state: 'FAILED',
        errorCode: 'INVALID_REPLY',
        errorMessage: expect.stringContaining('superseded'),
      })
    expect((await turns()).map(({ text }) => text)).toEqual(['In Ely.'])
    expect(provider.asked).toEqual([])
  })
})
