// A door is a path of the HTTP server with a protocol of its own. http.ts checks host and origin, authenticates the
// client, and limits operations and bodies, in the same way for every door.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Identity } from '../../auth/authenticator.ts'
import type { Refusal } from '../refuse.ts'

export type Door = {
  /** Returns the refusal of a request because of its method or headers; null if they are accepted. */
  refusalOf(request: IncomingMessage): Refusal | null
  /** Whether the request has a body. */
  hasBody(request: IncomingMessage): boolean
  /** Maximum size of the body, in bytes, if it is not that of operations. */
  readonly bodyBytes?: number
  /** Answers the request. Rejects with any unexpected error, which http.ts masks. */
  answer(visit: Visit): Promise<void>
}

/** A request that http.ts has admitted. */
export type Visit = {
  request: IncomingMessage
  response: ServerResponse
  identity: Identity
  /** The whole body; null for a request without one. */
  body: Buffer | null
  /** Ends the operation for the admission. Calling it again has no effect. */
  leave(): void
}
