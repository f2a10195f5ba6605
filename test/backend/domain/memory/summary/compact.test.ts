// Compaction on real databases: the covered turns, the trigger, the summarizer, and concurrent changes.

import type { Db } from '../../../../../src/store/db/db.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { createConversation, updateConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import type { Deps } from '../../../../../src/domain/deps.ts'
import { addParticipant, removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { compact, compactDue, summarize } from '../../../../../src/domain/memory/summary/compact.ts'
import { getCoveringSummaries, getSummaries } from '../../../../../src/domain/memory/summary/summary.ts'
import { appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { ProviderFailed } from '../../../../../src/errors.ts'
import { CallFailed } from '../../../../../src/providers/ports/call-failed.ts'
import { backends } from '../../../../support/backend.ts'
import { createFakeSummarizer, expectCovering, withSummarizer } from '../../../../support/covering.ts'
import { isLong } from '../../../../support/long.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'

describe.each(backends)('compaction on $name', (backend) => {
  const world = useWorld(backend)
  let tenant: Tenant
  let conversationId: string
  let deps: Deps
  let model: ReturnType<typeof createFakeSummarizer>
  beforeEach(async () => {
    tenant = world.tenant()
    conversationId = await tenant.newConversation('ada', 'bob')
    model = createFakeSummarizer()
    deps = withSummarizer(world.deps, model)
  })

  const turn = (content: string, more = {}) => ({ actor: 'ada', role: 'USER' as const, content, ...more })
  const append = async (count: number, words = 3, from = 0) =>
    appendTurns(deps, tenant.as('ada'), {
      conversationId,
      turns: Array.from({ length: count }, (_, n) => turn(`${from + n}${' word'.repeat(words)}`)),
    }).then(({ turns }) => turns)
  const covering = (actor = 'ada') => getCoveringSummaries(deps, tenant.as(actor), conversationId)
  const check = () => expectCovering(deps, conversationId)

  it('leaves a conversation unchanged up to 50 turns, then covers the oldest half', async () => {
    await append(50)
    expect(await compactDue(deps, tenant.name, conversationId)).toBe(0)
    await append(1)
    expect(await compactDue(deps, tenant.name, conversationId)).toBe(1)
    const { uncovered, covered } = await check()
    expect([covered.length, uncovered.length]).toEqual([25, 26])
    expect(await compactDue(deps, tenant.name, conversationId)).toBe(0)
    expect(model.requests).toHaveLength(1)
    const tokens = covered.reduce((sum, { tokenCount }) => sum + tokenCount, 0)
    expect(model.requests[0]).toMatchObject({ previous: null, maxTokens: Math.floor(tokens / 3) })
    expect(model.requests[0]!.turns[0]).toMatchObject({ speaker: 'ada', text: '0 word word word' })
  })

  it('covers the oldest half once on request, and again until the conversation is within a given policy', async () => {
    await append(120)
    const ada = tenant.as('ada')
    expect(await compact(deps, ada, { conversationId })).toMatchObject({ turnsCovered: 60 })
    expect(await compact(deps, ada, { conversationId, policy: {} })).toMatchObject({ turnsCovered: 30 })
    expect(await compact(deps, ada, { conversationId, policy: {} })).toMatchObject({ turnsCovered: 0 })
  })

  it.each(['ROLLING', 'HIERARCHICAL'] as const)(
    'writes summaries with at most a third of the covered tokens and without greetings, with the policy %s',
    async (strategy) => {
      await updateConversation(deps, tenant.as('ada'), {
        conversationId: conversationId,
        compaction: { strategy, triggerTurns: 20 },
      })
      const TEXTS = [
        'Hey Bob! Good to see you!',
        'How are you?',
        'The boat needs a new sail by May.',
        'Wow, great, Ada!',
      ]
      for (let round = 0; round < (isLong ? 12 : 5); round++) {
        await appendTurns(deps, tenant.as('ada'), {
          conversationId,
          turns: Array.from({ length: 21 }, (_, n) =>
            turn(`${TEXTS[n % 4]!} The sailmaker wrote letter ${21 * round + n} to the harbour.`),
          ),
        })
        const { tokensBefore, tokensAfter, summaries } = await compact(world.deps, tenant.as('ada'), { conversationId })
        expect(tokensAfter).toBeLessThan(tokensBefore!)
        expect(summaries.length).toBeGreaterThan(0)
        const { current, covered } = await check()
        for (const { fromPosition, toPosition, tokenCount, content } of current) {
          const of = covered.filter(({ position }) => position >= fromPosition && position <= toPosition)
          expect(tokenCount).toBeLessThanOrEqual(of.reduce((sum, each) => sum + each.tokenCount, 0) / 3)
          expect(content).not.toMatch(/Hey|Good to see you|How are you|Wow/)
        }
      }
    },
  )

  it('truncates a reply of the model that is too large, at the end of a sentence', async () => {
    await append(60, 20)
    const verbose = withSummarizer(world.deps, {
      ...model,
      summarize: async () => ({ content: 'The boat needs a new sail. '.repeat(1_000), model: 'fake' }),
    })
    await compactDue(verbose, tenant.name, conversationId)
    const { current, covered } = await check()
    const tokens = covered.reduce((sum, { tokenCount }) => sum + tokenCount, 0)
    expect(current[0]!.tokenCount).toBeLessThanOrEqual(tokens / 3)
    expect(current[0]!.content).toMatch(/sail\.$/)
  })

  it('covers few turns if they have many tokens', async () => {
    await append(4, 2_500)
    await compactDue(deps, tenant.name, conversationId)
    const { covered } = await check()
    expect(covered).toHaveLength(2)
  })

  it('extends a rolling summary by the turns after it', async () => {
    await append(60)
    await compactDue(deps, tenant.name, conversationId)
    await append(40)
    await compactDue(deps, tenant.name, conversationId)
    const { current, covered } = await check()
    expect(current).toMatchObject([{ content: 'summary 2', level: 0 }])
    expect(model.requests[1]!.previous).toBe('summary 1')
    expect(model.requests[1]!.turns).toHaveLength(covered.length - 30)
    expect(current[0]!.fromPosition).toBe(covered[0]!.position)
  })

  it('gives the model at most 8,000 tokens of turns at once, and truncates longer turns', async () => {
    await append(30, 1_000)
    await append(1, 9_000)
    await append(3)
    await summarize(deps, tenant.as('ada'), { conversationId })
    for (const { turns } of model.requests) {
      expect(await deps.tokens.count(turns.map(({ text }) => text).join('\n'))).toBeLessThanOrEqual(8_001)
    }
    expect(model.requests.length).toBeGreaterThanOrEqual(5)
    expect((await check()).uncovered).toEqual([])
  })

  it('writes summaries of spans, and summaries of summaries, with a hierarchical policy', async () => {
    await updateConversation(deps, tenant.as('ada'), {
      conversationId: conversationId,
      compaction: { strategy: 'HIERARCHICAL', triggerTurns: 4 },
    })
    for (let round = 0; round < 22; round++) {
      await append(3)
      await compactDue(deps, tenant.name, conversationId)
      await check()
    }
    const levels = (await covering()).map(({ level }) => level)
    expect(levels[0]).toBeGreaterThan(0)
    expect(levels).toEqual(levels.toSorted((a, b) => b - a))
    expect(levels.length).toBeLessThan(12)
  })

  it('never runs automatically with the policy NEVER, but runs on request', async () => {
    await updateConversation(deps, tenant.as('ada'), { conversationId, compaction: { strategy: 'NEVER' } })
    await append(60)
    expect(await compactDue(deps, tenant.name, conversationId)).toBe(0)
    expect(await compact(deps, tenant.as('ada'), { conversationId, policy: { strategy: 'NEVER' } })).toMatchObject({
      summaries: [],
      turnsCovered: 0,
    })
    expect(await compact(deps, tenant.as('ada'), { conversationId })).toMatchObject({ turnsCovered: 30 })
  })

  it('applies the given policy on request, and reports the saved tokens', async () => {
    await append(20, 30)
    const input = { conversationId, policy: { triggerTurns: 10 } }
    const { summaries, turnsCovered, tokensBefore, tokensAfter } = await compact(deps, tenant.as('ada'), input)
    expect(turnsCovered).toBe(10)
    expect(summaries).toMatchObject([{ content: 'summary 1' }])
    expect(tokensAfter).toBeLessThan(tokensBefore!)
    expect(await compact(deps, tenant.as('ada'), input)).toMatchObject({ summaries: [], turnsCovered: 0 })
    // Without a policy, the call covers half of the remaining turns.
    expect(await compact(deps, tenant.as('ada'), { conversationId })).toMatchObject({ turnsCovered: 5 })
  })

  it('covers the turns up to a given turn, once', async () => {
    const turns = await append(10)
    const through = { conversationId, through: turns[3]!.id }
    const summary = await summarize(deps, tenant.as('ada'), through)
    expect(summary).toMatchObject({ fromPosition: turns[0]!.seq, toPosition: turns[3]!.seq, level: 0, model: 'fake' })
    expect((await summarize(deps, tenant.as('ada'), through)).id).toBe(summary.id)
    expect(model.requests).toHaveLength(1)
    await check()
  })

  it('fails in an empty conversation, in another tenant, and for a turn of another conversation', async () => {
    await expect(summarize(deps, tenant.as('ada'), { conversationId })).rejects.toThrow(/nothing to summarise/)
    const other = world.tenant().as('ada')
    await expect(summarize(deps, other, { conversationId })).rejects.toThrow(/no conversation/)
    await expect(compact(deps, other, { conversationId })).rejects.toThrow(/no conversation/)
    const {
      turns: [elsewhere],
    } = await appendTurns(deps, tenant.as('ada'), {
      conversationId: await tenant.newConversation('ada'),
      turns: [turn('hello')],
    })
    await expect(summarize(deps, tenant.as('ada'), { conversationId, through: elsewhere!.id })).rejects.toThrow(
      /no turn/,
    )
  })

  it('keeps a tool call with its result, and stops before a call whose result is pending', async () => {
    const call = (callId: string) => ({
      role: 'ASSISTANT' as const,
      actor: 'bob',
      parts: [{ toolCall: { callId, name: 'f', arguments: {} } }],
    })
    const result = (callId: string) => ({
      role: 'TOOL' as const,
      actor: 'bob',
      parts: [{ toolResult: { callId, name: 'f', result: 1 } }],
    })
    const { turns } = await appendTurns(deps, tenant.as('ada'), {
      conversationId,
      turns: [turn('a'), call('x'), turn('b'), result('x'), turn('c'), call('y'), turn('d')],
    })
    await compact(deps, tenant.as('ada'), { conversationId, policy: { triggerTurns: 6 } })
    expect((await check()).through).toBe(turns[0]!.seq)
    await summarize(deps, tenant.as('ada'), { conversationId })
    expect((await check()).through).toBe(turns[4]!.seq)
    expect(model.requests.at(-1)!.turns.map(({ text }) => text)).toEqual([
      '(calls f with {})',
      'b',
      '(f answered 1)',
      'c',
    ])
  })

  it('stops at a streaming turn, and continues after it is committed', async () => {
    await append(3)
    const { turn: open } = await openTurn(deps, tenant.as('bob'), {
      writerToken: WRITER,
      conversationId,
      turn: { role: 'ASSISTANT' },
    })
    await append(3)
    await summarize(deps, tenant.as('ada'), { conversationId })
    expect((await check()).covered).toHaveLength(3)
    await commitTurn(deps, tenant.as('bob'), {
      writerToken: WRITER,
      turnId: open.id,
      parts: [{ data: { done: true } }],
    })
    await summarize(deps, tenant.as('ada'), { conversationId })
    expect((await check()).covered).toHaveLength(7)
  })

  it('never gives private turns to the model, and never covers them', async () => {
    await append(3)
    await tenant.append(conversationId, 'ada', 'the canary sings', { audience: ['bob'] })
    await append(3)
    await summarize(deps, tenant.as('ada'), { conversationId })
    expect(JSON.stringify(model.requests)).not.toContain('canary')
    expect((await check()).covered).toHaveLength(6)
  })

  it('shows a summary only to viewers who see all the turns it covers', async () => {
    await append(3)
    await tenant.append(conversationId, 'cy', 'hello')
    await append(1)
    await removeParticipant(deps, tenant.as('bob'), { conversationId, actor: 'bob' })
    await append(3)
    const summary = await summarize(deps, tenant.as('ada'), { conversationId })
    const { participants } = await deps.db
      .of(SYSTEM)
      .conversation.findUniqueOrThrow({ where: { id: conversationId }, include: { participants: true } })
    expect(participants.map(({ actor }) => actor).sort()).toEqual(['ada', 'bob', 'cy'])
    expect(await covering('ada')).toHaveLength(1)
    expect(await covering('stranger')).toHaveLength(1)
    expect(await covering('bob')).toEqual([])
    expect((await getSummaries(deps, tenant.as('bob'), [summary.id])).size).toBe(0)
    expect((await getSummaries(deps, tenant.as('cy'), [summary.id])).size).toBe(1)
    await expect(summarize(deps, tenant.as('bob'), { conversationId })).rejects.toThrow(/do not see all/)
  })

  it.each([
    ['no turns', 0, false],
    ['turns', 3, false],
    ['summarised turns', 3, true],
  ])('fails with the same error for an actor who joined after %s', async (_, turns, isSummarised) => {
    if (turns > 0) await append(turns)
    if (isSummarised) await summarize(deps, tenant.as('ada'), { conversationId })
    const participant = { actor: 'late', historyVisibility: 'SINCE_JOINED' as const }
    await addParticipant(deps, tenant.as('ada'), { conversationId, participant })
    const refusal = { message: expect.stringMatching(/^You do not see all turns/) }
    await expect(summarize(deps, tenant.as('late'), { conversationId })).rejects.toMatchObject(refusal)
    const { id } = await tenant.append(conversationId, 'late', 'hello')
    await expect(summarize(deps, tenant.as('late'), { conversationId, through: id })).rejects.toMatchObject(refusal)
  })

  it('hides summaries that cover an edited turn, and restores the summaries they had replaced', async () => {
    const turns = await append(12)
    const ada = tenant.as('ada')
    const first = await summarize(deps, ada, { conversationId, through: turns[3]!.id })
    const second = await summarize(deps, ada, { conversationId, through: turns[8]!.id })
    const readable = async () => [...(await getSummaries(deps, ada, [first.id, second.id])).keys()].sort()
    expect(await readable()).toEqual([first.id, second.id].sort())
    await supersedeTurn(deps, ada, { turnId: turns[10]!.id, turn: turn('not covered') })
    expect((await check()).through).toBe(turns[8]!.position)
    await supersedeTurn(deps, ada, { turnId: turns[6]!.id, turn: turn('edited') })
    expect((await check()).current.map(({ id }) => id)).toEqual([first.id])
    expect(await readable()).toEqual([first.id])
    const again = await summarize(deps, ada, { conversationId, through: turns[8]!.id })
    expect(model.requests.at(-1)!.turns.map(({ text }) => text)).toContain('edited')
    expect(again.fromPosition).toBe(turns[0]!.seq)
    await supersedeTurn(deps, ada, { turnId: turns[0]!.id, turn: turn('edited, too') })
    expect((await check()).current).toEqual([])
    expect(await readable()).toEqual([])
    await summarize(deps, ada, { conversationId })
    await check()
  })

  it('discards a summary if a covered turn is edited while the model runs, and tries again', async () => {
    const turns = await append(6)
    let edits = 0
    model.before = async () => {
      if (edits++ > 0) return
      await supersedeTurn(deps, tenant.as('ada'), { turnId: turns[2]!.id, turn: turn('edited meanwhile') })
    }
    const { content } = await summarize(deps, tenant.as('ada'), { conversationId, through: turns[4]!.id })
    expect(content).toBe('summary 2')
    expect(model.requests[1]!.turns.map(({ text }) => text)).toContain('edited meanwhile')
    await check()
  })

  it('summarises again if an edit makes the summary stale just before it is read', async () => {
    const turns = await append(4)
    let edits = 0
    /** Edits a turn before the first statement that reads summaries by id. */
    const editing = <T extends object>(client: T, method: keyof T): T =>
      new Proxy(client, {
        get(_, key) {
          const value = client[key as keyof T]
          if (key !== method || typeof value !== 'function') return value
          return async (...args: unknown[]) => {
            if (JSON.stringify(args[0]).includes('s.id = ANY') && edits++ === 0) {
              await supersedeTurn(world.deps, tenant.as('ada'), { turnId: turns[1]!.id, turn: turn('edited') })
            }
            return value.apply(client, args)
          }
        },
      })
    const db: Db = { ...deps.db, of: (scope) => editing(deps.db.of(scope), '$queryRaw') }
    const edited = { ...deps, pool: editing(deps.pool, 'query'), db }
    const summary = await summarize(edited, tenant.as('ada'), { conversationId, through: turns[3]!.id })
    expect(summary.content).toBe('summary 2')
    expect((await check()).current.map(({ id }) => id)).toEqual([summary.id])
  })

  it('covers each turn once during concurrent compactions and appends', async () => {
    await append(80)
    let release = () => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    model.before = () => released
    await Promise.all([
      compactDue(deps, tenant.name, conversationId),
      compactDue(deps, tenant.name, conversationId),
      compact(deps, tenant.as('ada'), { conversationId }),
      Promise.all([append(10), append(10)]).then(release),
      summarize(deps, tenant.as('ada'), { conversationId }),
    ])
    await check()
  })

  it('writes nothing if the model fails, and reports the failure', async () => {
    await append(60)
    model.before = () => Promise.reject(new CallFailed('The model is overloaded.', true))
    const failure: unknown = await compact(deps, tenant.as('ada'), { conversationId }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ProviderFailed)
    expect(failure).toMatchObject({ retryable: true, message: 'The model is overloaded.' })
    expect((await check()).current).toEqual([])
  })

  it('reduces a long imported conversation to 1,000 tokens in passes of 8,000 tokens, without a model', async () => {
    const batches = isLong ? 5 : 1
    for (let batch = 0; batch < batches; batch++) await append(1_000, 20, batch * 1_000)
    const extractive = world.deps.summarizers.default
    const passes: number[] = []
    const recording = withSummarizer(deps, {
      ...extractive,
      summarize(request) {
        passes.push(request.turns.reduce((sum, { text }) => sum + (deps.tokens.count(text) as number), 0))
        return extractive.summarize(request)
      },
    })
    await compactDue(recording, tenant.name, conversationId)
    const { current, uncovered } = await check()
    expect(current).toHaveLength(1)
    expect(current[0]!.tokenCount).toBeLessThanOrEqual(1_000)
    expect(uncovered.length).toBeLessThanOrEqual(50)
    expect(Math.max(...passes)).toBeLessThanOrEqual(8_000)
    expect(passes.length).toBeGreaterThan(2 * batches)
  })

  it('uses only the summarizer that the conversation names, and deletes summaries with the conversation', async () => {
    const { conversation: named } = await createConversation(world.deps, tenant.as('ada'), {
      compaction: { summarizerModel: 'extractive' },
    })
    await expect(
      updateConversation(deps, tenant.as('ada'), {
        conversationId: named.id,
        compaction: { summarizerModel: 'gpt-9' },
      }),
    ).rejects.toThrow(/compaction.summarizerModel: is "gpt-9"; the configured models are extractive, fake/)
    await expect(createConversation(deps, tenant.as('ada'), { compaction: { triggerTurns: 0 } })).rejects.toThrow(
      /at least 1/,
    )
    await expect(
      compact(deps, tenant.as('ada'), { conversationId, policy: { summarizerModel: 'gpt-9' } }),
    ).rejects.toThrow(/policy.summarizerModel/)
    await appendTurns(deps, tenant.as('ada'), { conversationId: named.id, turns: [turn('The ship sails at nine.')] })
    const summary = await summarize(world.deps, tenant.as('ada'), { conversationId: named.id })
    expect(summary).toMatchObject({ model: 'extractive', content: 'Topic:\nada: The ship sails at nine.' })
    expect(await deleteConversation(deps, tenant.as('ada'), named.id)).toMatchObject({ summaries: 1 })
  })
})
