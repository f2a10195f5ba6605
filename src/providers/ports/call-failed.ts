// How a call to a provider fails, whichever port it went through: each port has a class of its own.

/** The message says why, and what to do. */
export abstract class CallFailed extends Error {
  /** The same call may succeed later. False where somebody must mend something first: a key, a model, a setting. */
  readonly retryable: boolean
  constructor(message: string, retryable: boolean) {
    super(message)
    this.retryable = retryable
  }
}
