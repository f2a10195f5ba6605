// Agents repeat recalled text, which is extracted again: no round adds a fact, whether they repeat it word for word,
// paraphrase, quote, list, or paste from a context.

import { describe, expect, it } from 'vitest'
import { buildContext } from '../../src/domain/context/build.ts'
import { extractFacts } from '../../src/domain/fact/extract.ts'
import { retractFact } from '../../src/domain/fact/record.ts'
import { reconcileFacts } from '../../src/domain/fact/reconcile-facts.ts'
import { recall, type RecallHit } from '../../src/domain/recall/recall.ts'
import { backends } from '../support/backend.ts'
import { useWorld } from '../support/world.ts'

const ROUNDS = 50

const SAID = [
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

/** Paraphrases of facts and turns. */
function worded({ memory }: RecallHit): string {
  switch (memory.kind) {
    case 'FACT':
      return `${memory.fact.subject} ${memory.fact.predicate} ${memory.fact.object}`
    case 'TURN':
      return memory.turn.text
    case 'SUMMARY':
      return memory.summary.content
  }
}

/** Forms in which an agent answers with recalled text. */
const WAYS: ((hits: RecallHit[]) => string)[] = [
  (hits) => hits.map((hit) => `${worded(hit)}.`).join(' '),
  (hits) => `What I remember:\n${hits.map((hit) => `- ${worded(hit)}`).join('\n')}`,
  (hits) => `You said: "${worded(hits[0]!)}"`,
  (hits) => `> ${worded(hits[0]!)}\n\nThat is what you told me.`,
  (hits) => `As far as I know, ${worded(hits[0]!)}.`,
  (hits) =>
    worded(hits[0]!).replace('lives in', 'resides in').replace('likes', 'enjoys').replace('works at', 'is employed by'),
]

describe.each(backends)('recall, answer, extract on $name', (backend) => {
  const world = useWorld(backend)

  it(`adds no fact in ${ROUNDS} rounds, and reactivates none`, async () => {
    const { deps } = world
    const tenant = world.tenant()
    const viewer = tenant.as('ada')
    const conversationId = await tenant.newConversation(
      { actor: 'ada', displayName: 'Ada' },
      { actor: 'helper', displayName: 'Helper', kind: 'AGENT' },
    )
    for (const text of SAID) await tenant.say(conversationId, 'ada', text)
    const { facts } = await extractFacts(deps, viewer, { conversationId })
    expect(facts.length).toBeGreaterThanOrEqual(SAID.length)
    const moved = facts.find(({ object }) => object === 'Initech')!
    await retractFact(deps, viewer, { factId: moved.id, reason: 'no longer so' })
    const known = async () =>
      (await deps.db.fact.findMany({ where: { tenant: tenant.name }, orderBy: { id: 'asc' } })).map(
        ({ id, supersededAt }) => `${id} ${supersededAt === null}`,
      )
    const before = await known()

    for (let round = 0; round < ROUNDS; round++) {
      const query = QUESTIONS[round % QUESTIONS.length]!
      await tenant.say(conversationId, 'ada', query)
      const { hits } = await recall(deps, viewer, { conversationId, query, k: 4, kinds: ['FACT', 'TURN'] })
      expect(hits.length).toBeGreaterThan(0)
      const way = round % (WAYS.length + 1)
      const answer =
        way < WAYS.length
          ? WAYS[way]!(hits)
          : (
              await buildContext(deps, viewer, { conversationId, tokenBudget: 2_000, query, semanticRecall: { k: 4 } })
            ).messages
              .map(({ content }) => content)
              .join('\n')
      await tenant.say(conversationId, 'helper', answer, { role: 'ASSISTANT' })
      await extractFacts(deps, viewer, { conversationId })
      if (round % 5 === 4) await reconcileFacts(deps, viewer, { userId: 'ada' })
    }
    expect(await known()).toEqual(before)
  })
})
