// Tries an embedder out when the process starts: what the operator has to correct stops the start, a provider that is
// away does not.

import { CallFailed } from './ports/call-failed.ts'
import type { Embedder } from './ports/embedder.ts'

export type TrialLog = { warn(details: object, message: string): void }

/** As long as a start may wait for a provider that does not answer, in ms. A model that is fetched meanwhile goes on. */
export const TRIAL_MS = 3_000

/** Embeds a word. @throws CallFailed where that cannot succeed; then the embedder is closed */
export async function tryOut(embedder: Embedder, log: TrialLog): Promise<void> {
  try {
    await embedder.embed(['hello'], AbortSignal.timeout(TRIAL_MS + 500))
  } catch (error) {
    const isLate = (error as Error).name === 'TimeoutError'
    if (!isLate && !(error instanceof CallFailed && error.retryable)) {
      await embedder.close()
      throw error
    }
    const cause = isLate ? 'it is not ready yet' : (error as Error).message
    log.warn({ embedder: embedder.name, cause }, 'the embedder does not work now: until it does, turns get no vectors')
  }
}
