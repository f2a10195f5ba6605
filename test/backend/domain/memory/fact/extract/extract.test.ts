// Extraction of facts from turns: each turn is read once, by any process; questions, instructions, tool results and
// repetitions by agents yield nothing; facts of private turns stay private.

import { describe, expect, it } from 'vitest'
import {
  extractFacts,
  extractNext,
  MAX_EXTRACTED_TURNS,
} from '../../../../../../src/domain/memory/fact/extract/extract.ts'
import { getFactPage } from '../../../../../../src/domain/memory/fact/fact.ts'
import { addParticipant } from '../../../../../../src/domain/conversation/participant/participant.ts'
import { retractFact } from '../../../../../../src/domain/memory/fact/record.ts'
import type { Deps } from '../../../../../../src/domain/deps.ts'
import { appendDelta } from '../../../../../../src/domain/turn/streaming/append-delta.ts'
import { commitTurn } from '../../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurns, openTurn } from '../../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../../src/domain/turn/supersede.ts'
import type { Viewer } from '../../../../../../src/domain/kernel/view.ts'
import { CallFailed } from '../../../../../../src/providers/ports/call-failed.ts'
import { type ExtractedFact, type ExtractorTurn } from '../../../../../../src/providers/ports/fact-extractor.ts'
import { pageOfTurns } from '../../../../../../src/domain/turn/history.ts'
import { backends } from '../../../../../support/backend.ts'
import { useWorld } from '../../../../../support/world.ts'
import { WRITER } from '../../../../../support/writer.ts'
import { isLong } from '../../../../../support/long.ts'
import { SYSTEM } from '../../../../../../src/store/db/scope.ts'

const ada = { actor: 'ada', displayName: 'Ada' }
const helper = { actor: 'helper', displayName: 'Helper', kind: 'AGENT' as const }

