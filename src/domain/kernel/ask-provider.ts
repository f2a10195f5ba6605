// Calls a provider for a domain function and converts a failed call into ProviderFailed.

import { ProviderFailed } from '../../errors.ts'
import { CallFailed } from '../../providers/ports/call-failed.ts'
import type { Log } from './platform.ts'

/**
 * Makes the call and returns the provider's response. If the call fails, logs "could not" and `task`, with `model`.
 * @throws ProviderFailed after logging, if the call throws CallFailed; any other error is rethrown unlogged
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
