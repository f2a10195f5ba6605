// Reads files of LoCoMo and REALTALK and scores recall. A file has a long conversation of two people, questions, and for
// each question the evidence, that is, the turns with the answer. The files are not in this repository, because the
// licence of LoCoMo is CC BY-NC 4.0.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { table } from './figures.ts'

/** `session`: number of the session, whose turns are consecutive. */
export type LocomoTurn = { id: string; session?: number; at: string; speaker: string; text: string; caption?: string }
export type Question = { question: string; category: number; evidence: string[] }
/** `set` is the name of the file's directory: locomo or realtalk. */
export type Conversation = { set: string; name: string; speakers: string[]; turns: LocomoTurn[]; questions: Question[] }

/** Returns the files of both sets next to the repository, in `../shared`; none if there are none. */
export function filesFound(): string[] {
  return ['locomo', 'realtalk'].flatMap((set) => {
    const directory = fileURLToPath(new URL(`../../../shared/${set}/`, import.meta.url))
    const files = existsSync(directory) ? readdirSync(directory).filter((name) => /^\d+\.json$/.test(name)) : []
    return files.sort().map((name) => join(directory, name))
  })
}

/** @throws Error if the file is not a conversation of this form */
export function readConversation(path: string): Conversation {
  const { speakers, turns, questions } = JSON.parse(readFileSync(path, 'utf8')) as Partial<Conversation>
  if (!speakers || !turns?.length || !questions?.length)
    throw new Error(`${path} is not a conversation with questions.`)
  return { set: basename(dirname(path)), name: basename(path, '.json'), speakers, turns, questions }
}

/** The text of a turn, followed by the caption of its image, if any. */
export const contentOf = ({ text, caption }: LocomoTurn) => (caption ? `${text}\n[image: ${caption}]` : text)

/** A question with the ids of the recalled turns, best first. */
export type AnsweredQuestion = {
  set: string
  file: string
  category: number
  evidence: string[]
  recalled: string[]
  /** The number of each turn's session, by the turn's id. */
  sessions: ReadonlyMap<string, number>
  /** Response time in milliseconds; null if it was not measured. */
  ms: number | null
}

/** The numbers of each turn's session, for AnsweredQuestion. */
export const sessionsOf = ({ turns }: Conversation): ReadonlyMap<string, number> =>
  new Map(turns.map(({ id, session }) => [id, session ?? 0]))

/** What recall should reach on each set, in percent: the columns `@10`, `session@10` and `several@10` of the table. */
export const AIMS: Record<string, [at10: number, session: number, several: number]> = {
  locomo: [88, 97, 70],
  realtalk: [70, NaN, 55],
}

const CATEGORIES: Record<number, string> = { 1: 'multi-hop', 2: 'temporal', 3: 'open-domain', 4: 'single-hop' }

const meanPercent = (shares: readonly number[]) => (100 * shares.reduce((sum, share) => sum + share, 0)) / shares.length

/** The share of a question's evidence among the first n recalled turns, in percent; the mean over all questions. */
export function evidenceRecall(answered: readonly AnsweredQuestion[], n: number): number {
  return meanPercent(
    answered.map(({ evidence, recalled }) => {
      const first = new Set(recalled.slice(0, n))
      return evidence.filter((id) => first.has(id)).length / evidence.length
    }),
  )
}

/** The share of the questions for which the first n recalled turns include a turn of a session with evidence. */
export function sessionRecall(answered: readonly AnsweredQuestion[], n: number): number {
  return meanPercent(
    answered.map(({ evidence, recalled, sessions }) => {
      const wanted = new Set(evidence.map((id) => sessions.get(id)))
      return Number(recalled.slice(0, n).some((id) => wanted.has(sessions.get(id))))
    }),
  )
}

/** The smallest value that is greater than or equal to at least the share `p` of the values. */
export function percentile(values: readonly number[], p: number): number {
  return values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(p * values.length) - 1)]!
}

/** Groups the questions by key, in the order of the keys. */
function grouped(
  answered: readonly AnsweredQuestion[],
  keyOf: (each: AnsweredQuestion) => string,
): [string, AnsweredQuestion[]][] {
  const groups = new Map<string, AnsweredQuestion[]>()
  for (const each of answered) groups.set(keyOf(each), [...(groups.get(keyOf(each)) ?? []), each])
  return [...groups].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
}

/** The scores of a row, in the order of the columns. NaN if there are no questions. */
const scoresOf = (answered: readonly AnsweredQuestion[]): number[] => [
  ...[5, 10, 20].map((n) => evidenceRecall(answered, n)),
  sessionRecall(answered, 10),
  evidenceRecall(
    answered.filter(({ evidence }) => evidence.length > 1),
    10,
  ),
]

const printed = (value: number) => (Number.isNaN(value) ? '' : value.toFixed(1))

function row(label: string, answered: AnsweredQuestion[]): string[] {
  const times = answered.flatMap(({ ms }) => ms ?? [])
  const latencies = times.length > 0 ? [0.5, 0.95].map((p) => percentile(times, p).toFixed(1)) : ['', '']
  return [label, ...scoresOf(answered).map(printed), String(answered.length), ...latencies]
}

const COLUMNS = ['', '@5', '@10', '@20', 'session@10', 'several@10', 'questions', 'p50 ms', 'p95 ms']

/** One row for each set and method; those of the first method also by category and by file; then the set's aims. */
export function scoreTable(methods: { name: string; answered: AnsweredQuestion[] }[]): string[] {
  const [main] = methods
  const rows = grouped(main!.answered, ({ set }) => set).flatMap(([set, answered]) => [
    ...methods.map(({ name, answered: all }) =>
      row(
        `${set}, ${name}`,
        all.filter((each) => each.set === set),
      ),
    ),
    ...grouped(answered, ({ category }) => `${category} ${CATEGORIES[category] ?? ''}`.trimEnd()).map(
      ([label, group]) => row(`  ${label}`, group),
    ),
    ...grouped(answered, ({ file }) => file).map(([label, group]) => row(`  ${label}`, group)),
    ...aimsOf(set, answered),
  ])
  return table(COLUMNS, rows, (column) => column > 0)
}

function aimsOf(set: string, answered: AnsweredQuestion[]): string[][] {
  const aims = AIMS[set]
  if (!aims) return []
  const [, at10, , session, several] = scoresOf(answered)
  const cells = [at10!, session!, several!].map((value, i) =>
    Number.isNaN(aims[i]) ? '' : `${value < aims[i]! ? 'below ' : ''}${aims[i]}`,
  )
  return [['  aim', '', cells[0]!, '', cells[1]!, cells[2]!, '', '', '']]
}
