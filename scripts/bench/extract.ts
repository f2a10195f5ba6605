// `npm run bench:extract -- FILE…`: prints how many facts the built-in extractor finds in conversations of LoCoMo and
// REALTALK, and how long it takes. `--list N` prints a fixed random sample of the facts with their turns, for readers who
// judge them. `--against DIRECTORY` compares with the extractor of another checkout, in turns in the same process.

import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { ExtractedFact, ExtractorTurn, FactExtractor } from '../../src/providers/ports/fact-extractor.ts'
import { createRulesExtractor } from '../../src/providers/rules/fact-extractor.ts'
import { sampleOf } from './extract-sample.ts'
import { interleaved, median, table } from './figures.ts'
import { contentOf, readConversation, type Conversation } from './locomo.ts'

const USAGE = `Usage: npm run bench:extract -- [--list N] [--rounds N] [--against DIRECTORY] FILE…

FILE                 a conversation of LoCoMo or REALTALK
--list N             print N facts of each file, with their turns
--rounds N           number of timed extractions of each file; 9 by default
--against DIRECTORY  another checkout, to compare with`

const ROUNDS = 9

function exitWithError(message: string): never {
  console.error(message)
  process.exit(2)
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { list: { type: 'string' }, rounds: { type: 'string' }, against: { type: 'string' } },
    })
    const [list, rounds] = [Number(values.list ?? 0), Number(values.rounds ?? ROUNDS)]
    if (!positionals.length || !Number.isInteger(list) || list < 0 || !Number.isInteger(rounds) || rounds < 1)
      exitWithError(USAGE)
    return { list, rounds, against: values.against, conversations: positionals.map(readConversation) }
  } catch (error) {
    exitWithError(`${(error as Error).message}\n\n${USAGE}`)
  }
}

const turnsOf = ({ turns }: Conversation): ExtractorTurn[] =>
  turns.map((turn) => ({
    id: turn.id,
    actor: turn.speaker,
    displayName: turn.speaker,
    kind: 'HUMAN',
    text: contentOf(turn),
    at: new Date(turn.at),
  }))

/** Returns the different facts of a conversation: a fact that several turns state counts once, with its first turn. */
async function factsOf(extractor: FactExtractor, turns: readonly ExtractorTurn[]): Promise<ExtractedFact[]> {
  const { facts } = await extractor.extract(turns)
  const keyOf = ({ subject, predicate, object }: ExtractedFact) => [subject, predicate, object].join('\n')
  return [...new Map(facts.toReversed().map((fact) => [keyOf(fact), fact])).values()].toReversed()
}

const { list, rounds, against, conversations } = readArguments()

async function extractorsFound(): Promise<Record<string, FactExtractor>> {
  if (against === undefined) return { ours: createRulesExtractor() }
  const path = pathToFileURL(resolve(against, 'src/providers/rules/fact-extractor.ts')).href
  const other = (await import(path)) as { createRulesExtractor: typeof createRulesExtractor }
  return { ours: createRulesExtractor(), theirs: other.createRulesExtractor() }
}

const day = (date: Date | null | undefined) => date?.toISOString().slice(0, 10) ?? ''

/** A fact with its period, and the turn that states it. */
function printed({ subject, predicate, object, validFrom, validTo, turnId }: ExtractedFact, turns: ExtractorTurn[]) {
  const turn = turns.find(({ id }) => id === turnId)!
  const period = validFrom || validTo ? ` (${day(validFrom)} … ${day(validTo)})` : ''
  const said = `${turn.displayName}, ${day(turn.at)}: ${turn.text.replaceAll('\n', ' / ')}`
  return `${subject} | ${predicate} | ${object}${period}\n    ${said}`
}

const extractors = await extractorsFound()
const rows: string[][] = []
const totals = new Map<string, number>()
for (const conversation of conversations) {
  const turns = turnsOf(conversation)
  const contestants = Object.fromEntries(
    Object.entries(extractors).map(([name, extractor]) => [
      name,
      async () => {
        const begin = performance.now()
        await factsOf(extractor, turns)
        return performance.now() - begin
      },
    ]),
  )
  const times = await interleaved(rounds + 1, contestants, () => {})
  const label = `${conversation.set} ${conversation.name}`
  for (const [name, extractor] of Object.entries(extractors)) {
    const facts = await factsOf(extractor, turns)
    // The first round compiles the patterns.
    const ms = median(times[name]!.slice(1))
    totals.set(name, (totals.get(name) ?? 0) + ms)
    rows.push([
      against === undefined ? label : `${label}, ${name}`,
      String(turns.length),
      String(facts.length),
      ms.toFixed(1),
    ])
    if (name === 'ours' && list > 0) {
      console.log(`\n${label}: ${Math.min(list, facts.length)} of ${facts.length} facts\n`)
      console.log(
        sampleOf(facts, list)
          .map((fact, i) => `${i + 1}. ${printed(fact, turns)}`)
          .join('\n'),
        '\n',
      )
    }
  }
}
console.log(table(['', 'turns', 'facts', 'ms'], rows, (column) => column > 0).join('\n'))
const [ours, theirs] = [totals.get('ours')!, totals.get('theirs')]
if (theirs !== undefined) console.log(`\ntime of all files: ${(ours / theirs).toFixed(2)} of theirs`)
