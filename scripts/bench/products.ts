// `npm run bench -- products`: the dot products of a query with the vectors of a conversation, by WebAssembly
// (domain/memory/recall/index/products.ts) against a loop in JavaScript.

import { dot } from '../../src/runtime/unit-vector.ts'
import { productsByRow, withVectors } from '../../src/domain/memory/recall/index/vector-blocks.ts'
import { format, interleave, type Figure, type Report } from './figures.ts'

const SIZES = [
  { turns: 1_000, dimension: 100 },
  { turns: 1_000, dimension: 384 },
  { turns: 5_000, dimension: 384 },
]
const ROUNDS = 9
const CALLS = 200
/** Minimum ratio that justifies a second language. */
const MIN_GAIN = 1.5

/** Returns the mean time of a call, ms. */
function timeOf(call: () => void): number {
  const begin = performance.now()
  for (let n = 0; n < CALLS; n++) call()
  return (performance.now() - begin) / CALLS
}

/** Returns the dot products of the query and the vectors, which are one after another in `flat`. */
function productsInLoop(flat: Float32Array, turns: number, query: Float32Array): Float32Array {
  const found = new Float32Array(turns)
  for (let row = 0, at = 0; row < turns; row++, at += query.length) found[row] = dot(query, flat, at)
  return found
}

export async function products(progress: (message: string) => void): Promise<Report> {
  const figures: Figure[] = []
  for (const { turns, dimension } of SIZES) {
    const vectorOf = () => Float32Array.from({ length: dimension }, () => Math.random() - 0.5)
    const vectors = Array.from({ length: turns }, vectorOf)
    const list = withVectors(null, vectors)!
    const flat = Float32Array.from(vectors.flatMap((vector) => [...vector]))
    const query = vectorOf()
    const contestants = {
      ours: async () => timeOf(() => productsByRow(list, query)),
      theirs: async () => timeOf(() => productsInLoop(flat, turns, query)),
    }
    await contestants.ours()
    await contestants.theirs()
    const medians = await interleave(ROUNDS, contestants, (message) => progress(`${message} ms`))
    const label = `${format(turns)} vectors of ${dimension} components`
    const against = 'a loop of dot products in JavaScript'
    figures.push({ label, ...medians, against, unit: 'ms', better: 'smaller', target: MIN_GAIN })
  }
  const notes = [`Means of ${CALLS} queries; medians of ${ROUNDS} interleaved rounds.`]
  return { title: 'products: dot products of a query with all vectors of an index', figures, notes }
}
