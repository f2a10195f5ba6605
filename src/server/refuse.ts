// Answers a request that does not reach GraphQL with an error in the format of GraphQL responses.

import type { ServerResponse } from 'node:http'

export type Refusal = {
  status: number
  /** Stable machine-readable code. */
  code: string
  message: string
  /** Seconds after which the client may try again. */
  retryAfter?: number
}

/** Closes the connection after the response, because the request's body may be unread. */
export function refuse(response: ServerResponse, { status, code, message, retryAfter }: Refusal): void {
  if (response.headersSent || response.destroyed) return void response.destroy()
  const body = JSON.stringify({ errors: [{ message, extensions: { code } }] })
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  })
  response.end(body)
}
