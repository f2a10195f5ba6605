// The port for rerankers, which score how relevant texts are to a query. A reranker reads the query together with each
// text, so it is more accurate than a comparison of vectors, and too slow for all texts of a search.

/** Scores texts. Every reranker passes test/contract/reranker.ts. */
export type Reranker = {
  /** Identifies the provider and the model, for logs. */
  readonly name: string
  /**
   * Returns one score per text, in order; a higher one is more relevant. The scale depends on the model. Texts and the
   * query must not be blank. Reads only the beginning of a long query or text. If one text fails, the whole call fails.
   * @throws CallFailed, or the signal's reason after an abort
   */
  score(query: string, texts: readonly string[], signal?: AbortSignal): Promise<number[]>
  /** Ends running calls. Later calls of `score` reject. Idempotent. */
  close(): Promise<void>
}

/** A reranker, and the number of the best hits of a search that it scores. */
export type Reranking = { reranker: Reranker; candidates: number }

/** Maximum of `candidates`. */
export const MAX_RERANK_CANDIDATES = 200
