// The errors of conversation stores, and the codes of the errors that a transcript throws.

/** There is no conversation with the id, or the viewer does not see it. */
export class ConversationNotFound extends Error {
  override readonly name = 'ConversationNotFound'
  readonly code = 'NOT_FOUND'
  constructor(conversationId: string) {
    super(`There is no conversation ${JSON.stringify(conversationId)}. Create it first.`)
  }
}

/** The id is already used for other content. Writing the same content again is not an error. */
export class IdConflict extends Error {
  override readonly name = 'IdConflict'
  readonly code = 'CONFLICT'
  constructor(kind: 'conversation' | 'message' | 'turn', id: string) {
    super(`The id ${JSON.stringify(id)} is already used for another ${kind}. Use a new id.`)
  }
}

/** The server refused a request, or did not answer it. */
export class RequestFailed extends Error {
  override readonly name = 'RequestFailed'
  /** Code of the server's error, for example `NOT_ALLOWED`; `HTTP_<status>` or `UNREACHABLE` without one. */
  readonly code: string
  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** Returns the code of an error of a transcript; null for an error without one. */
export function codeOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : null
}
