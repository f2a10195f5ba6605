// The error of a failed provider call, for all ports, and the error that the API returns for it.

import { ProviderFailed } from '../../errors.ts'

/** A provider returned no usable result. The message names the cause and, if there is one, the next step. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed'
  /** Whether the same call may succeed later. False if the operator must first correct a key, a model or a setting. */
  readonly retryable: boolean
  constructor(message: string, retryable: boolean) {
    super(message)
    this.retryable = retryable
  }
}

/** Returns the error of every call after close. `port` is the kind of provider, for example "embedder". */
export const closedProvider = (port: string, name: string) => new CallFailed(`The ${port} ${name} is closed.`, false)

type Log = { warn(details: object, message: string): void }

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
