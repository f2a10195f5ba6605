// Rejects requests from web pages of other origins, and from pages whose host name resolves to this server's address
// (DNS rebinding). Applies to HTTP requests and WebSocket upgrades.

import { isIP } from 'node:net'
import type { IncomingHttpHeaders } from 'node:http'

type GuardConfig = { host: string; allowedOrigins: readonly string[] }

/** Returns the host name of a Host header, without port and brackets; null if there is none. */
function hostName(header: string | undefined): string | null {
  if (!header || !URL.canParse(`http://${header}`)) return null
  return new URL(`http://${header}`).hostname.replace(/^\[(.*)\]$/, '$1')
}

/**
 * Returns the reason to reject the request, or null. Any IP address is accepted as Host, because an address cannot be
 * rebound; a name must be localhost, a subdomain of it, HOST, or the host of an allowed origin.
 */
export function rejectionReason(headers: IncomingHttpHeaders, { host, allowedOrigins }: GuardConfig): string | null {
  const name = hostName(headers.host)
  const isAllowed =
    name !== null
    && (isIP(name) !== 0
      || name === 'localhost'
      || name.endsWith('.localhost')
      || name === host
      || allowedOrigins.some((origin) => new URL(origin).hostname === name))
  if (!isAllowed) {
    return `Host ${JSON.stringify(headers.host ?? '')} is not allowed: add its origin to ALLOWED_ORIGINS.`
  }
  const { origin } = headers
  if (origin === undefined || allowedOrigins.includes(origin)) return null
  if (origin === `http://${headers.host}` || origin === `https://${headers.host}`) return null
  return `Origin ${JSON.stringify(origin)} is not allowed: add it to ALLOWED_ORIGINS.`
}
