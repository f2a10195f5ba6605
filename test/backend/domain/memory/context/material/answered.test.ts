// Contexts that answer an earlier turn: they end with it, whatever follows it and whatever the other options select.

import { describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../../src/domain/conversation/conversation.ts'
import { buildContext, type BuildContextInput } from '../../../../../../src/domain/memory/context/build.ts'
import type { Context } from '../../../../../../src/domain/memory/context/message.ts'
import { render } from '../../../../../../src/domain/memory/context/render.ts'
import { eraseTurn } from '../../../../../../src/domain/trust/erasure/erase-turn.ts'
import { abortTurn } from '../../../../../../src/domain/turn/streaming/stream.ts'
import { openTurn } from '../../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../../src/domain/turn/supersede.ts'
import type { TurnInput } from '../../../../../../src/domain/turn/append/turn-input.ts'
import type { Turn } from '../../../../../../src/domain/turn/turn.ts'
import { BudgetTooSmall, InvalidInput, NotFound } from '../../../../../../src/errors.ts'
import { backends } from '../../../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../../../support/world.ts'
import { WRITER } from '../../../../../support/writer.ts'

const contents = ({ messages }: Context) => messages.map(({ content }) => content)
const last = ({ messages }: Context) => messages.at(-1)!

describe.each(backends)('a context that answers a turn on $name', (backend) => {
  const world = useWorld(backend)

  async function conversationWith(tenant: Tenant) {
    const people = [{ actor: 'ada', displayName: 'Ada L.' }, { actor: 'bob' }, { actor: 'eve' }]
    const participants = [...people, { actor: 'bot', kind: 'AGENT' as const }]
    return (await createConversation(world.deps, tenant.as('owner'), { participants })).conversation.id
  }
  const build = (tenant: Tenant, answering: Turn | string, more: Partial<BuildContextInput> = {}) =>
    buildContext(world.deps, tenant.as('bot'), {
      conversationId: typeof answering === 'string' ? '' : answering.conversationId,
      answering: typeof answering === 'string' ? answering : answering.id,
      tokenBudget: 8_000,
      as: 'bot',
      ...more,
    })
  const reply = (tenant: Tenant, conversationId: string, content: string, more: Partial<TurnInput> = {}) =>
    tenant.append(conversationId, 'bot', content, { role: 'ASSISTANT', ...more })

  /** Two questions that wait, and the agent's answer to the second one. */
  async function twoQuestions(tenant: Tenant) {
    const conversationId = await conversationWith(tenant)
    const first = await tenant.append(conversationId, 'ada', 'Where is the harbour?')
    const second = await tenant.append(conversationId, 'bob', 'When does the ferry leave?')
    const answer = await reply(tenant, conversationId, 'At noon.', { replyToId: second.id })
    return { conversationId, first, second, answer }
  }

  it('ends with it, and not with the own answer to a later turn', async () => {
    const tenant = world.tenant()
    const { first, second, answer } = await twoQuestions(tenant)
    const context = await build(tenant, first)
    expect(contents(context)).toEqual([
      'Where is the harbour?',
      'When does the ferry leave?',
      'At noon.',
      'You are answering this message of Ada L.:\n\nWhere is the harbour?',
    ])
    expect(last(context)).toMatchObject({ kind: 'ANSWERED', role: 'USER', name: null, sourceIds: [first.id] })
    expect(context.items.at(-1)).toMatchObject({ kind: 'ANSWERED', included: true, sourceIds: [first.id] })
    expect(context.items.at(-1)!.reason).toBe('the turn to answer, which is not the newest turn')
    expect(context.truncated).toBe(false)
    // Also if the turn to answer is the newest one by another author.
    expect(contents(await build(tenant, second)).slice(-2)).toEqual([
      'At noon.',
      'You are answering this message of bob:\n\nWhen does the ferry leave?',
    ])
    expect(render(context.messages, 'OPENAI').at(-1)).toMatchObject({ role: 'user', content: last(context).content })
    expect(render(context.messages, 'UI_MESSAGES').map(({ id }) => id)).toEqual([
      first.id,
      second.id,
      answer.id,
      'answered',
    ])
  })

  it('is as without `answering` if it is the newest turn', async () => {
    const tenant = world.tenant()
    const { conversationId } = await twoQuestions(tenant)
    const newest = await tenant.append(conversationId, 'ada', 'And the lighthouse?')
    expect(await build(tenant, newest)).toEqual(await build(tenant, newest, { answering: null }))
  })

  it('quotes nothing while only the tool calls of the answer follow it', async () => {
    const tenant = world.tenant()
    const conversationId = await conversationWith(tenant)
    const question = await tenant.append(conversationId, 'ada', 'Where is the harbour?')
    const call = { toolCall: { callId: 'c1', name: 'look_up', arguments: {} } }
    const { id } = await reply(tenant, conversationId, '', { content: undefined, parts: [call] })
    const result = { toolResult: { callId: 'c1', name: 'look_up', result: 'in the north', callTurnId: id } }
    await tenant.append(conversationId, 'bot', '', { role: 'TOOL', content: undefined, parts: [result] })
    const roles = (context: Context) => context.messages.map(({ role }) => role)
    expect(roles(await build(tenant, question))).toEqual(['USER', 'ASSISTANT', 'ASSISTANT'])
    await tenant.append(conversationId, 'bob', 'Hello.')
    expect(roles(await build(tenant, question))).toEqual(['USER', 'ASSISTANT', 'ASSISTANT', 'USER', 'USER'])
  })

  it('contains it whole, whatever its age and the other options', async () => {
    const tenant = world.tenant()
    const conversationId = await conversationWith(tenant)
    const long = `Where is the harbour? ${'word '.repeat(600)}End.`
    const question = await tenant.append(conversationId, 'ada', long)
    for (let n = 0; n < 3; n++) await tenant.append(conversationId, 'bob', `Something else, ${n}.`)
    const whole = `You are answering this message of Ada L.:\n\n${long}`
    for (const options of [
      { recentTurns: 1, strategy: 'SIMPLE' as const },
      { filterParticipants: ['bob'] },
      { sinceSeq: (await tenant.lastSeq(conversationId))! - 1 },
      { tokenBudget: 720 },
    ]) {
      const context = await build(tenant, question, options)
      expect(contents(context)).not.toContain(long)
      expect(last(context).content).toBe(whole)
      expect(contents(context).at(-2)).toBe('Something else, 2.')
    }
    // A context that contains the turn itself only quotes its beginning.
    const context = await build(tenant, question)
    expect(contents(context)).toContain(long)
    expect(last(context).content).toBe(`You are answering this message of Ada L.:\n\n${long.slice(0, 2_000)} …`)
  })

  it('needs a budget for it, and the error names the smallest one', async () => {
    const tenant = world.tenant()
    const { first } = await twoQuestions(tenant)
    const error = await build(tenant, first, { tokenBudget: 10 }).catch((thrown: unknown) => thrown)
    if (!(error instanceof BudgetTooSmall)) throw error
    expect(error.message).toMatch(/^The system prompt, the turn to answer and the newest turn take /)
    const { messages } = await build(tenant, first, { tokenBudget: error.required })
    expect(messages.map(({ kind }) => kind)).toEqual(['RECENT', 'ANSWERED'])
    await expect(build(tenant, first, { maxMessages: 1 })).rejects.toThrow(
      /^maxMessages: is 1; .* turn to answer .* 2$/,
    )
  })

  it('recalls what is relevant to it, and not the turn itself', async () => {
    const tenant = world.tenant()
    const conversationId = await conversationWith(tenant)
    await tenant.append(conversationId, 'bob', 'The harbour lies north of the market.')
    await tenant.append(conversationId, 'bob', 'The ferry leaves at noon from pier three.')
    const question = await tenant.append(conversationId, 'ada', 'Where is the harbour?')
    await tenant.append(conversationId, 'bob', 'When does the ferry leave?')
    const options = { recentTurns: 1, strategy: 'SIMPLE' as const, semanticRecall: { k: 1 } }
    const recalled = (context: Context) => context.messages.find(({ kind }) => kind === 'RECALLED')!.content
    const context = await build(tenant, question, options)
    expect(recalled(context)).toContain('north of the market')
    expect(recalled(context)).not.toContain('Where is the harbour')
    expect(recalled(await build(tenant, question, { ...options, answering: null }))).toContain('pier three')
    expect(recalled(await build(tenant, question, { ...options, query: 'ferry pier' }))).toContain('pier three')
  })

  it('answers the newest version of an edited turn', async () => {
    const tenant = world.tenant()
    const { first } = await twoQuestions(tenant)
    const edit = { role: 'USER' as const, content: 'Where is the station?' }
    const { turn } = await supersedeTurn(world.deps, tenant.as('ada'), { turnId: first.id, turn: edit })
    for (const version of [first, turn]) {
      const context = await build(tenant, version)
      expect(last(context)).toMatchObject({ sourceIds: [turn.id] })
      expect(last(context).content).toContain('Where is the station?')
    }
  })

  it('must be a committed turn of the conversation that the viewer sees', async () => {
    const tenant = world.tenant()
    const { conversationId, first } = await twoQuestions(tenant)
    const foreign = await twoQuestions(tenant)
    const hidden = await tenant.append(conversationId, 'ada', 'psst', { audience: ['eve'] })
    const viewer = tenant.as('ada')
    const streaming = { conversationId, turn: { role: 'USER' as const }, writerToken: WRITER }
    const open = (await openTurn(world.deps, viewer, streaming)).turn
    const aborted = (await openTurn(world.deps, viewer, streaming)).turn
    await abortTurn(world.deps, viewer, { turnId: aborted.id, writerToken: WRITER })
    const erased = await tenant.append(conversationId, 'ada', 'gone')
    await eraseTurn(world.deps, viewer, { turnId: erased.id })
    const unknown = `turn_${'0'.repeat(26)}`
    for (const id of [foreign.first.id, hidden.id, unknown]) {
      await expect(build(tenant, id, { conversationId })).rejects.toEqual(new NotFound('turn', id))
    }
    for (const [turn, reason] of [
      [open, 'is STREAMING: use a committed turn'],
      [aborted, 'is ABORTED: use a committed turn'],
      [erased, 'is ERASED: use a committed turn'],
    ] as const) {
      await expect(build(tenant, turn)).rejects.toEqual(InvalidInput.at('answering', reason))
    }
    await expect(build(tenant, 'nonsense', { conversationId })).rejects.toThrow(/^answering: /)
    expect(last(await build(tenant, first)).sourceIds).toEqual([first.id])
  })
})
