// The token of an API key: `colloquy_`, the ULID of the key's id, and a secret of 256 random bits. Decides what a token
// that was presented authenticates. Pure, except for the random bits.

import { createHash, randomBytes } from 'node:crypto'
import type { FoundApiKey, PresentedKey } from '../../store/sql/api-key/find-api-keys.ts'
import { RIGHTS, type Principal, type Right } from '../principal.ts'

/** Begins every token, so that secret scanners recognise one. */
const TOKEN = /^colloquy_([0-9A-HJKMNP-TV-Z]{26})_([\w-]{43})$/
const SECRET_BYTES = 32

export type Token = PresentedKey

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

/** Returns the name of an API key as a credential, in the audit log. */
export const credentialOf = (keyId: string): string => `key:${keyId.replace('key_', '')}`

const isRight = (text: string): text is Right => (RIGHTS as readonly string[]).includes(text)

/**
 * Returns the principal that a key authenticates whose secret the client has, or the problem.
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
