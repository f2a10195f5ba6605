// The token of an API key: `colloquy_`, the ULID of the key's id, `_`, and a secret of 256 random bits. Creates and
// parses tokens, and decides which principal a key authenticates. Pure, except for the random bits.

import { createHash, randomBytes } from 'node:crypto'
import type { FoundApiKey, PresentedKey } from '../../../store/sql/trust/api-key/find-api-keys.ts'
import { RIGHTS, type Principal, type Right } from '../../kernel/rights/principal.ts'

/** Format of a token. The prefix lets secret scanners recognise tokens. */
const TOKEN = /^colloquy_([0-9A-HJKMNP-TV-Z]{26})_([\w-]{43})$/
const SECRET_BYTES = 32

export type Token = PresentedKey

/**
 * Returns the hash that is stored in place of the secret. One round of SHA-256 suffices, because 256 random bits cannot
 * be guessed. Passwords need slow hashes because they can be.
 */
const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** Creates the token of a new key, or a new token of a rotated one. */
export function newToken(keyId: string): { token: string; secretHash: Buffer } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  return { token: `colloquy_${keyId.replace('key_', '')}_${secret}`, secretHash: hashOf(secret) }
}

/** Returns the key's id and the hash of the secret; null for a text that is not a token. */
export function readToken(text: string): Token | null {
  const [, ulid, secret] = TOKEN.exec(text) ?? []
  return ulid === undefined ? null : { keyId: `key_${ulid}`, secretHash: hashOf(secret!) }
}

/** Whether the text has the prefix of a token. */
export const looksLikeToken = (text: string): boolean => text.startsWith('colloquy_')

/** Why a token authenticates no principal. */
export type TokenProblem = 'UNKNOWN' | 'REVOKED' | 'EXPIRED'

/** Returns the name of an API key in the audit log. */
export const credentialOf = (keyId: string): string => `key:${keyId.replace('key_', '')}`

/** Returns the id of the API key that `credentialOf` named; null for the name of another credential. */
export const keyIdOf = (credential: string): string | null =>
  credential.startsWith('key:') ? credential.replace('key:', 'key_') : null

const isRight = (text: string): text is Right => (RIGHTS as readonly string[]).includes(text)

/**
 * Returns the principal that the key authenticates, or the reason that it authenticates none.
 * @param key undefined if no key has the id and the secret
 * @param now in ms since 1970
 */
export function principalOf(key: FoundApiKey | undefined, now: number): Principal | TokenProblem {
  if (!key) return 'UNKNOWN'
  const { expiresAt } = key
  if (key.revokedAt) return 'REVOKED'
  if (expiresAt && expiresAt.getTime() <= now) return 'EXPIRED'
  const { id, tenant, actor, kind, rights, conversations } = key
  return {
    tenant,
    actor,
    kind,
    rights: new Set(rights.filter(isRight)),
    conversations: conversations && new Set(conversations),
    credential: credentialOf(id),
    expiresAt,
  }
}
