// Calls a provider on behalf of a verb, and makes its failure one that the verb's callers expect.

import { ProviderFailed } from '../errors.ts'
import { CallFailed } from '../providers/ports/call-failed.ts'
import type { Log } from './platform.ts'

/**
 * Returns what the provider answers. `task` completes the log message "could not …"; `model` is in its details.
 * @throws ProviderFailed where the call failed, which is logged; or what else the call throws
 */
export async function askProvider<T>(log: Log, task: string, model: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (err) {
    if (!(err instanceof CallFailed)) throw err
    log.warn({ err, model }, `could not ${task}`)
    throw new ProviderFailed(err.message, err.retryable)
  }
}
