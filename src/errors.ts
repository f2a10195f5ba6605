// All expected failures. Each class is a member of the result union of every mutation that can fail with it, unless its
// comment says otherwise. Each message names the cause and the next step. Any other error is unexpected: it is logged
// once and masked.

/** Base of all expected failures: a stable machine-readable code, and a message for people. */
export abstract class DomainError extends Error {
  abstract readonly code: string
}

/** One problem with an input. `path` lists the keys from the root of the input to the value. */
export type InputIssue = { path: string[]; message: string }

/** The input breaks a rule or a limit. Nothing was written. */
export class InvalidInput extends DomainError {
  readonly code = 'INVALID_INPUT'
  readonly issues: InputIssue[]
  constructor(issues: InputIssue[]) {
    super(issues.map(({ path, message }) => (path.length ? `${path.join('.')}: ${message}` : message)).join('; '))
    this.issues = issues
  }
  /** Creates an error with one issue at `path`, which is dot-separated; '' is the input as a whole. */
  static at(path: string, message: string): InvalidInput {
    return new InvalidInput([{ path: path ? path.split('.') : [], message }])
  }
}

/** The object does not exist, or the viewer may not see it. The error does not distinguish the two cases. */
export class NotFound extends DomainError {
  readonly code = 'NOT_FOUND'
  constructor(kind: string, id: string) {
    super(`There is no ${kind} ${JSON.stringify(id)} that you can see.`)
  }
}

/**
 * The argument `as` names an actor whom the tenant does not know. The request is refused before anything is executed,
 * so the error is not a member of any result union.
 */
export class UnknownActor extends DomainError {
  readonly code = 'UNKNOWN_ACTOR'
  constructor(actor: string) {
    super(
      `${JSON.stringify(actor)}, given as \`as\`, owns no conversation of your tenant and was never a participant of one. `
        + 'Check the name; add a new actor by addParticipant, or let it append a turn.',
    )
  }
}

/** The viewer may see the object but may not perform the operation. */
export class NotAllowed extends DomainError {
  readonly code = 'NOT_ALLOWED'
  /** The right that the viewer's credential lacks; null if no right of a credential would allow the operation. */
  readonly right: string | null
  /** The refused verb of rights.ts, for the audit log; null if the operation was refused for another reason. */
  readonly verb: string | null
  constructor(message: string, right: string | null = null, verb: string | null = null) {
    super(message)
    this.right = right
    this.verb = verb
  }
}

/** The state changed concurrently, or an idempotency key was already used with different content. */
export class Conflict extends DomainError {
  readonly code = 'CONFLICT'
}

/** The object, viewer or server process already has the maximum number of items. Nothing was written or opened. */
export class LimitReached extends DomainError {
  readonly code = 'LIMIT_REACHED'
  readonly limit: number
  constructor(message: string, limit: number) {
    super(message)
    this.limit = limit
  }
}

/** The tokens of the current day are used up, or calls in progress have reserved the rest. Nothing was written. */
export class QuotaExceeded extends DomainError {
  readonly code = 'QUOTA_EXCEEDED'
  readonly limit: number
  readonly used: number
  readonly resetsAt: Date
  /** @param subject the participant or the tenant, at the beginning of the message */
  constructor(
    subject: string,
    { limit, used, reserved }: { limit: number; used: number; reserved: number },
    resetsAt: Date,
  ) {
    super(
      `${subject} has used ${used} of today's ${limit} tokens${
        used < limit ? `, and its calls in progress have reserved ${reserved}` : ''
      }. Wait until ${used < limit ? 'they have ended' : resetsAt.toISOString()}, or raise tokensPerDay.`,
    )
    this.limit = limit
    this.used = used
    this.resetsAt = resetsAt
  }
}

/**
 * The server cannot do the work at present: too much work waits, or the database cannot be reached. The same call may
 * succeed later. The error is not a member of any result union, because any field may fail with it, even in the payload
 * of a mutation.
 */
export abstract class ServerBusy extends DomainError {
  readonly code = 'SERVER_BUSY'
  /** Time after which to try again, in seconds. */
  readonly retryAfterSeconds = 1
}

/**
 * The maximum number of work items of one kind already waits, so the new one was not started. `whose` says which of them
 * are counted.
 */
export class QueueFull extends ServerBusy {
  constructor(limit: number, whose = 'of your tenant') {
    super(`${limit} requests ${whose} are already waiting for this kind of work, the maximum. Try again later.`)
  }
}

/** The bytes of the same file are being deleted, so they cannot be written yet. Nothing was written. */
export class FileBusy extends ServerBusy {
  constructor() {
    super('An equal file of your tenant is being deleted, which takes at most some minutes. Try again later.')
  }
}

/**
 * The database cannot be reached, the connection to it was lost, or it has no resources left. The outcome of a write is
 * unknown: it may have been committed before the connection was lost. `cause` is the error of the driver.
 */
export class DatabaseUnavailable extends ServerBusy {
  constructor(options?: ErrorOptions) {
    super(
      'The database is unavailable at present. Try again later. A write may have been executed nevertheless: repeat it '
        + 'only if a second call is safe, for example with the same clientId.',
      options,
    )
  }
}

/**
 * A database read exceeded its time limit. The error is not a member of any result union, because any field may fail
 * with it. A mutation whose payload fails with it was executed.
 */
export class ReadTimeout extends DomainError {
  readonly code = 'READ_TIMEOUT'
  constructor(limitMs: number) {
    super(
      `A read of the database took longer than the limit of ${limitMs / 1000} seconds. `
        + 'Try again, or request less at once.',
    )
  }
}

/** The streaming turn has already been committed, aborted or erased. */
export class StreamClosed extends DomainError {
  readonly code = 'STREAM_CLOSED'
  readonly status: string
  constructor(turnId: string, status: string) {
    super(`Turn ${turnId} is ${status}, no longer open. To stream more text, open a new turn.`)
    this.status = status
  }
}

/** The system prompt and the newest turn have more tokens than the budget of the context. */
export class BudgetTooSmall extends DomainError {
  readonly code = 'BUDGET_TOO_SMALL'
  readonly required: number
  constructor(budget: number, required: number, what = 'the system prompt and the newest turn') {
    super(
      `${what[0]!.toUpperCase()}${what.slice(1)} take ${required} tokens; the budget is ${budget}. `
        + `Pass at least ${required}.`,
    )
    this.required = required
  }
}

/** A call to a model provider failed. Changes written before the call are kept. */
export class ProviderFailed extends DomainError {
  readonly code = 'PROVIDER_FAILED'
  /** Whether the same call may succeed later. If false, the configuration or the input must change first. */
  readonly retryable: boolean
  constructor(message: string, retryable: boolean) {
    super(message)
    this.retryable = retryable
  }
}

/**
 * A service that the server needs, such as Redis, cannot be reached. Its adapter has logged the outage. The error is
 * not a member of any result union, because any field may fail with it.
 */
export class Unavailable extends DomainError {
  readonly code = 'UNAVAILABLE'
}
