// Rejects requests that web pages send without the server's consent: requests from pages of other origins, requests
// from pages whose host name resolves to this server's address (DNS rebinding), and requests that browsers send to any
// server without a CORS preflight (CSRF). The first two rules also apply to WebSocket upgrades.

import { isIP } from 'node:net'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { ACTOR, TENANT } from '../auth/names.ts'
import type { Refusal } from './refuse.ts'

type GuardConfig = { host: string; allowedOrigins: readonly string[] }

/**
 * The refusal of a request because of its Host or Origin. `origin` is the value to add to ALLOWED_ORIGINS to accept the
 * request; null if no setting accepts it.
 */
export type OriginRefusal = Refusal & { origin: string | null }

/**
 * Returns the refusal of a request with several Host headers, or of an HTTP/1.1 request without one (RFC 9112 §3.2);
 * null for other requests. Node keeps the first of several Host headers, and a proxy may have used another one.
 */
export function hostRefusal({ rawHeaders, httpVersion }: IncomingMessage): Refusal | null {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return null
  const message = `The request has ${hosts === 0 ? 'no Host header' : `${hosts} Host headers`}. Send exactly one.`
  return { status: 400, code: 'BAD_REQUEST', message }
}

/** Returns the host name of a Host header, without port and brackets; null if there is none. */
function hostName(header: string | undefined): string | null {
  if (!header || !URL.canParse(`http://${header}`)) return null
  return new URL(`http://${header}`).hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Whether ALLOWED_ORIGINS may contain the text. It may not contain 'null', which many unrelated pages send. */
const isOrigin = (text: string) => URL.canParse(text) && new URL(text).host !== '' && !/[,\s]/.test(text)

function refusalOf(code: string, subject: string, origin: string | null, hint: string): OriginRefusal {
  const nextStep = origin === null ? hint : 'Add its origin to ALLOWED_ORIGINS.'
  return { status: 403, code, message: `${subject} is not allowed. ${nextStep}`, origin }
}

/**
 * Returns the refusal of a request because of its Host or Origin; null if both are accepted. Any IP address is accepted
 * as Host, because DNS rebinding needs a name. A name must be localhost, a subdomain of it, the setting HOST, or the
 * host of an allowed origin.
 */
export function originRefusal(
  headers: IncomingHttpHeaders,
  { host, allowedOrigins }: GuardConfig,
): OriginRefusal | null {
  const name = hostName(headers.host)
  const isAllowed =
    name !== null
    && (isIP(name) !== 0
      || name === 'localhost'
      || name.endsWith('.localhost')
      || name === host
      || allowedOrigins.some((origin) => new URL(origin).hostname === name))
  if (!isAllowed) {
    const own = name === null ? null : `http://${headers.host}`
    const subject = `Host ${JSON.stringify(headers.host ?? '')}`
    return refusalOf('HOST_NOT_ALLOWED', subject, own, 'Send the name or address of the server.')
  }
  const { origin } = headers
  if (origin === undefined || allowedOrigins.includes(origin)) return null
  if (origin === `http://${headers.host}` || origin === `https://${headers.host}`) return null
  const subject = `Origin ${JSON.stringify(origin)}`
  const hint = 'Serve the page from a web server, because a page from a file has no origin.'
  return refusalOf('ORIGIN_NOT_ALLOWED', subject, isOrigin(origin) ? origin : null, hint)
}

/** Content types that browsers send to other origins without a preflight. */
const SIMPLE_TYPES = /^\s*(application\/x-www-form-urlencoded|multipart\/form-data|text\/plain)/i
/** Headers that browsers send to other origins only after a preflight. */
const PREFLIGHTED = [ACTOR, TENANT, 'apollo-require-preflight']

/**
 * Returns the refusal of a request that a page of another origin could have sent without a preflight; null for any
 * other request. `originRefusal` has already checked the header Origin. Browsers set Origin and Sec-Fetch-Site; a page
 * cannot. The header Authorization is accepted only with a bearer token, because browsers send other credentials, such
 * as a stored password, automatically.
 */
export function forgeryRefusal(headers: IncomingHttpHeaders): Refusal | null {
  const type = headers['content-type']
  if (type && !SIMPLE_TYPES.test(type)) return null
  if (headers.origin !== undefined || headers['sec-fetch-site'] === 'same-origin') return null
  if (PREFLIGHTED.some((header) => headers[header] !== undefined)) return null
  if (/^bearer /i.test(headers.authorization ?? '')) return null
  const message =
    'The request could have been sent by a page of another site. '
    + `Add one of the headers ${PREFLIGHTED.join(', ')}, authorization (with a bearer token), `
    + 'or send the operation by POST with Content-Type: application/json.'
  return { status: 403, code: 'CSRF_HEADER_REQUIRED', message }
}

/**
 * Like forgeryRefusal, for the REST API. A page can send DELETE and PATCH to other origins only after a preflight, and
 * cannot read the answer of a GET, so a GET is checked only if a page has sent it.
 */
export function restForgeryRefusal(method: string | undefined, headers: IncomingHttpHeaders): Refusal | null {
  const isFromPage = !['none', undefined].includes(headers['sec-fetch-site'])
  return method === 'POST' || (method === 'GET' && isFromPage) ? forgeryRefusal(headers) : null
}

/** Maximum number of different refusals that are logged. */
const MAX_LOGGED = 100

type Log = { warn(details: object, message: string): void }

/** Returns a function that logs each refused origin or host once, with the setting that would accept it. */
export function createRefusalLog(log: Log, { allowedOrigins }: GuardConfig): (refusal: OriginRefusal) => void {
  const logged = new Set<string>()
  return ({ origin, message }) => {
    const key = origin ?? message
    if (logged.has(key) || logged.size >= MAX_LOGGED) return
    logged.add(key)
    if (origin === null) return log.warn({}, message)
    const setting = `ALLOWED_ORIGINS=${[...allowedOrigins, origin].join(',')}`
    log.warn({ origin }, `${message.replace(/ Add its origin.*/, '')} To allow it, set ${setting}`)
  }
}
