// The error of a failed provider call, for all ports.

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
