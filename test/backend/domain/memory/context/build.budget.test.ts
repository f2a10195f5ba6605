// Contexts of long conversations that use their budget: a summary is always included, and so are the relevant facts.

import { beforeEach, describe, expect, it } from 'vitest'
import { buildContext, type BuildContextInput } from '../../../../../src/domain/memory/context/build.ts'
import type { Context } from '../../../../../src/domain/memory/context/message.ts'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { recordFacts } from '../../../../../src/domain/memory/fact/record.ts'
import { recall } from '../../../../../src/domain/memory/recall/recall.ts'
import { summarize } from '../../../../../src/domain/memory/summary/compact.ts'
import { appendTurns } from '../../../../../src/domain/turn/append/append.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const TOPICS = ['tulips', 'roof', 'hedgehog', 'train to Ghent', 'piano', 'bill', 'soup', 'ladder', 'letter', 'winter']
const PEOPLE = ['Bob', 'the neighbour', 'my sister', 'the plumber', 'grandmother', 'the teacher', 'Zoe']
const remark = (n: number) =>
  `On day ${n} ${PEOPLE[n % 7]} decided to move the ${TOPICS[(n * 3) % 10]} number ${n} next to the `
  + `${TOPICS[(n * 7 + 1) % 10]} in room ${(n * 13) % 101}.`

const kindsOf = ({ messages }: Context) => messages.map(({ kind }) => kind)

