// `npm run bench:signals [-- FILE…]`: what each signal of src/domain/memory/recall/rank/rank.ts is worth on conversations of LoCoMo
// and REALTALK, by default the files in ../shared. Prints evidence recall with the weights of the product, without each
// of them, and with weights that were fitted on the other conversations.

import { pino } from 'pino'
import { loadConfig } from '../../src/config/config.ts'
import { createDeps } from '../../src/deps.ts'
import { toTerms } from '../../src/domain/memory/recall/search/query.ts'
import { readQuestion } from '../../src/domain/memory/recall/rank/question.ts'
import { weightedSignals, WEIGHTS, type Weights } from '../../src/domain/memory/recall/rank/rank.ts'
import { recallTurns } from '../../src/domain/memory/recall/search-memories.ts'
import { readConversationScope } from '../../src/store/sql/memory/recall/scope.ts'
import { note, table } from './figures.ts'
import { importTurns, waitForVectors } from './import-locomo.ts'
import { fitListwise, type Choice } from './listwise.ts'
import {
  evidenceRecall,
  filesFound,
  readConversation,
  sessionsOf,
  type AnsweredQuestion,
  type Conversation,
} from './locomo.ts'
import { createProgress } from './progress.ts'

/** The score by words, whose weight is 1, and the other signals. */
const SIGNALS = ['words', ...(Object.keys(WEIGHTS) as (keyof Weights)[])] as const
const NAMES = Object.keys(WEIGHTS) as (keyof Weights)[]
const NONE = Object.fromEntries(NAMES.map((name) => [name, 0])) as Weights
const PRODUCT = [1, ...NAMES.map((name) => WEIGHTS[name])]
/** Number of candidates that each search takes, so that the signals of almost all turns are compared. */
const LIMIT = 2_000

const viewer = { tenant: 'default', actor: 'importer' }

/** A question with the ids and the signals of its candidates. `chosen` contains the indexes of the evidence. */
type Asked = Choice & Omit<AnsweredQuestion, 'recalled' | 'ms'> & { ids: string[] }

const paths = process.argv.length > 2 ? process.argv.slice(2) : filesFound()
if (paths.length < 2) {
  console.error('Usage: npm run bench:signals -- FILE FILE…   (LoCoMo or REALTALK conversations)')
  process.exit(2)
}
const progress = createProgress(process.stderr)
const { deps, close } = await createDeps(
  { ...loadConfig(process.env), dataDir: null },
  pino({ level: 'warn' }, pino.destination(2)),
)

/** Asks the questions of a conversation, and computes the signals of their candidates. */
async function askAll(conversation: Conversation): Promise<Asked[]> {
  const { set, name, speakers, turns, questions } = conversation
  const embedder = deps.embedding.serving()
  const { conversationId, written } = await importTurns(deps, viewer, speakers, turns)
  await waitForVectors(deps, [conversationId])
  const idOf = new Map(written.map(({ seq }, i) => [seq, turns[i]!.id]))
  const sessions = sessionsOf(conversation)
  const { conversations } = await readConversationScope(deps.pool, viewer, conversationId, embedder.name)
  const asked: Asked[] = []
  for (const { question, category, evidence } of questions) {
    const [query] = await embedder.embed([question])
    const vector = { embedder: embedder.name, query: query! }
    const request = {
      query: question,
      terms: toTerms(question, new Date()),
      vector,
      filter: {},
      limit: LIMIT,
      queryTurn: null,
    }
    const hits = [...(await recallTurns(deps, viewer, conversations, request)).found.hits]
    // The candidates know already whether the question names their actor.
    const read = readQuestion(question, [], new Date())
    const values = hits.map(({ candidate, textScore }) => [
      textScore ?? 0,
      ...NAMES.map((signal) => weightedSignals(read, candidate, { ...NONE, [signal]: 1 })),
    ])
    const ids = hits.map(({ candidate }) => idOf.get(candidate.turn.seq)!)
    const chosen = ids.flatMap((id, i) => (evidence.includes(id) ? [i] : []))
    asked.push({ set, file: name, category, evidence, sessions, ids, values, chosen })
    progress.show(`${set} ${name}`, asked.length, questions.length)
  }
  return asked
}

const asked: Asked[] = []
for (const path of paths) asked.push(...(await askAll(readConversation(path))))
progress.end()
await close()

/** Ranks the candidates of a question by the weights, those of SIGNALS in order. */
function answer({ ids, values, ...question }: Asked, weights: readonly number[]): AnsweredQuestion {
  const scored = values.map((signals, i) => ({
    id: ids[i]!,
    score: signals.reduce((sum, value, n) => sum + value * weights[n]!, 0),
  }))
  scored.sort((a, b) => b.score - a.score)
  return { ...question, recalled: scored.slice(0, 20).map(({ id }) => id), ms: null }
}

const sets = [...new Set(asked.map(({ set }) => set))].sort()
const files = [...new Set(asked.map(({ set, file }) => `${set} ${file}`))]

/** Evidence recall at 10 of each set, in percent, and its difference from the product's. */
function cells(weightsOf: (question: Asked) => readonly number[]): string[] {
  return sets.flatMap((set) => {
    const of = asked.filter((question) => question.set === set)
    const reached = (weights: typeof weightsOf, questions: Asked[]) =>
      evidenceRecall(
        questions.map((question) => answer(question, weights(question))),
        10,
      )
    const several = of.filter(({ evidence }) => evidence.length > 1)
    const difference = reached(weightsOf, of) - reached(() => PRODUCT, of)
    return [reached(weightsOf, of).toFixed(1), difference.toFixed(1), reached(weightsOf, several).toFixed(1)]
  })
}

const fitted = new Map(
  files.map((file) => {
    const others = asked.filter((question) => `${question.set} ${question.file}` !== file && question.chosen.length > 0)
    return [file, fitListwise(others)]
  }),
)
const meanFit = SIGNALS.map((_, n) => {
  const relative = [...fitted.values()].map((weights) => weights[n]! / weights[0]!)
  return relative.reduce((sum, each) => sum + each, 0) / relative.length
})
console.log(
  [
    '\n## What each signal is worth\n',
    ...table(
      ['', 'weight', 'fitted', ...sets.flatMap((set) => [`${set} @10`, 'change', 'several@10'])],
      [
        ['all signals', '', '', ...cells(() => PRODUCT)],
        ...SIGNALS.map((name, n) => [
          `without ${name}`,
          PRODUCT[n]!.toFixed(2),
          meanFit[n]!.toFixed(2),
          ...cells(() => PRODUCT.with(n, 0)),
        ]),
        ['fitted on the other conversations', '', '', ...cells(({ set, file }) => fitted.get(`${set} ${file}`)!)],
      ],
      (column) => column > 0,
    ),
    '',
    note(
      '"fitted" is the mean of the weights that were fitted on all conversations but one, relative to that of words.',
    ),
    note(
      `${asked.length} questions; almost every turn is a candidate, so recall may differ slightly from the server's.`,
    ),
  ].join('\n'),
)
process.exit(0)
