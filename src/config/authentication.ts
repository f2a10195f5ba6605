// The settings that say how clients are authenticated.

import { z } from 'zod'
import { oneOf, url, whole } from '../fields.ts'

/** Minimum length of the secret of HS256, in bytes: that of its hash (RFC 7518 §3.2). */
const SECRET_BYTES = 32

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
      `Secret with which the issuer signs tokens by HS256, at least ${SECRET_BYTES} bytes. \`AUTH_MODE=jwt\` requires `
        + 'either this or `JWKS_URL`.',
    ),
  JWKS_URL: url('https', 'http').describe(
    "URL of the issuer's JSON Web Key Set, for tokens signed by RS256, ES256 or EdDSA. The keys are fetched again when "
      + 'the issuer rotates them.',
  ),
  JWT_ISSUER: text.optional().describe('Value that the claim `iss` must have. Required by `AUTH_MODE=jwt`.'),
  JWT_AUDIENCE: text.prefault('colloquy').describe('Value that the claim `aud` must have or contain.'),
  JWT_CLOCK_TOLERANCE_SECONDS: whole(0, 300, 10).describe(
    "Accepted difference between the issuer's clock and this one, in seconds.",
  ),
  JWT_CLAIM_TENANT: claim.prefault('tenant').describe('Claim that names the tenant.'),
  JWT_CLAIM_ACTOR: claim.prefault('sub').describe('Claim that names the actor.'),
  JWT_CLAIM_KIND: claim
    .prefault('kind')
    .describe('Claim with the kind of the actor: `HUMAN` (also without the claim), `AGENT` or `TOOL`.'),
  JWT_CLAIM_RIGHTS: claim
    .prefault('rights')
    .describe(
      'Claim with the rights: a list, or a text separated by spaces. Other words are ignored. Without the claim: `read` '
        + 'and `write`.',
    ),
  JWT_TENANT: text
    .min(1)
    .optional()
    .describe('Tenant of the tokens without the claim of the tenant. Unset: such tokens are refused.'),
  FIRST_KEY_FILE: z
    .string()
    .optional()
    .describe(
      'File to which the server writes the first API key when it starts: of the tenant `default` and the actor `admin`, '
        + 'with all rights. Written only if the tenant has no key. Unset: no key is created.',
    ),
}

const environment = z.object(authenticationVariables)
type Environment = z.output<typeof environment>

/** The settings that are missing or contradict each other, by variable. */
export function authenticationProblems(env: Environment): [string, string][] {
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

/** How JSON Web Tokens are verified, and the claims that name whom they authenticate. */
export type JwtSettings = {
  /** The secret of HS256, or the URL of the keys for the asymmetric algorithms. */
  key: { secret: string } | { jwksUrl: string }
  issuer: string
  audience: string
  clockToleranceSeconds: number
  claims: { tenant: string; actor: string; kind: string; rights: string }
  /** Tenant of the tokens without the claim; null if they are refused. */
  tenant: string | null
}

export type Authentication = {
  /** Whether clients must authenticate. */
  isRequired: boolean
  /** Null if only API keys are accepted. */
  jwt: JwtSettings | null
}

/** The settings of an environment without problems. */
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
