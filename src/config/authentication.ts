// The settings of client authentication.

import { z } from 'zod'
import { oneOf, url, whole } from '../runtime/fields.ts'

/** Minimum length of an HS256 secret, in bytes: the length of the hash (RFC 7518 §3.2). */
const SECRET_BYTES = 32
const MAX_TOLERANCE_SECONDS = 300

const claim = z.string().regex(/^\S{1,200}$/, 'must be the name of a claim, without spaces')
const text = z.string().max(200, 'must be at most 200 characters')

export const authenticationVariables = {
  AUTH_MODE: oneOf('none', 'keys', 'jwt')
    .prefault('none')
    .describe(
      'How clients are authenticated: `keys` (API keys), `jwt` (API keys and JSON Web Tokens), or `none`. On addresses '
        + 'other than loopback, `none` requires `ALLOW_UNAUTHENTICATED=1`.',
    ),
  JWT_SECRET: z
    .string()
    .refine((secret) => Buffer.byteLength(secret) >= SECRET_BYTES, `must have at least ${SECRET_BYTES} bytes`)
    .optional()
    .describe(
      `Secret with which the issuer signs tokens with HS256, at least ${SECRET_BYTES} bytes. \`AUTH_MODE=jwt\` `
        + 'requires either this or `JWKS_URL`.',
    ),
  JWKS_URL: url('https', 'http').describe(
    "URL of the issuer's JSON Web Key Set, for tokens signed with RS256, ES256 or EdDSA. The keys are fetched again "
      + 'when the issuer rotates them.',
  ),
  JWT_ISSUER: text.optional().describe('Value that the claim `iss` must have. Required by `AUTH_MODE=jwt`.'),
  JWT_AUDIENCE: text.prefault('colloquy').describe('Value that the claim `aud` must have or contain.'),
  JWT_CLOCK_TOLERANCE_SECONDS: whole(0, MAX_TOLERANCE_SECONDS, 10).describe(
    "Accepted difference between the issuer's clock and the server's clock, in seconds; at most "
      + `${MAX_TOLERANCE_SECONDS}.`,
  ),
  JWT_CLAIM_TENANT: claim.prefault('tenant').describe('Claim that names the tenant.'),
  JWT_CLAIM_ACTOR: claim.prefault('sub').describe('Claim that names the actor.'),
  JWT_CLAIM_KIND: claim
    .prefault('kind')
    .describe('Claim with the kind of the actor: `HUMAN`, `AGENT` or `TOOL`. Without the claim: `HUMAN`.'),
  JWT_CLAIM_RIGHTS: claim
    .prefault('rights')
    .describe(
      'Claim with the rights: a list, or words separated by spaces. Unknown rights are ignored. Without the claim: '
        + '`read` and `write`.',
    ),
  JWT_TENANT: text
    .min(1)
    .optional()
    .describe('Tenant of tokens without the tenant claim. Unset: such tokens are refused.'),
  FIRST_KEY_FILE: z
    .string()
    .optional()
    .describe(
      'File to which the server writes the first API key when it starts. The key is for the tenant `default` and the '
        + 'actor `admin`, and has all rights. It is created only if the tenant has no key. Unset: no key is created.',
    ),
}

const environment = z.object(authenticationVariables)
type Environment = z.output<typeof environment>

/** Returns a problem, as [variable, problem], for each setting that is missing, unused or contradictory. */
function authenticationProblems(env: Environment): [string, string][] {
  const { AUTH_MODE, JWT_SECRET, JWKS_URL, JWT_ISSUER, FIRST_KEY_FILE } = env
  const problems: [string, string][] = []
  if (AUTH_MODE === 'none' && FIRST_KEY_FILE) problems.push(['FIRST_KEY_FILE', 'requires AUTH_MODE=keys or jwt'])
  if (AUTH_MODE !== 'jwt') {
    const unused = Object.entries({ JWT_SECRET, JWKS_URL, JWT_ISSUER }).filter(([, value]) => value !== undefined)
    return [...problems, ...unused.map(([name]): [string, string] => [name, 'requires AUTH_MODE=jwt'])]
  }
  if (!JWT_SECRET && !JWKS_URL) problems.push(['AUTH_MODE', 'requires JWT_SECRET or JWKS_URL'])
  if (JWT_SECRET && JWKS_URL) problems.push(['JWKS_URL', 'must not be set together with JWT_SECRET'])
  if (!JWT_ISSUER) problems.push(['JWT_ISSUER', 'must be set, because AUTH_MODE is jwt'])
  return problems
}

/** The check of the combination. */
export const authenticationCheck = {
  variables: ['AUTH_MODE', 'JWT_SECRET', 'JWKS_URL', 'JWT_ISSUER'],
  problems: authenticationProblems,
}

/** Settings for the verification of JSON Web Tokens, and the names of the claims that identify the principal. */
export type JwtSettings = {
  /** The HS256 secret, or the URL of the JSON Web Key Set for the asymmetric algorithms. */
  key: { secret: string } | { jwksUrl: string }
  issuer: string
  audience: string
  clockToleranceSeconds: number
  claims: { tenant: string; actor: string; kind: string; rights: string }
  /** Tenant of tokens without the tenant claim; null if such tokens are refused. */
  tenant: string | null
}

export type Authentication = {
  /** Whether clients must authenticate. */
  isRequired: boolean
  /** Null if only API keys are accepted. */
  jwt: JwtSettings | null
}

/** Returns the settings of an environment that has no problems. */
export function authenticationOf(env: Environment): Authentication {
  const key = env.JWT_SECRET ? { secret: env.JWT_SECRET } : { jwksUrl: env.JWKS_URL ?? '' }
  const jwt: JwtSettings = {
    key,
    issuer: env.JWT_ISSUER ?? '',
    audience: env.JWT_AUDIENCE,
    clockToleranceSeconds: env.JWT_CLOCK_TOLERANCE_SECONDS,
    claims: {
      tenant: env.JWT_CLAIM_TENANT,
      actor: env.JWT_CLAIM_ACTOR,
      kind: env.JWT_CLAIM_KIND,
      rights: env.JWT_CLAIM_RIGHTS,
    },
    tenant: env.JWT_TENANT ?? null,
  }
  return { isRequired: env.AUTH_MODE !== 'none', jwt: env.AUTH_MODE === 'jwt' ? jwt : null }
}
