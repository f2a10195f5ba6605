// The refusals of requests whose credential is missing or invalid, or whose names differ from those of the credential.

import type { TokenProblem } from '../../domain/trust/api-key/token.ts'
import type { Refusal } from '../http/refuse.ts'

/** Start of the header WWW-Authenticate (RFC 6750 §3). */
const CHALLENGE = 'Bearer realm="colloquy"'

export const unauthenticated = (message: string): Refusal => ({
  status: 401,
  code: 'UNAUTHENTICATED',
  message,
  challenge: `${CHALLENGE}, error="invalid_token"`,
})

export const NO_TOKEN: Refusal = {
  ...unauthenticated('Authenticate with an API key or a token: send "Authorization: Bearer TOKEN".'),
  challenge: CHALLENGE,
}
export const INVALID_TOKEN = unauthenticated('The token is not valid.')
export const EXPIRED = unauthenticated('The token has expired. Authenticate with a new one.')

/** The refusal for each problem of an API key. */
export const OF_PROBLEM: Record<TokenProblem, Refusal> = {
  UNKNOWN: unauthenticated('The API key is not valid.'),
  REVOKED: unauthenticated('The API key was revoked.'),
  EXPIRED: unauthenticated('The API key has expired.'),
}

export const unavailable = (message: string): Refusal => ({ status: 503, code: 'UNAVAILABLE', message, retryAfter: 1 })

const forbidden = (message: string): Refusal => ({ status: 403, code: 'FORBIDDEN', message })

export const OTHER_TENANT = forbidden('x-tenant differs from the tenant of your token. Omit x-tenant.')
export const OTHER_ACTOR = forbidden(
  'x-actor differs from the actor of your token. Omit x-actor; to act as another actor, pass `as`.',
)
export const OTHER_PRINCIPAL = forbidden(
  'The new token has another tenant, actor or kind, or fewer rights than the first one. Open another socket.',
)
