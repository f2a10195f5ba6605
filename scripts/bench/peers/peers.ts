// `npm run bench -- peers [--large]`: our server against its peers. Takes about 15 minutes; --large adds an owner with
// 100,000 turns. The peers are installed on demand.

import { note } from '../figures.ts'
import type { Bench } from '../services.ts'
import { installPeers, versionOf } from './install.ts'
import { rowsOfHttp } from './http.ts'
import { embeddedAppends, historyOfMemory, readsOfMemory } from './memory.ts'
import { rowsOfSockets } from './sockets.ts'
import { measureParts, tableOf, type Measured } from '../row.ts'

const NOTES = [
  `In process, on databases of the same Postgres: ${versionOf('@mastra/memory')}, ${versionOf('@mastra/pg')}.`,
  'Medians of 5 interleaved rounds; the ratio is the median of the ratios of the rounds, above 1 if ours is better.',
  'Recalls, contexts and pages run for 2 s on each side before the rounds, which have 200 calls of one caller or 640 of 16, '
    + 'and requests over HTTP for 8 s. Our code is compiled, as `npm start` compiles it. '
    + 'Both databases have no background work left when the rounds start, but appends cause new work.',
  'Both get the same texts, and 384-dimensional vectors from the same function. Mastra searches vectors alone; ours '
    + 'searches words too, and only what the viewer may see. Appends and pages run without embedding on both sides.',
  `PostGraphile (${versionOf('postgraphile')}) serves two plain tables and keeps no counters. graphql-ws runs with yoga's `
    + `pub/sub on ${versionOf('ioredis')}, and stores nothing.`,
  'A page of Mastra is recall() with perPage and page, which counts the messages of the thread by default.',
]

export async function peers(bench: Bench, isLarge: boolean): Promise<string> {
  await installPeers(bench.progress)
  const parts: [label: string, measure: () => Promise<Measured[]>][] = [
    ['recall and contexts', () => readsOfMemory(bench, isLarge)],
    ['appends and pages', () => historyOfMemory(bench)],
    ['appends with vectors', () => embeddedAppends(bench)],
    ['HTTP', () => rowsOfHttp(bench)],
    ['sockets', () => rowsOfSockets(bench)],
  ]
  const measured = await measureParts(parts, bench.progress)
  const headings = { against: 'peer', theirs: 'theirs' }
  return [
    '\n## peers: our server against other software\n',
    ...tableOf(measured, headings),
    '',
    ...NOTES.map(note),
  ].join('\n')
}
