// `npm run bench -- growth [--large]`: the cost of each verb against turns, conversations of an owner, participants,
// facts and subscribers. Takes about 10 minutes; --large adds a conversation of 1,000,000 turns.

import { note, reasonOf, table } from '../figures.ts'
import type { Bench } from '../services.ts'
import { growthOfFacts } from './facts.ts'
import { growthOfOwner } from './owner.ts'
import { growthOfParticipants } from './participants.ts'
import { FLAT, rowsOf, type Series } from './series.ts'
import { growthOfSubscribers } from './subscribers.ts'
import { growthOfTurns } from './turns.ts'
import { withWorld } from './world.ts'

const NOTES = [
  'In one process on Postgres; for subscribers, a server and a process of clients for each size. Costs are medians of '
    + '5 interleaved rounds. A ratio compares a size with the smallest one: the median and the range of the ratios of '
    + 'the rounds.',
  `Flat: the largest size costs at most ${FLAT} times the smallest.`,
]

export async function growth(bench: Bench, isLarge: boolean): Promise<string> {
  const parts: [name: string, measure: () => Promise<Series[]>][] = [
    ['turns', () => withWorld(bench, (world) => growthOfTurns(world, isLarge))],
    ['conversations', () => withWorld(bench, growthOfOwner)],
    ['participants', () => withWorld(bench, growthOfParticipants)],
    ['facts', () => withWorld(bench, growthOfFacts)],
    ['subscribers', () => growthOfSubscribers(bench)],
  ]
  const rows: string[][] = []
  for (const [name, measure] of parts) {
    try {
      rows.push(...(await measure()).flatMap(rowsOf))
    } catch (error) {
      bench.progress(`${name} failed: ${(error as Error).stack?.slice(0, 600)}`)
      rows.push([name, '', '', '', '', `not run: ${reasonOf(error)}`])
    }
  }
  const lines = table(['', 'size', 'cost', 'ratio', 'range', ''], rows, (column) => column === 2 || column === 3)
  return ['\n## growth: the cost of each verb by size\n', ...lines, '', ...NOTES.map(note)].join('\n')
}
