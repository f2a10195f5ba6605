// Verifies JSON Web Tokens, and maps their claims to a principal. The algorithms are fixed by the kind of the key, so a
// token can neither select `none` nor use a public key as the secret of HS256.

import { hash } from 'node:crypto'
import { createRemoteJWKSet, customFetch, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose'
import { z } from 'zod'
import type { Clock } from '../../runtime/clock.ts'
import type { Authentication } from '../../config/authentication.ts'
import { name } from '../../domain/kernel/input.ts'
import { RIGHTS, type Principal, type Right } from '../../domain/kernel/rights/principal.ts'
import { Unavailable } from '../../errors.ts'

export type JwtSettings = NonNullable<Authentication['jwt']>

const SYMMETRIC = ['HS256']
const ASYMMETRIC = ['RS256', 'ES256', 'EdDSA']

/** Time after which the key set is fetched again, ms. A key that the issuer has withdrawn is accepted until then. */
const KEYS_LIFE_MS = 10 * 60_000
/** Minimum time between fetches that tokens with an unknown key cause, ms. */
const UNKNOWN_KEY_MS = 30_000
/** Time limit of a fetch of the key set, ms. */
const FETCH_MS = 5_000
/** Time after a failed fetch during which tokens are refused without another fetch, ms. */
const RETRY_MS = 2_000

/** Rights of a token without the claim for rights. */
const DEFAULT_RIGHTS: readonly Right[] = ['read', 'write']

/** 9999-12-31T23:59:59Z, the last second that every date format of the API can express, in s since 1970. */
const LAST_SECOND = 253_402_300_799
/** Maximum length of a token's id in the audit log. A longer one is replaced by a hash of the token. */
const MAX_TOKEN_ID = 200

const kinds = z
  .string()
  .transform((kind) => kind.toUpperCase())
  .pipe(z.enum(['HUMAN', 'AGENT', 'TOOL']))
const rightWords = z.union([z.string().transform((words) => words.split(/\s+/)), z.array(z.string())])
const time = z.number().min(0).max(LAST_SECOND)

/** The token is invalid or expired. The message names the reason. */
export class InvalidToken extends Error {
  /** The principal of a valid token that has expired; null for other tokens. */
  readonly expired: Principal | null

  constructor(message: string, expired: Principal | null = null) {
    super(message)
    this.expired = expired
  }
}

const UNREACHABLE = 'The keys of the issuer of tokens cannot be fetched. Try again later.'

/** Returns a `fetch` that fails immediately, without a request, for RETRY_MS after a failure. */
function fetchWithPause({ performance }: Clock): typeof fetch {
  let failedAt = -Infinity
  return async (...args) => {
    if (performance.now() - failedAt < RETRY_MS) throw new Unavailable(UNREACHABLE)
    try {
      const response = await fetch(...args)
      if (response.status !== 200) failedAt = performance.now()
      return response
    } catch (error) {
      failedAt = performance.now()
      throw error
    }
  }
}

/** Returns the function that finds the key of a token. @throws Unavailable if the key set cannot be fetched */
function remoteKeys(jwksUrl: string, clock: Clock): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(new URL(jwksUrl), {
    timeoutDuration: FETCH_MS,
    cooldownDuration: UNKNOWN_KEY_MS,
    cacheMaxAge: KEYS_LIFE_MS,
    [customFetch]: fetchWithPause(clock),
  })
  const isAboutToken = (error: unknown) =>
    error instanceof errors.JWKSNoMatchingKey
    || error instanceof errors.JWKSMultipleMatchingKeys
    || error instanceof errors.JOSENotSupported
  return async (header, token) => {
    try {
      return await keys(header, token)
    } catch (error) {
      throw isAboutToken(error) ? error : new Unavailable(UNREACHABLE)
    }
  }
}

/** Returns the reason to refuse a token, for the client. It quotes nothing from the token. */
function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired.'
  if (error instanceof errors.JWTClaimValidationFailed) {
    return `The claim ${JSON.stringify(error.claim)} of the token is missing or not accepted.`
  }
  return 'The token is not valid.'
}

const claimOf = (payload: JWTPayload, claim: string): unknown =>
  Object.hasOwn(payload, claim) ? payload[claim] : undefined

const refused = (claim: string) =>
  new InvalidToken(`The claim ${JSON.stringify(claim)} of the token is missing or not accepted.`)

/**
 * Returns the claim; `otherwise` if the token does not have it. A claim that is null is malformed: it must not get the
 * rights or the tenant of a missing one.
 * @throws InvalidToken if the claim is malformed, or missing without another value
 */
function parsed<T>(schema: z.ZodType<T>, payload: JWTPayload, claim: string, otherwise?: unknown): T {
  const value = claimOf(payload, claim)
  const result = schema.safeParse(value === undefined ? otherwise : value)
  if (!result.success) throw refused(claim)
  return result.data
}

/** Returns the principal of the claims. @throws InvalidToken if a claim is missing or not accepted */
function principalOfClaims(payload: JWTPayload, settings: JwtSettings, token: string): Principal {
  const { claims, tenant, clockToleranceSeconds } = settings
  const expiry = parsed(time, payload, 'exp') + clockToleranceSeconds
  for (const claim of ['nbf', 'iat']) parsed(time.optional(), payload, claim)
  const id = parsed(z.string().optional(), payload, 'jti')
  const words = parsed(rightWords, payload, claims.rights, DEFAULT_RIGHTS)
  return {
    tenant: parsed(name, payload, claims.tenant, tenant),
    actor: parsed(name, payload, claims.actor),
    kind: parsed(kinds, payload, claims.kind, 'HUMAN'),
    rights: new Set(RIGHTS.filter((right) => words.includes(right))),
    conversations: null,
    credential: `jwt:${id === undefined || id.length > MAX_TOKEN_ID ? digest(token).slice(0, 16) : id}`,
    expiresAt: new Date(Math.min(expiry, LAST_SECOND) * 1000),
  }
}

const digest = (token: string) => hash('sha256', token, 'hex')

/** Returns a function that verifies a token. It throws InvalidToken, and Unavailable if it cannot fetch the keys. */
export function createJwtVerifier(settings: JwtSettings, clock: Clock): (token: string) => Promise<Principal> {
  const { key, issuer, audience, clockToleranceSeconds: clockTolerance } = settings
  const options = { issuer, audience, clockTolerance, requiredClaims: ['exp'] }
  const secret = 'secret' in key ? Buffer.from(key.secret) : null
  const keys = 'secret' in key ? null : remoteKeys(key.jwksUrl, clock)
  return async (token) => {
    const now = { ...options, currentDate: new clock.Date() }
    try {
      const { payload } = keys
        ? await jwtVerify(token, keys, { ...now, algorithms: ASYMMETRIC })
        : await jwtVerify(token, secret!, { ...now, algorithms: SYMMETRIC })
      return principalOfClaims(payload, settings, token)
    } catch (error) {
      if (error instanceof Unavailable || error instanceof InvalidToken) throw error
      // jose checks the signature and the other claims before the expiry.
      const payload = error instanceof errors.JWTExpired ? error.payload : null
      throw new InvalidToken(reasonOf(error), payload && principalOfClaims(payload, settings, token))
    }
  }
}
