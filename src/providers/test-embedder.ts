// Tests an embedder when the process starts. The process fails to start if the operator must correct a setting, but not
// if the provider cannot be reached.

import { CallFailed } from './ports/call-failed.ts'
import type { Embedder } from './ports/embedder.ts'

export type EmbedderTestLog = { warn(details: object, message: string): void }

/** Time limit of the request to the provider, ms. The download of a model continues after it. */
export const TEST_TIMEOUT_MS = 3_000

/**
 * Embeds a word. If the same call may succeed later, only logs a warning.
 * @throws any other error of the embedder, after closing the embedder
 */
export async function testEmbedder(embedder: Embedder, log: EmbedderTestLog): Promise<void> {
  try {
    // The provider's own time limit expires first, because its error names the cause.
    await embedder.embed(['hello'], AbortSignal.timeout(TEST_TIMEOUT_MS + 500))
  } catch (error) {
    const isTimeout = (error as Error).name === 'TimeoutError'
    if (!isTimeout && !(error instanceof CallFailed && error.retryable)) {
      await embedder.close()
      throw error
    }
    const cause = isTimeout ? 'it is not ready yet' : (error as Error).message
    log.warn({ embedder: embedder.name, cause }, 'the embedder is not ready: turns get no vectors until it is')
  }
}
