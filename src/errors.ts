// Every expected failure, on one screen. Each is a member of the results of the mutations it can happen in; its message
// names the cause and the next step. Anything else that is thrown is a bug: it is logged once and masked.

/** What all expected failures share: a stable code for programs and a text for people. */
export abstract class DomainError extends Error {
  abstract readonly code: string
}

/** One thing that is wrong with an input. `path` leads to it from the input's root. */
export type InputIssue = { path: string[]; message: string }

/** The input breaks a rule or a limit. Nothing was written. */
export class InvalidInput extends DomainError {
  readonly code = 'INVALID_INPUT'
  readonly issues: InputIssue[]
  constructor(issues: InputIssue[]) {
    super(issues.map(({ path, message }) => (path.length ? `${path.join('.')}: ${message}` : message)).join('; '))
    this.issues = issues
  }
  /** A single issue at `path`, given with dots. */
  static at(path: string, message: string): InvalidInput {
    return new InvalidInput([{ path: path ? path.split('.') : [], message }])
  }
}

/** There is no such thing, or the viewer may not see it: the two are not told apart. */
export class NotFound extends DomainError {
  readonly code = 'NOT_FOUND'
  constructor(what: string, id: string) {
    super(`There is no ${what} ${JSON.stringify(id)} that you can see.`)
  }
}

/** The viewer sees it but may not do this. */
export class NotAllowed extends DomainError {
  readonly code = 'NOT_ALLOWED'
}

/** Somebody was faster, or the same key was used for something else. Read again, then decide. */
export class Conflict extends DomainError {
  readonly code = 'CONFLICT'
}

/** The turn is no longer being written. */
export class StreamClosed extends DomainError {
  readonly code = 'STREAM_CLOSED'
  readonly status: string
  constructor(turnId: string, status: string) {
    super(`Turn ${turnId} is ${status}: its text no longer changes. Supersede it, or open another.`)
    this.status = status
  }
}

/** What a context cannot be without takes more tokens than there are. */
export class BudgetTooSmall extends DomainError {
  readonly code = 'BUDGET_TOO_SMALL'
  readonly required: number
  constructor(budget: number, required: number) {
    super(
      `Instructions and the newest turn take ${required} tokens; the budget is ${budget}. Give ${required} or more.`,
    )
    this.required = required
  }
}

/** A model behind the server did not do its part. Nothing was written but what had been finished before. */
export class ProviderFailed extends DomainError {
  readonly code = 'PROVIDER_FAILED'
  /** The same call may succeed later; otherwise somebody must mend something first. */
  readonly retryable: boolean
  constructor(message: string, retryable: boolean) {
    super(message)
    this.retryable = retryable
  }
}
