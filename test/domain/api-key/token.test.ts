// Tokens of API keys: their form, and what a presented token authenticates at a given time.

import { describe, expect, it } from 'vitest'
import { newToken, principalOf, readToken } from '../../../src/domain/api-key/token.ts'
import { newId } from '../../../src/domain/id.ts'
import type { StoredApiKey } from '../../../src/store/sql/api-key/find-api-keys.ts'

const NOW = Date.parse('2026-11-27T12:00:00Z')
const at = (ms: number) => new Date(NOW + ms)
const keyId = newId('key')
const current = newToken(keyId)
const previous = newToken(keyId)
const other = newToken(keyId)

const stored = (more: Partial<StoredApiKey> = {}): StoredApiKey => ({
  id: keyId,
  tenant: 'acme',
  name: 'robot',
  actor: 'bot',
  kind: 'AGENT',
  rights: ['read', 'a right of a newer version'],
  conversations: null,
  version: 1,
  createdAt: at(-1),
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: null,
  secretHash: current.secretHash,
  previousHash: null,
  previousUntil: null,
  ...more,
})

describe('a token', () => {
  it('contains the id of its key and 256 random bits, and is read back', () => {
    expect(current.token).toMatch(/^colloquy_[0-9A-Z]{26}_[\w-]{43}$/)
    expect(current.token).not.toBe(other.token)
    expect(readToken(current.token)).toEqual({ keyId, secretHash: current.secretHash })
  })

  it.each([
    ['empty', ''],
    ['cut', current.token.slice(0, -1)],
    ['longer', `${current.token}x`],
    ['with another prefix', current.token.replace('colloquy', 'sk')],
    ['with a character that no id has', current.token.replace(/_./, '_U')],
    ['with a line break', `${current.token}\n`],
  ])('that is %s is no token', (_, text) => {
    expect(readToken(text)).toBeNull()
  })
})

describe('a principal', () => {
  it('has the tenant, actor, kind, known rights and conversations of the key', () => {
    expect(principalOf(stored({ conversations: ['conv_1'], expiresAt: at(1) }), current.secretHash, NOW)).toEqual({
      tenant: 'acme',
      actor: 'bot',
      kind: 'AGENT',
      rights: new Set(['read']),
      conversations: new Set(['conv_1']),
      credential: `key:${keyId.slice(4)}`,
      expiresAt: at(1),
    })
  })

  const rotated = { previousHash: previous.secretHash, previousUntil: at(1_000) }
  it.each<[string, StoredApiKey | undefined, Buffer, number, string | null]>([
    ['no key', undefined, current.secretHash, 0, 'UNKNOWN'],
    ['another secret', stored(), other.secretHash, 0, 'UNKNOWN'],
    ['another secret of a revoked key', stored({ revokedAt: at(-1) }), other.secretHash, 0, 'UNKNOWN'],
    ['a revoked key', stored({ revokedAt: at(-1) }), current.secretHash, 0, 'REVOKED'],
    ['a key that expires now', stored({ expiresAt: at(0) }), current.secretHash, 0, 'EXPIRED'],
    ['a key that expires later', stored({ expiresAt: at(1) }), current.secretHash, 0, null],
    ['the previous secret during the overlap', stored(rotated), previous.secretHash, 999, null],
    ['the previous secret after the overlap', stored(rotated), previous.secretHash, 1_000, 'EXPIRED'],
    ['the current secret after the overlap', stored(rotated), current.secretHash, 1_000, null],
    [
      'the previous secret of a revoked key',
      stored({ ...rotated, revokedAt: at(0) }),
      previous.secretHash,
      0,
      'REVOKED',
    ],
  ])('of %s', (_, key, secretHash, ms, problem) => {
    const found = principalOf(key, secretHash, NOW + ms)
    if (problem) expect(found).toBe(problem)
    else expect(found).toMatchObject({ actor: 'bot' })
  })

  it('with the previous secret expires when the overlap or the key ends', () => {
    const expiryOf = (more: Partial<StoredApiKey>) =>
      (principalOf(stored({ ...rotated, ...more }), previous.secretHash, NOW) as { expiresAt: Date }).expiresAt
    expect(expiryOf({})).toEqual(at(1_000))
    expect(expiryOf({ expiresAt: at(500) })).toEqual(at(500))
    expect(expiryOf({ expiresAt: at(5_000) })).toEqual(at(1_000))
  })
})
