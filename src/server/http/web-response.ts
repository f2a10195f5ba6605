// Passes a request to a handler of Web API requests, and sends the Response that it returns, part by part, as fast as the
// client reads.

import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Returns the request with the headers of those names, and without a body. */
export function webRequest({ method, headers }: IncomingMessage, names: readonly string[]): Request {
  const given = names.flatMap((name): [string, string][] => {
    const value = headers[name]
    return value === undefined ? [] : [[name, String(value)]]
  })
  return new Request('http://localhost/', { method: method!, headers: given })
}

/** Sends the response, and resolves when it has ended. Ends the body early if the client disconnects. */
export async function sendWebResponse(response: ServerResponse, { status, headers, body }: Response): Promise<void> {
  if (response.destroyed) return void (await body?.cancel())
  response.writeHead(status, Object.fromEntries(headers))
  if (!body) return void response.end()
  response.flushHeaders()
  const reader = body.getReader()
  const cancel = () => void reader.cancel().catch(() => {})
  response.once('close', cancel)
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (response.destroyed) return
    if (!response.write(part.value)) await Promise.race([once(response, 'drain'), once(response, 'close')])
  }
  response.off('close', cancel)
  response.end()
}
