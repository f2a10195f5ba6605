// What contexts with all sections do with their budget, over random conversations and budgets from 400 tokens: nothing is
// left out that fits into the space that is left, what is left out is summarised, relevant facts are included, and what
// precedes the recalled part stays the same from call to call.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assemble } from '../../../../../../src/domain/memory/context/budget/assemble.ts'
import type {
  AssemblyRequest,
  ContextMaterial,
} from '../../../../../../src/domain/memory/context/budget/assembly-input.ts'
import { DEFAULT_SHARES } from '../../../../../../src/domain/memory/context/budget/budget.ts'
import type { Assembled } from '../../../../../../src/domain/memory/context/message.ts'
import { quoteTurn, quoteProfile, type RecalledTurn } from '../../../../../../src/domain/memory/context/quote.ts'
import { FORMATS } from '../../../../../../src/domain/memory/context/render.ts'
import { countInline } from '../../../../../../src/text/tokens.ts'
import { casesOf } from '../../../../../support/long.ts'
import { toFact, tokensSent, toolFaults } from '../cases.ts'

const tokens = { count: countInline }
const sentence = (min: number, max: number) =>
  fc
    .array(fc.lorem({ maxCount: 1 }), { minLength: min, maxLength: max, size: 'max' })
    .map((words) => `${words.join(' ').replaceAll('.', '')}.`)
const day = (n: number) => new Date(Date.UTC(2026, 0, 1, 12 * n))

const conversation = fc.record({
  turns: fc.array(sentence(3, 50), { minLength: 10, maxLength: 90, size: 'max' }),
  summaries: fc.array(fc.array(sentence(3, 25), { minLength: 2, maxLength: 30, size: 'max' }), {
    minLength: 1,
    maxLength: 3,
  }),
  profiles: fc.array(fc.array(sentence(1, 8), { minLength: 1, maxLength: 12 }), { maxLength: 2 }),
  facts: fc.array(sentence(1, 8), { minLength: 1, maxLength: 150, size: 'max' }),
  hits: fc.array(sentence(3, 40), { maxLength: 30, size: 'max' }),
  k: fc.integer({ min: 1, max: 30 }),
  tokenBudget: fc.oneof(fc.integer({ min: 400, max: 1_200 }), fc.integer({ min: 400, max: 8_000 })),
  strategy: fc.constantFrom('HYBRID', 'SUMMARIZATION'),
})
type Conversation = typeof conversation extends fc.Arbitrary<infer T> ? T : never

const COVERED = 300

/** Returns the material and the request of a context after the first `count` uncovered turns. */
function given({ turns, summaries, profiles, facts, hits, k, tokenBudget }: Conversation, count = turns.length) {
  const recent = turns
    .slice(0, count)
    .map((text, n) => ({
      id: `turn_${n}`,
      position: COVERED + 1 + n,
      actor: n % 2 ? 'bot' : 'ada',
      role: n % 2 ? ('ASSISTANT' as const) : ('USER' as const),
      status: 'COMMITTED',
      text,
      parts: null,
      tokenCount: 0,
      createdAt: day(COVERED + n),
    }))
  const quotedFacts = facts.map((object, n) =>
    toFact(`fact_${n}`, { subject: 'Ada', predicate: `knows ${n}`, object }, { observedAt: day(500 - n) }),
  )
  const ranked = quotedFacts.toSorted((a, b) => a.object.length - b.object.length).slice(0, 40)
  const old = hits.map((text, n): RecalledTurn => ({
    id: `old_${n}`,
    position: n,
    name: 'Ada',
    createdAt: day((n * 7) % 30),
    tokenCount: 0,
    text,
  }))
  const material: ContextMaterial = {
    systemPrompt: 'Be kind.',
    profiles: profiles.map((lines, n) => ({ id: `user_${n}`, name: `User ${n}`, text: lines.join('\n') })),
    facts: quotedFacts,
    hasAllFacts: true,
    hasEndedFacts: false,
    states: [],
    summaries: summaries.map((sentences, n) => ({
      id: `sum_${n}`,
      content: sentences.join(' '),
      fromPosition: 1 + n,
      toPosition: n === summaries.length - 1 ? COVERED : 1 + n,
    })),
    tooLong: [],
    kept: [],
    recent,
    complete: true,
    damaged: [],
    answered: null,
    isWhole: false,
    perspective: { as: 'bot', needsNames: false, names: new Map() },
  }
  const request: AssemblyRequest = {
    tokenBudget,
    maxMessages: null,
    maxChars: null,
    recentTurns: 2_500,
    inSteps: true,
    shares: DEFAULT_SHARES,
    recall: { k, find: async () => old },
    findFacts: async () => ranked,
  }
  return { material, request, ranked, old }
}

const build = (all: Conversation, count?: number) => {
  const { material, request } = given(all, count)
  return assemble(tokens, material, request)
}

const RUNS = { numRuns: casesOf(2_400), endOnFailure: true }
/** Tokens that are kept free for the message that Anthropic's rendering may insert. */
const RESERVED = 26

