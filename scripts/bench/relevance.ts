// `npm run bench:relevance [-- FILE…]`: fits and evaluates the coefficients of src/domain/memory/recall/rank/relevance.ts on
// conversations of LoCoMo and REALTALK, by default the files in ../shared. Each question is asked in its whole
// conversation, in one session with evidence and in one session without, each time with vectors and without.

import { basename, dirname } from 'node:path'
import { pino } from 'pino'
import { loadConfig } from '../../src/config/config.ts'
import { createDeps } from '../../src/deps.ts'
import { toTerms } from '../../src/domain/memory/recall/search/query.ts'
import { COEFFICIENTS, type RelevanceCoefficients } from '../../src/domain/memory/recall/rank/relevance-coefficients.ts'
import { relevanceFeatures } from '../../src/domain/memory/recall/rank/relevance.ts'
import { recallTurns } from '../../src/domain/memory/recall/search-memories.ts'
import { readConversationScope } from '../../src/store/sql/memory/recall/scope.ts'
import { note, table } from './figures.ts'
import { importTurns, waitForVectors } from './import-locomo.ts'
import { filesFound, readConversation, type Conversation } from './locomo.ts'
import { brierScore, fitLogistic, logLoss, predict, reliability, type Prediction, type Sample } from './logistic.ts'
import { createProgress } from './progress.ts'

/** Thresholds whose effect is printed. */
const THRESHOLDS = [0, 0.1, 0.2, 0.3, 0.5]
/** Number of hits per question that the coefficients are fitted on. */
const FITTED_HITS = 100
/** Number of hits per question that the evaluation uses. */
const EVALUATED_HITS = 20

const FEATURES = ['share', 'own', 'score'] as const
const MODELS = ['vectors', 'words'] as const
const SCOPES = ['conversation', 'session'] as const
type Hit = Sample & { file: string; model: (typeof MODELS)[number]; scope: (typeof SCOPES)[number]; rank: number }
type Scope = { scope: Hit['scope']; conversationId: string; turnIds: Map<number, string> }

const viewer = { tenant: 'default', actor: 'importer' }

const paths = process.argv.length > 2 ? process.argv.slice(2) : filesFound()
if (paths.length < 2) {
  console.error('Usage: npm run bench:relevance -- FILE FILE…   (LoCoMo or REALTALK conversations)')
  process.exit(2)
}
const progress = createProgress(process.stderr)
const { deps, close } = await createDeps(
  { ...loadConfig(process.env), dataDir: null },
  pino({ level: 'warn' }, pino.destination(2)),
)
const embedder = deps.embedding.serving()

/** Imports a conversation as a whole, and each of its sessions as a conversation of its own. */
async function importScopes({ speakers, turns }: Conversation): Promise<Scope[]> {
  const sessions = [...new Set(turns.map(({ session }) => session))]
  const parts = [turns, ...sessions.map((session) => turns.filter((turn) => turn.session === session))]
  const scopes: Scope[] = []
  for (const part of parts) {
    const { conversationId, written } = await importTurns(deps, viewer, speakers, part)
    scopes.push({
      scope: scopes.length === 0 ? 'conversation' : 'session',
      conversationId,
      turnIds: new Map(written.map(({ seq }, i) => [seq, part[i]!.id])),
    })
  }
  await waitForVectors(
    deps,
    scopes.map(({ conversationId }) => conversationId),
  )
  return scopes
}

/** Recalls turns in one scope, with and without vectors. */
async function ask(file: string, { scope, conversationId, turnIds }: Scope, question: string, evidence: Set<string>) {
  const { conversations } = await readConversationScope(
    deps.pool,
    viewer,
    conversationId,
    deps.embedding.serving().name,
  )
  const [query] = await embedder.embed([question])
  const hits: Hit[] = []
  for (const model of MODELS) {
    const vector = model === 'vectors' ? { embedder: embedder.name, query: query! } : null
    const request = {
      query: question,
      terms: toTerms(question, new Date()),
      vector,
      filter: {},
      limit: FITTED_HITS,
      queryTurn: null,
    }
    const { found } = await recallTurns(deps, viewer, conversations, request)
    const ranked = [...found.hits]
    const features = relevanceFeatures(ranked).slice(0, FITTED_HITS)
    features.forEach((each, rank) => {
      const id = turnIds.get(ranked[rank]!.candidate.turn.seq)
      const values = FEATURES.map((name) => each[name])
      hits.push({ file, model, scope, rank, values, isPositive: evidence.has(id || '') })
    })
  }
  return hits
}

async function askAll(file: string, conversation: Conversation, [whole, ...sessions]: Scope[]): Promise<Hit[]> {
  const hits: Hit[] = []
  for (const [n, { question, evidence }] of conversation.questions.entries()) {
    const wanted = new Set(evidence)
    const hasEvidence = ({ turnIds }: Scope) => [...turnIds.values()].some((id) => wanted.has(id))
    const groups = [sessions.filter(hasEvidence), sessions.filter((each) => !hasEvidence(each))]
    // Choose a different session for each question, but the same sessions in each run.
    const chosen = groups.flatMap((group) => group[(n * 7) % group.length] ?? [])
    for (const scope of [whole!, ...chosen]) hits.push(...(await ask(file, scope, question, wanted)))
    progress.show(file, n + 1, conversation.questions.length)
  }
  return hits
}

