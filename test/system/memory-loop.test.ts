// An agent answers with recalled text, and facts are extracted from its answer: no round adds a fact, whether the agent
// repeats the text, paraphrases it, quotes it, lists it, or copies it from a context.

import { describe, expect, it } from 'vitest'
import { buildContext } from '../../src/domain/memory/context/build.ts'
import { extractFacts } from '../../src/domain/memory/fact/extract/extract.ts'
import { retractFact } from '../../src/domain/memory/fact/record.ts'
import { reconcileFacts } from '../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import type { RecallHit } from '../../src/domain/memory/recall/hit.ts'
import { recall } from '../../src/domain/memory/recall/recall.ts'
import { backends } from '../support/backend.ts'
import { isLong } from '../support/long.ts'
import { useWorld } from '../support/world.ts'
import { SYSTEM } from '../../src/store/db/scope.ts'

const ROUNDS = isLong ? 50 : 8

const STATEMENTS = [
  'I live in Rome.',
  'I work at Initech as a translator.',
  'I like jazz.',
  "I'm allergic to peanuts.",
  'My sister is called Grace.',
  'I have a dog named Bella.',
  "I don't like flying.",
  'I speak Italian and German.',
]
const QUESTIONS = [
  'Where do I live?',
  'What is my job?',
  'What music do I like?',
  'What must I not eat?',
  'Who is my sister?',
  'What is the name of my dog?',
  'Should I fly?',
  'Which languages do I speak?',
]

/** The text of a hit. */
function textOf({ memory }: RecallHit): string {
  switch (memory.kind) {
    case 'FACT':
      return `${memory.fact.subject} ${memory.fact.predicate} ${memory.fact.object}`
    case 'TURN':
      return memory.turn.text
    case 'SUMMARY':
      return memory.summary.content
  }
}

/** The forms in which the agent answers with recalled text. */
const ANSWERS: ((hits: RecallHit[]) => string)[] = [
  (hits) => hits.map((hit) => `${textOf(hit)}.`).join(' '),
  (hits) => `What I remember:\n${hits.map((hit) => `- ${textOf(hit)}`).join('\n')}`,
  (hits) => `You said: "${textOf(hits[0]!)}"`,
  (hits) => `> ${textOf(hits[0]!)}\n\nThat is what you told me.`,
  (hits) => `As far as I know, ${textOf(hits[0]!)}.`,
  (hits) =>
    textOf(hits[0]!).replace('lives in', 'resides in').replace('likes', 'enjoys').replace('works at', 'is employed by'),
]

describe.each(backends)('recalling, answering and extracting on $name', (backend) => {
  const world = useWorld(backend)

  it(`adds no fact in ${ROUNDS} rounds, and reactivates none`, async () => {
    const { deps } = world
    const tenant = world.tenant()
    const viewer = tenant.as('ada')
    const conversationId = await tenant.newConversation(
      { actor: 'ada', displayName: 'Ada' },
      { actor: 'helper', displayName: 'Helper', kind: 'AGENT' },
    )
    for (const text of STATEMENTS) await tenant.append(conversationId, 'ada', text)
    const { facts } = await extractFacts(deps, viewer, { conversationId })
    expect(facts.length).toBeGreaterThanOrEqual(STATEMENTS.length)
    const retracted = facts.find(({ object }) => object === 'Initech')!
    await retractFact(deps, viewer, { factId: retracted.id, reason: 'no longer so' })
    const readFacts = async () =>
      (await deps.db.of(SYSTEM).fact.findMany({ where: { tenant: tenant.name }, orderBy: { id: 'asc' } })).map(
        ({ id, supersededAt }) => `${id} ${supersededAt === null}`,
      )
    const before = await readFacts()

    for (let round = 0; round < ROUNDS; round++) {
      const query = QUESTIONS[round % QUESTIONS.length]!
      await tenant.append(conversationId, 'ada', query)
      const { hits } = await recall(deps, viewer, { conversationId, query, k: 4, kinds: ['FACT', 'TURN'] })
      expect(hits.length).toBeGreaterThan(0)
      const form = round % (ANSWERS.length + 1)
      const answer =
        form < ANSWERS.length
          ? ANSWERS[form]!(hits)
          : (
              await buildContext(deps, viewer, { conversationId, tokenBudget: 2_000, query, semanticRecall: { k: 4 } })
            ).messages
              .map(({ content }) => content)
              .join('\n')
      await tenant.append(conversationId, 'helper', answer, { role: 'ASSISTANT' })
      await extractFacts(deps, viewer, { conversationId })
      if (round % 5 === 4) await reconcileFacts(deps, viewer, { userId: 'ada' })
    }
    expect(await readFacts()).toEqual(before)
  })
})
