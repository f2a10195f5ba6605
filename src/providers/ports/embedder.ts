// The port to embedders: text in, unit vectors out. Texts of similar meaning have vectors with a high dot product. Only
// vectors of embedders with the same name are ever compared.

/** Computes vectors of texts. Every embedder passes test/contract/embedder.test.ts. */
export type Embedder = {
  /**
   * The model, and the version of anything else that affects the vectors; stored with each vector. With a new name, all
   * vectors are computed again.
   */
  readonly name: string
  /** Components of each vector. Known without a call to the provider. */
  readonly dimension: number
  /** Preferred number of texts per call; not a limit. */
  readonly batch: number
  /**
   * Returns one vector per text, in order: of length 1, or all zeros for a text that is empty or unknown to the model.
   * Of a long text, only the beginning is embedded. If one text fails, the whole call fails.
   * @throws CallFailed, or the signal's reason after an abort
   */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>
  /** Ends running calls; afterwards, embed rejects. Idempotent. */
  close(): Promise<void>
}

/** Maximum number of components: the limit of pgvector's HNSW index for half-precision vectors. */
export const MOST_DIMENSIONS = 4000

/** Dot product; for unit vectors, the cosine of their angle. */
export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let d = 0; d < a.length; d++) sum += a[d]! * b[d]!
  return sum
}

/** Scales the vector to length 1, in place. A nearly zero vector becomes zero: its direction is a rounding error. */
export function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector))
  if (length < 1e-6) return vector.fill(0)
  for (let d = 0; d < vector.length; d++) vector[d]! /= length
  return vector
}
