// Embeds the query of a recall.

import { CallFailed } from '../../../providers/ports/call-failed.ts'
import type { RecallDeps } from './deps.ts'
import type { SearchRequest } from './search/request.ts'

/** Timeout for embedding a query, in milliseconds. If it expires, the search uses words only. */
const EMBED_TIMEOUT_MS = 3_000

/** Embeds the query. Returns null if its vector is all zeros or the embedder fails; the search then uses words only. */
export async function embedQuery(
  deps: Pick<RecallDeps, 'embedding' | 'log'>,
  text: string,
): Promise<SearchRequest['vector']> {
  const embedder = deps.embedding.serving()
  try {
    const [query] = await embedder.embed([text], AbortSignal.timeout(EMBED_TIMEOUT_MS))
    return query!.every((component) => component === 0) ? null : { embedder: embedder.name, query: query! }
  } catch (err) {
    if (!(err instanceof CallFailed) && (err as Error).name !== 'TimeoutError') throw err
    deps.log.warn({ err, embedder: embedder.name }, 'could not embed a query; searching by its words only')
    return null
  }
}
