// The port for embedders, which compute unit vectors of texts. Texts of similar meaning have vectors with a high dot
// product. Callers compare only vectors of embedders with the same name.

/** Computes vectors of texts. Every embedder passes test/contract/embedder.ts. */
export type Embedder = {
  /**
   * Identifies the model and the version of anything else that affects the vectors. Stored with each vector. After a
   * change of the name, the server computes all vectors again.
   */
  readonly name: string
  /** Number of components of each vector. Known without a call to the provider. */
  readonly dimension: number
  /** Preferred number of texts per call; not a limit. */
  readonly batch: number
  /**
   * Returns one vector per text, in order. A vector has length 1; for a text that is empty or unknown to the model, all
   * its components are 0. Embeds only the beginning of a long text. If one text fails, the whole call fails.
   * @throws CallFailed, or the signal's reason after an abort
   */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>
  /** Ends running calls. Later calls of `embed` reject. Idempotent. */
  close(): Promise<void>
}

/** Maximum dimension of an embedder: the limit of pgvector's HNSW index for half-precision vectors. */
export const MAX_DIMENSIONS = 4000
