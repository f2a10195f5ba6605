// How a call to a provider fails, whichever port it goes through.

/** No result could be had from a provider; the message names the cause and the next step. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed'
  /** The same call may succeed later. False where somebody must correct something first: a key, a model, a setting. */
  readonly retryable: boolean
  constructor(message: string, retryable: boolean) {
    super(message)
    this.retryable = retryable
  }
}

/** What every call rejects with after close. `what` names the port, as in "embedder". */
export const closedProvider = (what: string, name: string) => new CallFailed(`The ${what} ${name} is closed.`, false)
