// The error of a failed provider call, for all ports.

/** A provider returned no usable result; the message names the cause and the next step. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed'
  /** Whether the same call may succeed later. False if the operator must first correct a key, a model or a setting. */
  readonly retryable: boolean
  constructor(message: string, retryable: boolean) {
    super(message)
    this.retryable = retryable
  }
}

/** The error of every call after close. `what` names the port, for example "embedder". */
export const closedProvider = (what: string, name: string) => new CallFailed(`The ${what} ${name} is closed.`, false)
