// `npm run bench:context -- FILE…`: imports conversations of LoCoMo and REALTALK, checks that no context exceeds its
// budget, and measures the share of the evidence (the turns with the answers) that a context of 2,000 tokens contains
// verbatim, with and without recall. The set of a file is the name of its folder. A missed target is only printed.

import { basename, dirname, resolve } from 'node:path'
import { pino } from 'pino'
import { loadConfig } from '../../src/config/config.ts'
import { createDeps } from '../../src/deps.ts'
import { MAX_HITS } from '../../src/domain/kernel/call-defaults.ts'
import { buildContext, type BuildContextInput } from '../../src/domain/memory/context/build.ts'
import { summarize } from '../../src/domain/memory/summary/compact.ts'
import { importTurns, waitForVectors } from './import-locomo.ts'
import { readConversation, type Conversation } from './locomo.ts'
import { median, note, table } from './figures.ts'

const BUDGETS = [500, 2_000, 8_000]
/** Minimum share of the evidence in a context that recalls as many turns as fit, in percent, by set. */
const TARGETS: Record<string, number> = { locomo: 82, realtalk: 66 }

const viewer = { tenant: 'default', actor: 'importer' }

type Input = (question: string) => Partial<BuildContextInput>
const recalling =
  (k: number): Input =>
  (query) => ({ query, recentTurns: 10, semanticRecall: { k } })

/** The contexts that are measured: the first ones before the conversation is summarised, the others after. */
const FITTING = '10 recent turns, as many recalled as fit'
const BEFORE: [label: string, input: Input][] = [
  ['as many recent turns as fit', () => ({ strategy: 'SIMPLE' })],
  ['10 recent turns', () => ({ recentTurns: 10 })],
  ['10 recent turns, 20 recalled', recalling(20)],
  [FITTING, recalling(MAX_HITS)],
]
const AFTER: [label: string, input: Input][] = [
  ['summarised, 20 recalled', recalling(20)],
  ['summarised, as many recalled as fit', recalling(MAX_HITS)],
]

/** Evidence turns in the contexts of a conversation's questions, all evidence turns, and the times of the contexts, ms. */
type Measured = { included: number; all: number; times: number[] }

const files = process.argv.slice(2)
if (files.length === 0) {
  console.error('Usage: npm run bench:context -- FILE…   (conversations of LoCoMo and REALTALK)')
  process.exit(2)
}
const { deps, close } = await createDeps(
  { ...loadConfig(process.env), dataDir: null },
  pino({ level: 'warn' }, pino.destination(2)),
)
let withinBudget = true
const sizes: string[][] = []

async function build(input: BuildContextInput) {
  const context = await buildContext(deps, viewer, input)
  withinBudget &&= context.tokenCount <= context.tokenBudget
  return context
}

/** Measures the contexts of all questions. @param ids stored ids of turns, by their ids in the file */
async function evidenceIn(
  { questions }: Conversation,
  conversationId: string,
  ids: ReadonlyMap<string, string>,
  input: Input,
): Promise<Measured> {
  const measured: Measured = { included: 0, all: 0, times: [] }
  for (const { question, evidence } of questions) {
    const begin = performance.now()
    const context = await build({ conversationId, tokenBudget: 2_000, ...input(question) })
    measured.times.push(performance.now() - begin)
    const sourceIds = new Set(context.messages.flatMap((message) => message.sourceIds))
    measured.included += evidence.filter((id) => sourceIds.has(ids.get(id) ?? '')).length
    measured.all += evidence.length
  }
  return measured
}

/** Measures all contexts of a conversation, by label. */
async function measure(conversation: Conversation): Promise<Map<string, Measured>> {
  const { conversationId, written } = await importTurns(deps, viewer, conversation.speakers, conversation.turns)
  const ids = new Map(conversation.turns.map((turn, i) => [turn.id, written[i]!.id]))
  await waitForVectors(deps, [conversationId])
  const found = new Map<string, Measured>()
  for (const [label, input] of BEFORE) found.set(label, await evidenceIn(conversation, conversationId, ids, input))
  await summarize(deps, viewer, { conversationId })
  for (const [label, input] of AFTER) found.set(label, await evidenceIn(conversation, conversationId, ids, input))
  for (const tokenBudget of BUDGETS) {
    const input = { conversationId, tokenBudget }
    const recalled = await build({ ...input, ...recalling(20)(conversation.questions[0]!.question) })
    sizes.push([
      conversation.name,
      String(tokenBudget),
      String((await build(input)).tokenCount),
      String(recalled.tokenCount),
    ])
  }
  return found
}

const bySet = new Map<string, { name: string; measured: Map<string, Measured> }[]>()
for (const file of files) {
  const set = basename(dirname(resolve(file)))
  const conversation = readConversation(file)
  bySet.set(set, [...(bySet.get(set) ?? []), { name: conversation.name, measured: await measure(conversation) }])
}
await close()

const rows = [...bySet].flatMap(([set, conversations]) =>
  [...BEFORE, ...AFTER].map(([label]) => {
    const measured = conversations.map((each) => each.measured.get(label)!)
    const share = ({ included, all }: Measured) => (100 * included) / all
    const total = (key: 'included' | 'all') => measured.reduce((sum, each) => sum + each[key], 0)
    const reached = (100 * total('included')) / total('all')
    const target = label === FITTING ? TARGETS[set] : undefined
    const times = measured.flatMap((each) => each.times)
    return [
      set,
      label,
      reached.toFixed(1),
      target === undefined ? '' : `${reached >= target ? 'ok' : 'below'} (≥ ${target})`,
      measured.map((each, i) => `${conversations[i]!.name} ${share(each).toFixed(1)}`).join(', '),
      median(times).toFixed(1),
    ]
  }),
)
console.log(
  [
    '\n## Evidence in contexts\n',
    ...table(['', 'context of 2,000 tokens', 'evidence %', 'target', 'by file', 'ms'], rows, (column) =>
      [2, 5].includes(column),
    ),
    '',
    ...table(['', 'budget', 'tokens', 'with recall'], sizes, (column) => column > 0),
    '',
    note(
      'Evidence: share of the turns with the answers that the context of their question contains. Times are medians, in '
        + 'one process on the embedded database.',
    ),
    note(withinBudget ? 'No context exceeds its budget.' : 'SOME CONTEXTS EXCEED THEIR BUDGET.'),
  ].join('\n'),
)
process.exit(withinBudget ? 0 : 1)
