// Tests an embedder when the process starts: an error that the operator has to correct stops the start, an unreachable
// provider does not.

import { CallFailed } from './ports/call-failed.ts'
import type { Embedder } from './ports/embedder.ts'

export type TrialLog = { warn(details: object, message: string): void }

/** Milliseconds that the start waits for a provider. The download of a model continues after that. */
export const TRIAL_MS = 3_000

/** Embeds a word. @throws CallFailed, after closing the embedder, if a retry cannot succeed */
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
    log.warn({ embedder: embedder.name, cause }, 'the embedder does not work yet: turns get no vectors until it does')
  }
}