describe.each(backends)('a context of a long conversation on $name', (backend) => {
  const world = useWorld(backend)
  let tenant: Tenant
  let conversationId: string
  beforeEach(async () => {
    tenant = world.tenant()
    const { conversation } = await createConversation(world.deps, tenant.as('owner'), {
      systemPrompt: 'Be kind.',
      compaction: { strategy: 'NEVER' },
      participants: [{ actor: 'ada' }, { actor: 'bot', kind: 'AGENT' }],
    })
    conversationId = conversation.id
  })

  /** @param outside see buildContext */
  const build = (tokenBudget: number, more: Partial<BuildContextInput> = {}, outside?: Viewer) => {
    const memory = { semanticRecall: { k: 5 }, includeFacts: true, includeProfile: true }
    const input = { conversationId, tokenBudget, as: 'bot', ...memory, ...more }
    return buildContext(world.deps, tenant.as('owner'), input, { outside })
  }

  async function fill(turns: number): Promise<void> {
    await appendTurns(world.deps, tenant.as('owner'), {
      conversationId,
      turns: Array.from({ length: turns }, (_, n) => ({
        actor: n % 2 ? 'bot' : 'ada',
        role: n % 2 ? ('ASSISTANT' as const) : ('USER' as const),
        content: remark(n),
      })),
    })
  }

  const recordPlaces = (count: number) =>
    recordFacts(world.deps, tenant.as('ada'), {
      conversationId,
      facts: [
        { subject: 'Ada', predicate: 'is', object: 'allergic to peanuts', observedAt: new Date(Date.UTC(2020, 0, 1)) },
        ...Array.from({ length: count }, (_, n) => ({
          subject: 'Ada',
          predicate: 'visited',
          object: `the ${TOPICS[n % 10]} museum in town number ${n}`,
          observedAt: new Date(Date.UTC(2021, 0, 1 + n)),
        })),
      ],
    })

  it('contains its summary, shortened if it does not fit, at any budget', async () => {
    await fill(400)
    const summary = await summarize(world.deps, tenant.as('owner'), { conversationId })
    expect(summary.tokenCount).toBeGreaterThan(800)
    for (let n = 400; n < 419; n++) await tenant.append(conversationId, n % 2 ? 'bot' : 'ada', remark(n))
    await recordPlaces(20)
    await world.deps.db
      .of(SYSTEM)
      .userProfile.create({
        data: {
          tenant: tenant.name,
          userId: 'ada',
          content: '## About\n- likes tea',
          tokenCount: 10,
          madeBy: 'facts',
          madeOf: [],
        },
      })
    for (const tokenBudget of [400, 800, 1_000, 1_500, 2_000, 2_500, 8_000]) {
      const context = await build(tokenBudget)
      expect(context.tokenCount).toBeLessThanOrEqual(tokenBudget)
      const [included, ...others] = context.messages.filter(({ kind }) => kind === 'SUMMARY')
      expect([tokenBudget, included?.sourceIds, others]).toEqual([tokenBudget, [summary.id], []])
      const text = included!.content.split('\n').slice(2, -1).join('\n')
      expect(summary.content.startsWith(text)).toBe(true)
      const isShortened = text !== summary.content
      expect(included!.content.startsWith('Summary of the conversation so far, shortened.')).toBe(isShortened)
      expect(context.items.some(({ reason }) => reason.includes('shortened'))).toBe(isShortened)
      // It is cut at the end of a sentence.
      expect(summary.content.slice(text.length)).toMatch(/^(?:\s|$)/)
      expect(isShortened).toBe(tokenBudget < 2_500)
      // A longer summary would fit into the space that is left only at the cost of the cache.
      if (isShortened) expect(context.tokenCount).toBeGreaterThan(0.9 * tokenBudget)
    }
  })

  it('contains the facts that recall ranks first, whatever their age', async () => {
    await fill(40)
    await recordPlaces(150)
    const question = 'Is there something that I am allergic to?'
    await tenant.append(conversationId, 'ada', question)
    const { hits } = await recall(world.deps, tenant.as('ada'), {
      conversationId,
      query: question,
      kinds: ['FACT'],
      k: 3,
    })
    const first = hits.flatMap(({ memory }) => (memory.kind === 'FACT' ? [memory.fact] : []))
    expect(first[0]).toMatchObject({ object: 'allergic to peanuts' })
    for (const tokenBudget of [400, 800, 2_000, 8_000]) {
      for (const semanticRecall of [{ k: 5 }, null]) {
        const context = await build(tokenBudget, { semanticRecall })
        const facts = context.messages.filter(({ kind }) => kind === 'FACT')
        expect(facts.map(({ content }) => content).join()).toContain('allergic to peanuts')
        const included = new Set(facts.flatMap(({ sourceIds }) => sourceIds))
        for (const { id } of first) expect(included).toContain(id)
        expect(context.tokenCount).toBeLessThanOrEqual(tokenBudget)
      }
    }
    const whole = await build(8_000)
    expect(whole.items.filter(({ included, kind }) => !included && kind === 'FACT')).toEqual([])
    const asked = await build(2_000, { query: 'What did Ada see in town number 7?', semanticRecall: null })
    expect(asked.messages.at(-2)!.content).toContain('museum in town number 7 ')
    expect(asked.messages.at(-2)!.content.split('\n')[2]).toContain('town number 7 ')
  })

  it('does not repeat facts that its profile, its turns or other facts contain', async () => {
    const turn = await tenant.append(conversationId, 'ada', 'I moved to Rome, and he moved to Oslo.')
    const facts = [
      { subject: 'Ada', predicate: 'lives in', object: 'Rome', sourceTurnId: turn.id },
      { subject: "Ada's brother", predicate: 'lives in', object: 'Norway', sourceTurnId: turn.id },
      { subject: 'Ada', predicate: 'likes', object: 'tea' },
    ]
    const recorded = await recordFacts(world.deps, tenant.as('ada'), { conversationId, facts })
    const [rome, norway, tea] = recorded.facts.map(({ id }) => id)
    await world.deps.db
      .of(SYSTEM)
      .userProfile.create({
        data: {
          tenant: tenant.name,
          userId: 'ada',
          content: '## About\n- likes tea',
          tokenCount: 10,
          madeBy: 'facts',
          madeOf: [],
        },
      })
    const context = await build(4_000)
    expect(context.messages.filter(({ kind }) => kind === 'FACT').map(({ sourceIds }) => sourceIds)).toEqual([[norway]])
    const omitted = context.items.filter(({ included, kind }) => !included && kind === 'FACT')
    expect(omitted.map(({ sourceIds, reason }) => [sourceIds, reason])).toEqual([
      [[tea], 'already in a profile of the context'],
      [[rome], 'already in the context: its source turn says so'],
    ])
    expect(context.truncated).toBe(false)
    expect(kindsOf(await build(4_000, { includeProfile: false }))).toEqual(['SYSTEM_PROMPT', 'FACT', 'RECENT'])
  })

  it('quotes the turns next to recalled turns in the space that is left, questions first', async () => {
    await tenant.append(conversationId, 'ada', 'Which colour has the new front door?')
    await tenant.append(conversationId, 'bot', 'Dark green, like the shutters.')
    await fill(60)
    const quoted = async (tokenBudget: number) => {
      const { messages } = await build(tokenBudget, {
        query: 'green shutters',
        semanticRecall: { k: 1 },
        recentTurns: 2,
      })
      return messages.find(({ kind }) => kind === 'RECALLED')!
    }
    const { content, reason } = await quoted(4_000)
    expect(content).toMatch(/ada: Which colour has the new front door\?\n\d\d:\d\d bot: Dark green/)
    expect(reason).toBe('relevant to the query: 1 recalled, 2 next to them')
  })

  it.each(['CONVERSATION', 'OWNER'] as const)(
    'contains no turn next to a hit and no fact from outside the view, in scope %s',
    async (scope) => {
      /** Builds a context as the agent. `hidden` is the text of a turn and of a fact that the agent does not see. */
      async function contextOf(hidden: string | null): Promise<string[]> {
        const { conversation } = await createConversation(world.deps, tenant.as('owner'), {
          compaction: { strategy: 'NEVER' },
          participants: [{ actor: 'owner' }, { actor: 'ada' }, { actor: 'bot', kind: 'AGENT' }],
        })
        conversationId = conversation.id
        const start = Date.UTC(2026, 0, 1)
        const say = (minute: number, actor: string, text: string, audience?: string[]) =>
          tenant.append(conversationId, actor, text, {
            createdAt: new Date(start + minute * 60_000),
            ...(audience && { audience }),
          })
        await say(1, 'ada', 'Which colour has the new front door?')
        if (hidden !== null) {
          const { id } = await say(2, 'ada', `${hidden}?`, ['owner'])
          const fact = { subject: 'The door', predicate: 'has the colour', object: hidden, sourceTurnId: id }
          await recordFacts(world.deps, tenant.as('owner'), { conversationId, facts: [fact] })
        }
        await say(3, 'bot', 'Dark green, like the shutters.')
        if (hidden !== null) await say(4, 'owner', `No, ${hidden}.`, ['ada'])
        await recordPlaces(5)
        for (let n = 0; n < 6; n++) await say(5 + n, 'ada', remark(n))
        const semanticRecall = { k: 1, scope }
        const input = { query: 'green shutters', semanticRecall, recentTurns: 2, strategy: 'SIMPLE' as const }
        // The owner, who searches the scope OWNER, sees the turns.
        const context = await build(4_000, input, scope === 'OWNER' ? tenant.as('owner') : undefined)
        expect(context.messages.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['RECALLED', 'FACT']))
        await deleteConversation(world.deps, tenant.as('owner'), conversationId)
        return context.messages.map(({ content }) => content)
      }
      const [within, without] = [await contextOf('crimson like the green shutters'), await contextOf(null)]
      expect(within.join()).not.toContain('crimson')
      // The owner's search also finds the hidden turns, which then take the place of turns that the agent sees.
      if (scope === 'CONVERSATION') expect(within).toEqual(without)
    },
  )
})