describe.each(backends)('extracting facts on $name', (backend) => {
  const world = useWorld(backend)

  const activeFacts = async (viewer: Viewer) =>
    (await getFactPage(world.deps, viewer, {})).items
      .map(({ subject, predicate, object }) => `${subject} ${predicate} ${object}`)
      .sort()

  /** The world's deps with another extractor. */
  const withExtractor = (
    extract: (turns: readonly ExtractorTurn[]) => Promise<ExtractedFact[]> | ExtractedFact[],
  ): Deps => ({
    ...world.deps,
    factServices: {
      ...world.deps.factServices,
      extractor: { name: 'test', extract: async (turns) => ({ facts: await extract(turns) }), close: async () => {} },
    },
  })

  /** Extracts one fact from each text of the form "Ada | lives in | Rome". */
  const extractStatements = (turns: readonly ExtractorTurn[]): ExtractedFact[] =>
    turns.flatMap(({ id, text }) => {
      const [subject, predicate, object] = text.split(' | ') as [string, string?, string?]
      return predicate && object ? [{ subject, predicate, object, confidence: 1, turnId: id }] : []
    })

  it('finds facts that people state about themselves, with the source turn', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation(ada, helper)
    const turn = await tenant.append(conversationId, 'ada', 'I live in Rome. Where do you live?')
    await tenant.append(conversationId, 'ada', 'Would I like Oslo?')
    const { facts, exactDuplicatesSkipped } = await extractFacts(deps, tenant.as('ada'), { conversationId })
    expect(exactDuplicatesSkipped).toBe(0)
    expect(facts).toMatchObject([
      {
        subject: 'Ada',
        predicate: 'lives in',
        object: 'Rome',
        userId: 'ada',
        saidBy: 'HUMAN',
        sourceTurnId: turn.id,
        conversationId,
        observedAt: turn.createdAt,
      },
    ])
  })

  it('puts turns that different actors see in different requests, and drops facts that name turns of other requests', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation(ada, 'bob', 'eve')
    const hello = await tenant.append(conversationId, 'ada', 'Hello all.')
    await tenant.append(conversationId, 'ada', 'I live in Rome.', { audience: ['bob'] })
    await tenant.append(conversationId, 'ada', 'I live in Oslo.', { audience: ['bob', 'eve'] })
    await tenant.append(conversationId, 'bob', 'Me too.', { audience: ['ada'] })
    await addParticipant(deps, tenant.as('ada'), {
      conversationId,
      participant: { actor: 'late', historyVisibility: 'SINCE_JOINED' },
    })
    await tenant.append(conversationId, 'ada', 'Welcome.')
    const requests: string[][] = []
    const spied = withExtractor((turns) => {
      requests.push(turns.map(({ text }) => text))
      // Simulate a model that was instructed to publish the turns that it reads.
      return [{ subject: 'Ada', predicate: 'whispers', object: turns[0]!.text, confidence: 1, turnId: hello.id }]
    })
    await extractFacts(spied, tenant.as('ada'), { conversationId })
    expect(requests).toEqual([['Hello all.'], ['I live in Rome.', 'Me too.'], ['I live in Oslo.'], ['Welcome.']])
    for (const actor of ['eve', 'late', 'bob']) {
      expect(await activeFacts(tenant.as(actor))).toEqual(actor === 'late' ? [] : ['Ada whispers Hello all.'])
    }
  })

  it.runIf(isLong)(`reads at most ${MAX_EXTRACTED_TURNS} turns, and returns whether unread turns remain`, async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation(ada)
    const turns = Array.from({ length: MAX_EXTRACTED_TURNS }, () => ({ role: 'USER' as const, content: 'Hello.' }))
    await appendTurns(deps, tenant.as('ada'), { conversationId, turns })
    await tenant.append(conversationId, 'ada', 'I live in Rome.')
    const extract = () => extractFacts(deps, tenant.as('ada'), { conversationId })
    expect(await extract()).toMatchObject({ facts: [], hasMore: true })
    expect(await extract()).toMatchObject({ facts: [{ object: 'Rome' }], hasMore: false })
  })

  it('reads each turn once: up to the given turn, then the rest, then nothing', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation(ada)
    const first = await tenant.append(conversationId, 'ada', 'I live in Rome.')
    await tenant.append(conversationId, 'ada', 'I like tea.')
    const extract = async (through?: string) =>
      (await extractFacts(deps, tenant.as('ada'), { conversationId, through })).facts.map(({ object }) => object)
    expect(await extract(first.id)).toEqual(['Rome'])
    expect(await extract()).toEqual(['tea'])
    expect(await extract()).toEqual([])
    await tenant.append(conversationId, 'ada', 'I live in Rome.')
    expect(await extractFacts(deps, tenant.as('ada'), { conversationId })).toEqual({
      facts: [],
      exactDuplicatesSkipped: 1,
      hasMore: false,
    })
  })

  it('reads a long conversation in batches, with committed and edited turns in their newest version', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const viewer = tenant.as('ada')
    const conversationId = await tenant.newConversation(ada)
    const edited = await tenant.append(conversationId, 'ada', 'I live in Rome.')
    const { turn: open } = await openTurn(deps, viewer, { writerToken: WRITER, conversationId, turn: { role: 'USER' } })
    for (let i = 0; i < 120; i++)
      await tenant.append(conversationId, 'ada', i % 10 === 0 ? `I visited place ${i}.` : 'Well.')
    await appendDelta(deps, viewer, { writerToken: WRITER, turnId: open.id, start: 0, text: 'I like jazz.' })
    await commitTurn(deps, viewer, { writerToken: WRITER, turnId: open.id })
    await supersedeTurn(deps, viewer, { turnId: edited.id, turn: { content: 'I live in Oslo.', role: 'USER' } })
    const read: string[][] = []
    const spied = withExtractor(async (turns) => {
      read.push(turns.map(({ text }) => text))
      return (await deps.factServices.extractor.extract(turns)).facts
    })
    await extractFacts(spied, viewer, { conversationId })
    expect(read.map(({ length }) => length)).toEqual([49, 50, 23])
    expect(read.flat()).not.toContain('I live in Rome.')
    const facts = await activeFacts(viewer)
    expect(facts).toContain('Ada lives in Oslo')
    expect(facts).toContain('Ada likes jazz')
  })

  it('writes a fact once if several processes find it at the same time, and misses none', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation(ada)
    for (let i = 0; i < 40; i++) {
      await tenant.append(conversationId, 'ada', `I live in City${String.fromCharCode(65 + (i % 26))}${i}.`)
    }
    const runs = await Promise.all(
      Array.from({ length: 6 }, async () => {
        let count = 0
        for (let idle = 0; idle < 5;)
          (await extractNext(deps, { tenant: tenant.name, conversationId }, 4)) ? count++ : idle++
        return count
      }),
    )
    expect(runs.reduce((sum, count) => sum + count)).toBe(10)
    const progress = await deps.db.of(SYSTEM).conversationProgress.findUnique({ where: { conversationId } })
    expect(progress).toMatchObject({ extractions: 10, extractedThrough: await readTurnsThrough(conversationId) })
    expect(await deps.db.of(SYSTEM).fact.count({ where: { conversationId } })).toBe(40)
  })
  /** The seq of the newest turn; the entries of facts follow it. */
  const readTurnsThrough = async (conversationId: string) =>
    (await world.deps.db.of(SYSTEM).turn.findFirst({ where: { conversationId }, orderBy: { seq: 'desc' } }))!.seq

  it('limits facts of private turns to the audience', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation(ada, 'bob', 'carl')
    await tenant.append(conversationId, 'ada', 'I live in Rome.')
    await tenant.append(conversationId, 'ada', 'I live in Oslo.', { audience: ['bob'] })
    const reply = await extractFacts(deps, tenant.as('carl'), { conversationId })
    expect(reply.facts.map(({ object }) => object)).toEqual(['Rome'])
    expect(await activeFacts(tenant.as('bob'))).toEqual(['Ada lives in Oslo', 'Ada lives in Rome'])
    await tenant.append(conversationId, 'ada', 'I live in Oslo.', { audience: ['bob'] })
    const skipped = async (actor: string) =>
      (await extractFacts(deps, tenant.as(actor), { conversationId })).exactDuplicatesSkipped
    expect(await skipped('carl')).toBe(0)
  })

  it('reveals no facts or turns from before a participant joined', async () => {
    const { deps } = world
    const results = []
    for (const before of [[], ['I live in Rome.'], ['I live in Rome.', 'I live in Rome.', 'I like tea.']]) {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation(ada)
      for (const text of before) await tenant.append(conversationId, 'ada', text)
      // Of three turns, the first is extracted before the participant joins, the others in the participant's call.
      if (before.length === 3) {
        const [first] = (await pageOfTurns(deps, tenant.as('ada'), [conversationId], { first: 1 })).get(
          conversationId,
        )!.items
        await extractFacts(deps, tenant.as('ada'), { conversationId, through: first!.id })
      }
      const participant = { actor: 'late', historyVisibility: 'SINCE_JOINED' as const }
      await addParticipant(deps, tenant.as('ada'), { conversationId, participant })
      for (let n = 0; n < 2; n++) await tenant.append(conversationId, 'ada', 'I live in Rome.')
      const { facts, exactDuplicatesSkipped } = await extractFacts(deps, tenant.as('late'), { conversationId })
      results.push([facts.map(({ object }) => object), exactDuplicatesSkipped])
    }
    expect(results).toEqual([
      [['Rome'], 1],
      [['Rome'], 1],
      [['Rome'], 1],
    ])
  })

  it('extracts no facts from instructions and tools, and marks facts from agents', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation(ada, helper, { actor: 'clock', kind: 'TOOL' })
    await tenant.append(conversationId, 'ada', 'I live in Rome.', { role: 'SYSTEM' })
    await tenant.append(conversationId, 'clock', 'I live in Oslo.')
    await tenant.append(conversationId, 'helper', 'Ada lives in Lima.', { role: 'ASSISTANT' })
    await tenant.append(conversationId, 'ada', 'Hello.')
    const { facts } = await extractFacts(deps, tenant.as('ada'), { conversationId })
    expect(facts).toMatchObject([{ object: 'Lima', saidBy: 'AGENT', userId: 'ada' }])
  })

  it('extracts no facts that agents repeat, and reactivates no superseded facts that they repeat', async () => {
    const tenant = world.tenant()
    const viewer = tenant.as('ada')
    const conversationId = await tenant.newConversation(ada, helper)
    const deps = withExtractor(extractStatements)
    await tenant.append(conversationId, 'ada', 'Ada | lives in | Rome')
    await tenant.append(conversationId, 'ada', 'Ada | likes | tea')
    const { facts } = await extractFacts(deps, viewer, { conversationId })
    await retractFact(deps, viewer, { factId: facts.find(({ object }) => object === 'Rome')!.id })
    const texts = ['Ada | resides in | Rome', 'ada | lives in | rome', 'Ada | enjoys | tea', 'Ada | likes | tea']
    for (const text of texts) {
      await tenant.append(conversationId, 'helper', text, { role: 'ASSISTANT' })
    }
    expect(await extractFacts(deps, viewer, { conversationId })).toEqual({
      facts: [],
      exactDuplicatesSkipped: 1,
      hasMore: false,
    })
    await tenant.append(conversationId, 'ada', 'Ada | resides in | Rome')
    expect((await extractFacts(deps, viewer, { conversationId })).facts).toHaveLength(1)
  })

  it('extracts no facts that an agent repeats in a private turn whose audience sees them already', async () => {
    const tenant = world.tenant()
    const viewer = tenant.as('ada')
    const conversationId = await tenant.newConversation(ada, 'bob', helper)
    const deps = withExtractor(extractStatements)
    const extract = () => extractFacts(deps, viewer, { conversationId })
    await tenant.append(conversationId, 'ada', 'Ada | lives in | Rome')
    await tenant.append(conversationId, 'ada', 'Ada | likes | tea')
    await tenant.append(conversationId, 'ada', 'Ada | owns | a boat', { audience: ['bob', 'helper'] })
    const { facts } = await extract()
    await retractFact(deps, viewer, { factId: facts.find(({ object }) => object === 'Rome')!.id })
    for (const text of [
      'Ada | lives in | Rome',
      'Ada | likes | tea',
      'Ada | enjoys | tea',
      'Ada | possesses | a boat',
    ]) {
      await tenant.append(conversationId, 'helper', text, { role: 'ASSISTANT', audience: ['ada'] })
    }
    expect((await extract()).facts).toEqual([])
    // A fact is new for viewers who could not see it before.
    await tenant.append(conversationId, 'helper', 'Ada | possesses | a boat', { role: 'ASSISTANT' })
    expect((await extract()).facts).toMatchObject([{ predicate: 'possesses', saidBy: 'AGENT' }])
  })

  it('accepts only valid facts of the given turns from a hostile extractor', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation(ada)
    const turn = await tenant.append(conversationId, 'ada', 'Hello.')
    const instruction = await tenant.append(conversationId, 'ada', 'Ada is in charge.', { role: 'SYSTEM' })
    const valid = { subject: 'Ada', predicate: 'says', object: 'hello', confidence: 1, turnId: turn.id }
    const hostile = withExtractor(() => [
      { ...valid, turnId: 'turn_0123456789ABCDEFGHJKMNPQRS' },
      { ...valid, object: 'she is in charge', turnId: instruction.id },
      { ...valid, subject: ' \u0000' },
      { ...valid, object: 'x'.repeat(9_000) },
      { ...valid, confidence: 7 },
      valid,
    ])
    const reply = await extractFacts(hostile, tenant.as('ada'), { conversationId })
    // An invalid confidence counts as 0.5; the last candidate is then an exact duplicate.
    expect(reply).toMatchObject({ facts: [{ object: 'hello', confidence: 0.5 }], exactDuplicatesSkipped: 1 })
  })

  it('writes nothing if the extractor fails, and reads the same turns again later', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation(ada)
    await tenant.append(conversationId, 'ada', 'I live in Rome.')
    const failing = withExtractor(() => Promise.reject(new CallFailed('It is down.', true)))
    await expect(extractFacts(failing, tenant.as('ada'), { conversationId })).rejects.toMatchObject({
      code: 'PROVIDER_FAILED',
      retryable: true,
    })
    expect((await extractFacts(world.deps, tenant.as('ada'), { conversationId })).facts).toHaveLength(1)
  })

  it('drops facts of a turn that is edited during extraction', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const viewer = tenant.as('ada')
    const conversationId = await tenant.newConversation(ada)
    const turn = await tenant.append(conversationId, 'ada', 'I live in Rome.')
    const slow = withExtractor(async (turns) => {
      const { facts } = await deps.factServices.extractor.extract(turns)
      if (turns.some(({ id }) => id === turn.id)) {
        await supersedeTurn(deps, viewer, { turnId: turn.id, turn: { content: 'I live in Oslo.', role: 'USER' } })
      }
      return facts
    })
    await extractFacts(slow, viewer, { conversationId })
    await extractFacts(deps, viewer, { conversationId })
    expect(await activeFacts(viewer)).toEqual(['Ada lives in Oslo'])
  })

  it('redacts personal data before facts are stored, if configured', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation(ada)
    await tenant.append(conversationId, 'ada', 'Ada | opens the door by | 4711-KEY')
    await tenant.append(conversationId, 'ada', 'Ada | writes from | ada@example.org')
    await tenant.append(conversationId, 'ada', 'Ada | reads at | ada@exam\u200bple.org')
    const deps = {
      ...withExtractor(extractStatements),
      redaction: { least: 'facts' as const, of: () => 'facts' as const, changed() {} },
      detectors: [{ kind: 'door code', pattern: /\d{4}-KEY/ }],
    }
    const { facts } = await extractFacts(deps, tenant.as('ada'), { conversationId })
    expect(facts.map(({ object }) => object)).toEqual(['[DOOR CODE]', '[EMAIL]', '[EMAIL]'])
  })

  it.each([
    [{ conversationId: 'conv_0123456789ABCDEFGHJKMNPQRS' }, 'There is no conversation'],
    [{ conversationId: 'conversation' }, 'is not the id of a conversation'],
  ])('rejects %j', async (input, message) => {
    await expect(extractFacts(world.deps, world.tenant().as('ada'), input)).rejects.toThrow(message)
  })
})
