// Tests an embedder or a reranker when the process starts. The process fails to start if the operator must correct a
// setting, but not if the provider cannot be reached.

import { CallFailed } from './ports/call-failed.ts'

export type ProviderTestLog = { warn(details: object, message: string): void }

/** Time limit of the request to the provider, ms. The download of a model continues after it. */
export const TEST_TIMEOUT_MS = 3_000

type Tested = {
  port: 'embedder' | 'reranker'
  provider: { readonly name: string; close(): Promise<void> }
  /** What happens until the provider is ready, for the log. */
  effect: string
}

/**
 * Makes a call. If the same call may succeed later, only logs a warning.
 * @throws any other error of the call, after closing the provider
 */
export async function testProvider(
  { port, provider, effect }: Tested,
  call: (signal: AbortSignal) => Promise<unknown>,
  log: ProviderTestLog,
): Promise<void> {
  try {
    // The provider's own time limit expires first, because its error names the cause.
    await call(AbortSignal.timeout(TEST_TIMEOUT_MS + 500))
  } catch (error) {
    const isTimeout = (error as Error).name === 'TimeoutError'
    if (!isTimeout && !(error instanceof CallFailed && error.retryable)) {
      await provider.close()
      throw error
    }
    const cause = isTimeout ? 'it is not ready yet' : (error as Error).message
    log.warn({ [port]: provider.name, cause }, `the ${port} is not ready: ${effect}`)
  }
}
