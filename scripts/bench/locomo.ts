// Reads files of LoCoMo and scores recall. A file has a long conversation of two people, questions, and for each
// question the evidence, that is, the turns with the answer. The files are not in this repository, because their
// licence is CC BY-NC 4.0.

import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { table } from './figures.ts'

/** `session`: number of the session, whose turns are consecutive. */
export type LocomoTurn = { id: string; session?: number; at: string; speaker: string; text: string; caption?: string }
export type Question = { question: string; category: number; evidence: string[] }
export type Conversation = { name: string; speakers: string[]; turns: LocomoTurn[]; questions: Question[] }

/** @throws Error if the file is not a LoCoMo conversation */
export function readConversation(path: string): Conversation {
  const { speakers, turns, questions } = JSON.parse(readFileSync(path, 'utf8')) as Partial<Conversation>
  if (!speakers || !turns?.length || !questions?.length) throw new Error(`${path} is not a LoCoMo conversation.`)
  return { name: basename(path, '.json'), speakers, turns, questions }
}

/** The text of a turn, followed by the caption of its image, if any. */
export const contentOf = ({ text, caption }: LocomoTurn) => (caption ? `${text}\n[image: ${caption}]` : text)

/** A question's file, category and evidence, the ids of the recalled turns, best first, and the response time, ms. */
export type AnsweredQuestion = { file: string; category: number; evidence: string[]; recalled: string[]; ms: number }

/** Pairs of n and the target of evidence recall at n, in percent. */
export const TARGETS = [
  [5, 72],
  [10, 78],
  [20, 84],
] as const

const CATEGORIES: Record<number, string> = { 1: 'multi-hop', 2: 'temporal', 3: 'open-domain', 4: 'single-hop' }

/** The share of a question's evidence among the first n recalled turns, in percent; the mean over all questions. */
export function evidenceRecall(answered: readonly AnsweredQuestion[], n: number): number {
  const shares = answered.map(({ evidence, recalled }) => {
    const first = new Set(recalled.slice(0, n))
    return evidence.filter((id) => first.has(id)).length / evidence.length
  })
  return (100 * shares.reduce((sum, share) => sum + share, 0)) / shares.length
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

function row(label: string, answered: AnsweredQuestion[], hasTargets: boolean): string[] {
  const times = answered.map(({ ms }) => ms)
  return [
    label,
    ...TARGETS.flatMap(([n, target]) => {
      const reached = evidenceRecall(answered, n)
      return [reached.toFixed(1), hasTargets ? (reached >= target ? 'ok' : 'below') : '']
    }),
    String(answered.length),
    ...[0.5, 0.95].map((p) => percentile(times, p).toFixed(1)),
  ]
}

/** Rows for each method: all questions, then by category and by file. The targets apply to the row of all questions. */
export function scoreTable(methods: { name: string; answered: AnsweredQuestion[] }[]): string[] {
  const header = ['', ...TARGETS.flatMap(([n, target]) => [`@${n}`, `≥ ${target}`]), 'questions', 'p50 ms', 'p95 ms']
  const rows = methods.flatMap(({ name, answered }) => [
    row(name, answered, true),
    ...grouped(answered, ({ category }) => `${category} ${CATEGORIES[category] ?? ''}`.trimEnd()).map(
      ([label, group]) => row(`  ${label}`, group, false),
    ),
    ...grouped(answered, ({ file }) => file).map(([label, group]) => row(`  ${label}`, group, false)),
  ])
  return table(header, rows, (column) => column > 0 && ![2, 4, 6].includes(column))
}
