// Facts that the built-in extractor's rules extract from real conversations. A human reader judged at least 85 of the
// first 100 facts of LoCoMo 26 as right; a rule change that alters these facts needs a new judgement. Questions yield
// no facts, in any of the three files. The files cannot be shipped (CC BY-NC 4.0), so without them the tests are
// skipped.

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { contentHash } from '../../src/domain/memory/fact/content-hash.ts'
import type { ExtractorTurn } from '../../src/providers/ports/fact-extractor.ts'
import { createRulesExtractor } from '../../src/providers/rules/fact-extractor.ts'
import { contentOf, readConversation, type LocomoTurn } from '../../scripts/bench/locomo.ts'
import { JUDGED } from './locomo-facts-labels.ts'

const pathOf = (name: string) => fileURLToPath(new URL(`../../../shared/locomo/${name}.json`, import.meta.url))
const JUDGED_FILE = pathOf('26')
const files = ['26', '41', '48'].map(pathOf)
const extractor = createRulesExtractor()

const turnOf = (source: LocomoTurn, text: string): ExtractorTurn => ({
  id: source.id,
  actor: source.speaker,
  displayName: source.speaker,
  kind: 'HUMAN',
  text,
  at: new Date(source.at),
})

const factsOf = async (turns: ExtractorTurn[]) => (await extractor.extract(turns)).facts
/** The text of a fact, without its source turn. */
const textsOf = async (turns: ExtractorTurn[]) =>
  (await factsOf(turns)).map(({ subject, predicate, object }) => [subject, predicate, object].join(' | '))

/** The sentences of a turn, each with its final punctuation. */
const sentencesOf = ({ text }: LocomoTurn) => text.split(/(?<=[.!?])\s+/)
const isQuestion = (sentence: string) => sentence.endsWith('?')

describe.runIf(existsSync(JUDGED_FILE))('the first 100 facts of LoCoMo 26 (needs ../shared/locomo)', () => {
  it('equal the judged facts, in order, and at least 85 of them are right', async () => {
    const facts = await factsOf(readConversation(JUDGED_FILE).turns.map((source) => turnOf(source, contentOf(source))))
    const found = facts.slice(0, 100).map((fact) => `${fact.turnId} ${contentHash(fact).slice(0, 12)}`)
    expect(found).toEqual(JUDGED.map(([turnId, digest]) => `${turnId} ${digest}`))
    const verdicts = new Map(JUDGED.map(([turnId, digest, verdict]) => [`${turnId} ${digest}`, verdict]))
    expect(found.filter((key) => verdicts.get(key) === 'right').length).toBeGreaterThanOrEqual(85)
  })
})

describe.runIf(files.every((path) => existsSync(path)))('questions (needs ../shared/locomo)', () => {
  it('yield no facts, for any speaker', async () => {
    const questions = files
      .flatMap((path) => readConversation(path).turns)
      .flatMap((source) =>
        sentencesOf(source)
          .filter(isQuestion)
          .map((question) => turnOf(source, question)),
      )
    const numbered = questions.map((turn, i) => ({ ...turn, id: `question_${i}` }))
    expect(numbered.length).toBeGreaterThan(500)
    expect(await textsOf(numbered)).toEqual([])
  })

  it('add no facts to those of the other sentences', async () => {
    for (const path of files) {
      const { turns } = readConversation(path)
      const withoutQuestions = turns.map((source) =>
        turnOf(
          source,
          sentencesOf(source)
            .filter((sentence) => !isQuestion(sentence))
            .join(' '),
        ),
      )
      expect(await textsOf(withoutQuestions)).toEqual(await textsOf(turns.map((source) => turnOf(source, source.text))))
    }
  })
})