const hits: Hit[] = []
let questions = 0
for (const path of paths) {
  const file = `${basename(dirname(path))} ${basename(path, '.json')}`
  const conversation = readConversation(path)
  questions += conversation.questions.length
  hits.push(...(await askAll(file, conversation, await importScopes(conversation))))
}
progress.end()
await close()

const files = [...new Set(hits.map(({ file }) => file))]
const percent = (value: number) => (100 * value).toFixed(1)

/** Predicts each conversation's hits by coefficients that were fitted on the other conversations. */
function crossValidated(of: readonly Hit[]): (Hit & Prediction)[] {
  return files.flatMap((file) => {
    const weights = fitLogistic(of.filter((hit) => hit.file !== file))
    return of
      .filter((hit) => hit.file === file && hit.rank < EVALUATED_HITS)
      .map((hit) => ({ ...hit, probability: predict(weights, hit.values) }))
  })
}

/** One row: the quality of the predictions, and that of a constant prediction, the share of evidence. */
function qualityRow(label: string, predictions: readonly Prediction[]): string[] {
  const share = predictions.filter(({ isPositive }) => isPositive).length / predictions.length
  const constant = predictions.map(({ isPositive }) => ({ probability: share, isPositive }))
  const predicted = predictions.reduce((sum, { probability }) => sum + probability, 0) / predictions.length
  const scores = [brierScore, logLoss].flatMap((measure) => [measure(predictions), measure(constant)])
  return [
    label,
    String(predictions.length),
    percent(predicted),
    percent(share),
    ...scores.map((each) => each.toFixed(4)),
  ]
}

/** One row for each threshold: the hits that reach it, in the whole conversations. */
function thresholdRows(predictions: readonly (Hit & Prediction)[], questions: number): string[][] {
  const evidence = predictions.filter(({ isPositive }) => isPositive).length
  return THRESHOLDS.map((threshold) => {
    const kept = predictions.filter(({ probability }) => probability >= threshold)
    const found = kept.filter(({ isPositive }) => isPositive).length
    return [
      threshold.toFixed(1),
      (kept.length / questions).toFixed(1),
      percent(found / kept.length),
      percent(found / evidence),
    ]
  })
}

const fitted: Partial<Record<Hit['model'], RelevanceCoefficients>> = {}
for (const model of MODELS) {
  const ofModel = hits.filter((hit) => hit.model === model)
  const [intercept, ...weights] = fitLogistic(ofModel).map((each) => Number(each.toFixed(2)))
  fitted[model] = {
    intercept: intercept!,
    ...(Object.fromEntries(FEATURES.map((name, i) => [name, weights[i]!])) as Omit<RelevanceCoefficients, 'intercept'>),
  }
  const predictions = crossValidated(ofModel)
  const within = (scope: Hit['scope']) => predictions.filter((hit) => hit.scope === scope)
  console.log(
    [
      `\n## Relevance with ${model === 'vectors' ? `vectors (${embedder.name})` : 'words only'}\n`,
      ...table(
        ['relevance', ...SCOPES.flatMap((scope) => [`${scope}: hits`, 'predicted %', 'evidence %'])],
        reliability(predictions).map(({ from }) => {
          const row = SCOPES.flatMap((scope) => {
            const bucket = reliability(within(scope)).find((each) => each.from === from)
            return bucket ? [String(bucket.count), percent(bucket.predicted), percent(bucket.actual)] : ['', '', '']
          })
          return [`${from.toFixed(1)} to ${(from + 0.1).toFixed(1)}`, ...row]
        }),
        (column) => column > 0,
      ),
      '',
      ...table(
        ['', 'hits', 'predicted %', 'evidence %', 'Brier', 'constant', 'log loss', 'constant'],
        [
          ...SCOPES.map((scope) => qualityRow(`each ${scope}`, within(scope))),
          ...files.map((file) =>
            qualityRow(
              `  ${file}`,
              within('conversation').filter((hit) => hit.file === file),
            ),
          ),
        ],
        (column) => column > 0,
      ),
      '',
      ...table(
        ['threshold', 'hits per question', 'evidence %', 'of the evidence %'],
        thresholdRows(within('conversation'), questions),
        (column) => column > 0,
      ),
    ].join('\n'),
  )
}

const isCurrent = JSON.stringify(fitted) === JSON.stringify(COEFFICIENTS)
console.log(
  [
    '',
    note(
      `The first ${EVALUATED_HITS} hits of each question, in its whole conversation, in one session with evidence and in `
        + 'one without. Each conversation is predicted by coefficients that were fitted on the other conversations.',
    ),
    note(`"of the evidence" is the share of the evidence among the first ${EVALUATED_HITS} hits.`),
    note('"constant" is the score of a constant prediction, the share of evidence.'),
    note(
      isCurrent
        ? 'Fitted on all conversations, the coefficients are those of relevance-coefficients.ts.'
        : `Fitted on all conversations, the coefficients differ from relevance-coefficients.ts: ${JSON.stringify(fitted)}`,
    ),
  ].join('\n'),
)
process.exit(0)
