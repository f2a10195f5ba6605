// Keeps web pages from using a server that does not ask who they are: a page of another origin, and one whose name was
// made to point here (DNS rebinding). Holds for HTTP and for the WebSocket upgrade alike.

import { isIP } from 'node:net'
import type { IncomingHttpHeaders } from 'node:http'

type Guarded = { host: string; allowedOrigins: readonly string[] }

/** The name in a Host header, without port and brackets; null for none. */
function hostName(header: string | undefined): string | null {
  if (!header || !URL.canParse(`http://${header}`)) return null
  return new URL(`http://${header}`).hostname.replace(/^\[(.*)\]$/, '$1')
}

/**
 * Why the request is refused, or null. An address cannot be made to point elsewhere, so any is fine as a Host; a name
 * must be localhost, HOST, or that of an allowed origin.
 */
export function refusal(headers: IncomingHttpHeaders, { host, allowedOrigins }: Guarded): string | null {
  const name = hostName(headers.host)
  const known =
    name !== null
    && (isIP(name) !== 0
      || name === 'localhost'
      || name.endsWith('.localhost')
      || name === host
      || allowedOrigins.some((origin) => new URL(origin).hostname === name))
  if (!known) {
    return `Host ${JSON.stringify(headers.host ?? '')} is not known here: add its origin to ALLOWED_ORIGINS.`
  }
  const { origin } = headers
  if (origin === undefined || allowedOrigins.includes(origin)) return null
  if (origin === `http://${headers.host}` || origin === `https://${headers.host}`) return null
  return `Origin ${JSON.stringify(origin)} may not use this server: add it to ALLOWED_ORIGINS.`
}
