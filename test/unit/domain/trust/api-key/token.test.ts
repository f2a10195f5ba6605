// Tokens of API keys: their format, and the principal or the problem that a found key yields at a given time.

import { describe, expect, it } from 'vitest'
import { newToken, principalOf, readToken } from '../../../../../src/domain/trust/api-key/token.ts'
import { newId } from '../../../../../src/domain/kernel/id.ts'
import type { FoundApiKey } from '../../../../../src/store/sql/trust/api-key/find-api-keys.ts'

const NOW = Date.parse('2026-11-27T12:00:00Z')
const at = (ms: number) => new Date(NOW + ms)
const keyId = newId('key')
const current = newToken(keyId)
const other = newToken(keyId)

const found = (more: Partial<FoundApiKey> = {}): FoundApiKey => ({
  id: keyId,
  tenant: 'acme',
  actor: 'bot',
  kind: 'AGENT',
  rights: ['read', 'a right of a newer version'],
  conversations: null,
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: null,
  ...more,
})

describe('a token', () => {
  it('contains the id of its key and 256 random bits, and is parsed to that id and the hash of the secret', () => {
    expect(current.token).toMatch(/^colloquy_[0-9A-Z]{26}_[\w-]{43}$/)
    expect(current.token).not.toBe(other.token)
    expect(readToken(current.token)).toEqual({ keyId, secretHash: current.secretHash })
  })

  it.each([
    ['an empty text', ''],
    ['a token without its last character', current.token.slice(0, -1)],
    ['a token with one more character', `${current.token}x`],
    ['a token with another prefix', current.token.replace('colloquy', 'sk')],
    ['a token with a character that no id has', current.token.replace(/_./, '_U')],
    ['a token with a line break at the end', `${current.token}\n`],
  ])('is not parsed from %s', (_, text) => {
    expect(readToken(text)).toBeNull()
  })
})

describe('a principal', () => {
  it('has the tenant, actor, kind, known rights and conversations of the key', () => {
    expect(principalOf(found({ conversations: ['conv_1'], expiresAt: at(1) }), NOW)).toEqual({
      tenant: 'acme',
      actor: 'bot',
      kind: 'AGENT',
      rights: new Set(['read']),
      conversations: new Set(['conv_1']),
      credential: `key:${keyId.slice(4)}`,
      expiresAt: at(1),
    })
  })

  it.each<[string, FoundApiKey | undefined, string | null]>([
    ['no key', undefined, 'UNKNOWN'],
    ['a revoked key', found({ revokedAt: at(-1) }), 'REVOKED'],
    ['a revoked key that has expired', found({ revokedAt: at(-1), expiresAt: at(-1) }), 'REVOKED'],
    ['a key that expires now', found({ expiresAt: at(0) }), 'EXPIRED'],
    ['a key that expires later', found({ expiresAt: at(1) }), null],
    ['a key without expiry', found(), null],
  ])('is returned for a key that is known, not revoked and not expired: %s', (_, key, problem) => {
    const principal = principalOf(key, NOW)
    if (problem) expect(principal).toBe(problem)
    else expect(principal).toMatchObject({ actor: 'bot' })
  })
})
