// The token of an API key: `colloquy_`, the ULID of the key's id, and a secret of 256 random bits. Decides what a token
// that was presented authenticates. Pure, except for the random bits.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { StoredApiKey } from '../../store/sql/api-key/find-api-keys.ts'
import { RIGHTS, type Principal, type Right } from '../principal.ts'

/** Begins every token, so that secret scanners recognise one. */
const TOKEN = /^colloquy_([0-9A-HJKMNP-TV-Z]{26})_([\w-]{43})$/
const SECRET_BYTES = 32

export type Token = { keyId: string; secretHash: Buffer }

/**
 * Returns the hash that is stored in place of the secret. One round of SHA-256 suffices: nobody can guess 256 random
 * bits, which is what slow hashes make harder for passwords.
 */
const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** Creates the token of a new key, or a new token of a rotated one. */
export function newToken(keyId: string): { token: string; secretHash: Buffer } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  return { token: `colloquy_${keyId.replace('key_', '')}_${secret}`, secretHash: hashOf(secret) }
}

/** Returns the key's id and the hash of the secret; null for a text that is no token of a key. */
export function readToken(text: string): Token | null {
  const [, ulid, secret] = TOKEN.exec(text) ?? []
  return ulid === undefined ? null : { keyId: `key_${ulid}`, secretHash: hashOf(secret!) }
}

/** Whether the text claims to be the token of an API key. */
export const looksLikeToken = (text: string): boolean => text.startsWith('colloquy_')

/** Why a token authenticates nobody. */
export type TokenProblem = 'UNKNOWN' | 'REVOKED' | 'EXPIRED'

const isRight = (text: string): text is Right => (RIGHTS as readonly string[]).includes(text)

const earlier = (a: Date | null, b: Date | null) => (a && b ? (a < b ? a : b) : (a ?? b))

/**
 * Returns the principal that the secret authenticates, or the problem. A revoked or expired key is reported only to a
 * client that has the secret.
 * @param key undefined if no key has the id
 * @param now in ms since 1970
 */
export function principalOf(key: StoredApiKey | undefined, secretHash: Buffer, now: number): Principal | TokenProblem {
  if (!key) return 'UNKNOWN'
  const isCurrent = timingSafeEqual(secretHash, key.secretHash)
  const isPrevious = key.previousHash !== null && timingSafeEqual(secretHash, key.previousHash)
  if (!isCurrent && !isPrevious) return 'UNKNOWN'
  if (key.revokedAt) return 'REVOKED'
  const expiresAt = isCurrent ? key.expiresAt : earlier(key.expiresAt, key.previousUntil)
  if (expiresAt && expiresAt.getTime() <= now) return 'EXPIRED'
  const { id, tenant, actor, kind, rights, conversations } = key
  return {
    tenant,
    actor,
    kind,
    rights: new Set(rights.filter(isRight)),
    conversations: conversations && new Set(conversations),
    credential: `key:${id.replace('key_', '')}`,
    expiresAt,
  }
}
