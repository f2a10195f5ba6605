// The port to embedders: text in, directions out. Two texts that mean alike have vectors with a high dot product, as
// long as one embedder, of one name, made both: what embedders of different names made is never compared.

/** Makes vectors of texts. Every embedder passes test/contract/embedder.test.ts. */
export type Embedder = {
  /**
   * Says the model and the version of whatever else changes its vectors; kept with each vector. A new name means that
   * all vectors are made anew.
   */
  readonly name: string
  /** Components of each vector. Known without asking the provider. */
  readonly dimension: number
  /** Texts it likes to be given at once. More are served, too. */
  readonly batch: number
  /**
   * One vector a text, in the order of the texts: of length 1, or all zeros where a text has no direction (it is empty,
   * or says nothing the model knows). Of long texts the beginning counts. All or nothing: where one text cannot be
   * embedded, none is.
   * @throws CallFailed, or the reason of the signal that was aborted
   */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>
  /** Ends what runs; afterwards, embed rejects. May be called twice. */
  close(): Promise<void>
}

/** Components a vector may have: pgvector's HNSW index of half-precision vectors takes no more. */
export const MOST_DIMENSIONS = 4000

/** The sum of products: of unit vectors, the cosine of their angle. */
export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let d = 0; d < a.length; d++) sum += a[d]! * b[d]!
  return sum
}

/** Scales to length 1, in place. What is (all but) zero becomes zero: rounding has no direction. */
export function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector))
  if (length < 1e-6) return vector.fill(0)
  for (let d = 0; d < vector.length; d++) vector[d]! /= length
  return vector
}