describe('a context with all sections', () => {
  it('leaves nothing out that fits into the space that is left', async () => {
    await fc.assert(
      fc.asyncProperty(conversation, async (all) => {
        const { material, old } = given(all)
        const context = await build(all)
        expect(context.tokenCount).toBeLessThanOrEqual(all.tokenBudget)
        for (const format of FORMATS) expect(tokensSent(context, format)).toBeLessThanOrEqual(context.tokenCount)
        expect([...toolFaults(context)]).toEqual([])
        const left = all.tokenBudget - context.tokenCount - RESERVED
        const has = (name: string, start: string) =>
          context.messages.some((each) => each.name === name && each.content.startsWith(start))
        // What is left out may need a message of its own.
        const message = 60
        const costs: Record<string, number> = {
          PROFILE: message,
          FACT: has('facts', 'Known from earlier, most relevant first.') ? 0 : message,
          RECALLED: has('recall', '') ? 0 : message,
          RECENT: has('recall', '') ? 0 : message,
        }
        const texts = new Map([
          ...material.facts.map(({ id, text }) => [id, text] as const),
          ...material.profiles.map((each) => [each.id, quoteProfile(each, '~~~')] as const),
          ...[...old, ...material.recent.map((each) => ({ ...each, name: each.actor }))].map(
            (each) => [each.id, `${quoteTurn(each).quote}\n2026-01-01`] as const,
          ),
        ])
        for (const { kind, included, sourceIds } of context.items) {
          if (included || kind === 'SUMMARY') continue
          for (const id of sourceIds) {
            const cost = countInline(JSON.stringify(`\n${texts.get(id)!}`).slice(1, -1)) + costs[kind]!
            expect([id, cost > left]).toEqual([id, true])
          }
        }
      }),
      RUNS,
    )
  })

  it('contains a part of each summary, or says that not a sentence of it fits', async () => {
    let shortened = 0
    await fc.assert(
      fc.asyncProperty(conversation, async (all) => {
        const context = await build(all)
        const summaries = context.messages.filter(({ kind }) => kind === 'SUMMARY')
        const included = summaries.flatMap(({ sourceIds }) => sourceIds)
        const omitted = context.items.flatMap(({ kind, included: isIn, sourceIds }) =>
          kind === 'SUMMARY' && !isIn ? sourceIds : [],
        )
        expect([...included, ...omitted].sort()).toEqual(all.summaries.map((_, n) => `sum_${n}`))
        // The newest summary is the last one that is left out.
        expect(included).toContain(`sum_${all.summaries.length - 1}`)
        const text = summaries.map(({ content }) => content).join('\n')
        for (const sentences of all.summaries.filter((_, n) => included.includes(`sum_${n}`))) {
          expect(text).toContain(sentences[0])
        }
        const isWhole = all.summaries.every((sentences) => text.includes(sentences.join(' ')))
        expect(text.startsWith('Summary of the conversation so far, shortened.')).toBe(!isWhole)
        if (!isWhole) {
          expect(context.truncated).toBe(true)
          shortened += 1
        }
      }),
      RUNS,
    )
    expect(shortened).toBeGreaterThan(10)
  })

  it('contains the facts that are ranked first: three, or two below 1,200 tokens', async () => {
    await fc.assert(
      fc.asyncProperty(conversation, async (all) => {
        const { messages } = await build(all)
        const included = messages.flatMap(({ kind, sourceIds }) => (kind === 'FACT' ? sourceIds : []))
        for (const { id } of given(all).ranked.slice(0, all.tokenBudget < 1_200 ? 2 : 3)) expect(included).toContain(id)
      }),
      RUNS,
    )
  })

  /** Returns the messages before the part that depends on the query, as JSON. */
  function prefixOf({ messages, stablePrefixTokens, tokenCount }: Assembled): string[] {
    if (stablePrefixTokens === tokenCount) return messages.map((each) => JSON.stringify(each))
    let sum = 0
    return messages
      .slice(
        0,
        messages.findIndex((each) => (sum += each.tokenCount) > stablePrefixTokens),
      )
      .map((each) => JSON.stringify(each))
  }

  it('begins with the same messages from call to call, with few exceptions', async () => {
    let [calls, sameSections, same] = [0, 0, 0]
    await fc.assert(
      fc.asyncProperty(conversation, async (all) => {
        let before: string[] | null = null
        for (let count = 1; count <= all.turns.length; count += 2) {
          const prefix = prefixOf(await build(all, count))
          if (before) {
            const isTurn = (each: string) => each.includes('"kind":"RECENT"')
            const sections = (some: readonly string[]) => some.filter((each) => !isTurn(each)).join()
            calls += 1
            if (sections(prefix) === sections(before)) sameSections += 1
            if (before.every((each, n) => prefix[n] === each)) same += 1
          }
          before = prefix
        }
      }),
      // The same cases in each run, because the shares of random ones vary.
      { numRuns: casesOf(320), seed: 1, endOnFailure: true },
    )
    expect(sameSections / calls).toBeGreaterThan(0.9)
    // A window of few turns, in a small context, moves often.
    expect(same / calls).toBeGreaterThan(0.5)
  })
})
