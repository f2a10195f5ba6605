// The tool with which agents change shared state: the runs that it is offered to, its results, and its audience.

import { beforeEach, describe, expect, it } from 'vitest'
import type { RunTurnInput } from '../../../../../../src/domain/agent/run/start.ts'
import { runTurn } from '../../../../../../src/domain/agent/run/start.ts'
import { getSharedStates } from '../../../../../../src/domain/conversation/shared-state/shared-state.ts'
import { updateSharedState } from '../../../../../../src/domain/conversation/shared-state/update-shared-state.ts'
import { pageOfTurns } from '../../../../../../src/domain/turn/history.ts'
import { partsOf } from '../../../../../../src/domain/turn/content.ts'
import { backends } from '../../../../../support/backend.ts'
import { createScriptedProvider } from '../../../../../support/scripted-provider.ts'
import { useWorld } from '../../../../../support/world.ts'

const TOOL = { name: 'update_shared_state' }
const call = (id: string, given: object) => ({ id, name: TOOL.name, arguments: given })

describe.each(backends)('the tool update_shared_state on $name', (backend) => {
  const provider = createScriptedProvider()
  const registered = { name: 'look_up', execute: () => 'found' }
  const world = useWorld(backend, { providers: { scripted: provider }, tools: [registered] })
  beforeEach(() => provider.reset())

  async function start() {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob', { actor: 'bot', kind: 'AGENT' })
    const run = async (given: Partial<RunTurnInput> = {}, audience?: string[]) =>
      runTurn(world.deps, tenant.as('ann'), {
        conversationId,
        actor: 'bot',
        provider: 'scripted',
        turns: [{ role: 'USER', content: 'Go.', audience }],
        tools: [TOOL],
        ...given,
      })
    const stateOf = async (key: string, actor = 'ann') =>
      (await getSharedStates(world.deps, tenant.as(actor), [{ conversationId, key }]))[0]
    const update = (key: string, value: unknown, audience?: string[]) =>
      updateSharedState(world.deps, tenant.as('ann'), { conversationId, key, value, audience })
    /** The results of the tool's calls, in order. */
    async function results() {
      const turns = (await pageOfTurns(world.deps, tenant.as('bot'), [conversationId], {})).get(conversationId)!.items
      return turns.flatMap(partsOf).flatMap((part) => (part.type === 'toolResult' ? [part.result] : []))
    }
    return { tenant, conversationId, run, stateOf, update, results }
  }
  const prompts = () => provider.asked.map(({ messages }) => JSON.stringify(messages))

  it('is executed by the server as the agent, and the next call of the model has the new state', async () => {
    const { run, stateOf, results } = await start()
    provider.next(
      [call('c1', { key: 'plan', value: { steps: [] } })],
      // Providers may use an id again.
      [call('c1', { key: 'plan', patch: [{ op: 'add', path: '/steps/-', value: 'fly' }], expectedVersion: 1 })],
      ['Done.'],
    )
    expect((await run()).run.state).toBe('COMPLETED')
    expect(await results()).toEqual([{ version: 1 }, { version: 2 }])
    expect(await stateOf('plan')).toMatchObject({
      value: { steps: ['fly'] },
      version: 2,
      updatedBy: 'bot',
      audience: null,
    })
    expect(provider.asked[0]!.tools).toMatchObject([{ name: 'update_shared_state', schema: { required: ['key'] } }])
    expect(prompts().map((prompt) => prompt.includes('\\"steps\\":[\\"fly\\"]'))).toEqual([false, false, true])
  })

  it('returns errors that the model can read, and replaces no value of which the model does not give the version', async () => {
    const { run, results, update, stateOf } = await start()
    await update('plan', { n: 1 })
    provider.next(
      [call('a', { key: 'plan', merge: { n: 2 }, expectedVersion: 7 })],
      [call('b', { key: 'plan', patch: [{ op: 'remove', path: '/none' }] })],
      [call('c', { key: 'plan', value: {} })],
      ['Done.'],
    )
    await run()
    const stale = { error: expect.stringMatching(/expectedVersion does not match: the state "plan" has version 1/) }
    expect(await results()).toEqual([stale, { error: 'patch.0: there is no value at "/none"' }, stale])
    expect(await stateOf('plan')).toMatchObject({ value: { n: 1 }, version: 1 })
  })

  it('is offered only to runs that name it, and may require approval', async () => {
    const { run } = await start()
    await run({ tools: null })
    expect(provider.asked[0]!.tools!.map(({ name }) => name)).toEqual(['look_up'])
    await run({ tools: [registered, TOOL].map(({ name }) => ({ name })) })
    expect(provider.asked[1]!.tools!.map(({ name }) => name)).toEqual(['look_up', 'update_shared_state'])
    provider.next([call('c', { key: 'plan', value: 1 })])
    const { run: waiting } = await run({ tools: [{ ...TOOL, requiresApproval: true }] })
    expect(waiting.state).toBe('WAITING_FOR_APPROVAL')
  })

  it('changes and shows only what all readers of the reply see, and creates keys for them', async () => {
    const { run, stateOf, results, update } = await start()
    await update('public', 'open to all')
    await update('pair', 'of ann and bot', ['bot'])
    await update('others', 'of ann, bob and bot', ['bob', 'bot'])
    const versions = { public: 1, pair: 1, others: 1, new: 0 }
    const whisper = Object.entries(versions).map(([key, expectedVersion], n) =>
      call(`w${n}`, { key, value: 'w', expectedVersion }),
    )
    provider.next(whisper, ['Done.'])
    await run({}, ['bot'])
    const [prompt] = prompts()
    for (const text of ['open to all', 'of ann and bot', 'of ann, bob and bot']) expect(prompt).toContain(text)
    const refused = { error: expect.stringMatching(/audience/) }
    expect(await results()).toEqual([refused, { version: 2 }, refused, { version: 1 }])
    expect(await stateOf('new')).toMatchObject({ audience: ['bot', 'ann'] })
    expect(await stateOf('new', 'bob')).toBeNull()

    provider.reset()
    provider.next([call('p', { key: 'pair', value: 'p', expectedVersion: 2 })], ['Done.'])
    await run()
    expect(prompts().some((each) => each.includes('of ann'))).toBe(false)
    expect((await results()).at(-1)).toEqual({ error: expect.stringMatching(/^The key "pair" is taken/) })
    expect(await stateOf('public')).toMatchObject({ value: 'open to all' })
  })
})
