// `npm run bench -- limits`: our server against the limit of each verb, which is minimal hand-written SQL on the same
// tables; for fan-out, a server that only writes WebSocket frames. Takes about 5 minutes.

import { availableParallelism, loadavg } from 'node:os'
import { format, note } from '../figures.ts'
import { measureParts, tableOf } from '../row.ts'
import type { Bench } from '../services.ts'
import { rowsOfHttp } from './http.ts'
import { rowsOfHistory, rowsOfRecall } from './in-process.ts'
import { rowOfSockets } from './sockets.ts'

const NOTES = [
  'Medians of 5 interleaved rounds; the ratio is the median of the ratios of the rounds, 1 if ours reaches the limit.',
  'The limit runs named statements on `pg`, as the role and with the tenant of our server, on a pool of the same size. '
    + 'Both sides return the same number of rows, which is checked before the rounds.',
  'The limit of recall orders the vectors of the conversation by distance, without words, views, neighbours and '
    + 'relevance. Both sides embed the query.',
  'The limit of an append updates the counters and inserts the turn and its entry, without views, checks, index terms '
    + 'and notifications. Coalesced appends insert the turns of 16 callers in one statement.',
  'Over HTTP, the limit is a node:http server that sends the bytes that Postgres builds; its pages and lists are equal '
    + 'to ours byte for byte. Our server embeds appended turns in the background, also while the rounds run; the limit '
    + 'does not embed, and appends to its own database.',
  'The limit of fan-out stores nothing, and writes a frame with the same fields to each socket. The latency is the '
    + 'time from sending the mutation to the arrival on a socket.',
]

/** The number of runnable processes, averaged over the last minute. */
const load = () => format(loadavg()[0]!)

export async function limits(bench: Bench): Promise<string> {
  const loadBefore = load()
  const measured = await measureParts(
    [
      ['recall', () => rowsOfRecall(bench)],
      ['appends and pages', () => rowsOfHistory(bench)],
      ['HTTP', () => rowsOfHttp(bench)],
      ['sockets', () => rowOfSockets(bench)],
    ],
    bench.progress,
  )
  const lines = tableOf(measured, { against: 'limit is', theirs: 'limit' })
  const machine = `Load of the machine: ${loadBefore} before the rounds, ${load()} after them, on ${availableParallelism()} cores.`
  return [
    '\n## limits: our server against hand-written SQL on the same tables\n',
    ...lines,
    '',
    ...[...NOTES, machine].map(note),
  ].join('\n')
}
