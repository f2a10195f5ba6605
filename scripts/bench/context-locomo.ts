// `npm run bench:context -- FILE…`: imports LoCoMo conversations, checks that no context exceeds its budget, and
// measures the share of the evidence (the turns with the answers) that a context of 2,000 tokens contains, with and
// without recall. A missed target is only printed.

import { pino } from 'pino'
import { loadConfig } from '../../src/config/config.ts'
import { createDeps } from '../../src/deps.ts'
import { buildContext, type BuildContextInput } from '../../src/domain/context/build.ts'
import { summarize } from '../../src/domain/summary/compact.ts'
import { importTurns, waitForVectors } from './import-locomo.ts'
import { readConversation } from './locomo.ts'
import { median, note, table } from './figures.ts'

const BUDGETS = [500, 2_000, 8_000]
/** Minimum share of the evidence in a context with recall, in percent. */
const TARGET = 65

const viewer = { tenant: 'default', actor: 'importer' }

const files = process.argv.slice(2)
if (files.length === 0) {
  console.error('Usage: npm run bench:context -- FILE…   (LoCoMo conversations)')
  process.exit(2)
}
const { deps, close } = await createDeps(
  { ...loadConfig(process.env), dataDir: null },
  pino({ level: 'warn' }, pino.destination(2)),
)
const rows: string[][] = []
let withinBudget = true
for (const conversation of files.map(readConversation)) {
  const { conversationId, written } = await importTurns(deps, viewer, conversation.speakers, conversation.turns)
  const ids = new Map(conversation.turns.map((turn, i) => [turn.id, written[i]!.id]))
  await waitForVectors(deps, [conversationId])
  const build = (more: Partial<BuildContextInput>) =>
    buildContext(deps, viewer, { conversationId, tokenBudget: 2_000, ...more })

  /** The share of the evidence that the contexts of the questions contain, in percent, and the median time, ms. */
  async function evidenceIn(input: (question: string) => Partial<BuildContextInput>) {
    let [included, all] = [0, 0]
    const times: number[] = []
    for (const { question, evidence } of conversation.questions) {
      const begin = performance.now()
      const context = await build(input(question))
      times.push(performance.now() - begin)
      withinBudget &&= context.tokenCount <= context.tokenBudget
      const sourceIds = new Set(context.messages.flatMap(({ sourceIds }) => sourceIds))
      included += evidence.filter((id) => sourceIds.has(ids.get(id) ?? '')).length
      all += evidence.length
    }
    return { share: (100 * included) / all, ms: median(times) }
  }
  const add = (label: string, { share, ms }: { share: number; ms: number }, target = '') =>
    rows.push([conversation.name, label, share.toFixed(1), target, ms.toFixed(1)])
  const recalling = (query: string) => ({ query, recentTurns: 10, semanticRecall: { k: 20 } })
  const recalled = await evidenceIn(recalling)
  add('10 recent turns, 20 recalled', recalled, recalled.share >= TARGET ? 'ok' : 'below')
  add('10 recent turns', await evidenceIn(() => ({ recentTurns: 10 })))
  add('as many recent turns as fit', await evidenceIn(() => ({ strategy: 'SIMPLE' })))
  await summarize(deps, viewer, { conversationId })
  add('summarised, 20 recalled', await evidenceIn(recalling))
  for (const tokenBudget of BUDGETS) {
    for (const input of [{}, recalling(conversation.questions[0]!.question)]) {
      const { tokenCount } = await build({ ...input, tokenBudget })
      withinBudget &&= tokenCount <= tokenBudget
      const label = `budget ${tokenBudget}${'query' in input ? ', with recall' : ''}`
      rows.push([conversation.name, `${label}: ${tokenCount} tokens`, '', '', ''])
    }
  }
}
await close()
console.log(
  [
    '\n## Contexts of LoCoMo\n',
    ...table(['', 'context of 2,000 tokens', 'evidence %', `≥ ${TARGET}`, 'ms'], rows, (column) =>
      [2, 4].includes(column),
    ),
    '',
    note(
      'Evidence: share of the turns with the answers that the context of their question contains. Times are medians, in '
        + 'one process on the embedded database.',
    ),
    note(withinBudget ? 'No context exceeds its budget.' : 'SOME CONTEXTS EXCEED THEIR BUDGET.'),
  ].join('\n'),
)
process.exit(withinBudget ? 0 : 1)
