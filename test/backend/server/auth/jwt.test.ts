// JSON Web Tokens: the claims that name a principal, and the key set of an issuer that rotates its keys or is down.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { loadConfig } from '../../../../src/config/config.ts'
import { Unavailable } from '../../../../src/errors.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { createJwtVerifier, InvalidToken } from '../../../../src/server/auth/jwt.ts'
import { claimsOf, ISSUER, SECRET, signWithSecret, startIssuer, type Issuer } from '../../../support/tokens.ts'

const settings = (env: Record<string, string>) =>
  loadConfig({ AUTH_MODE: 'jwt', JWT_ISSUER: ISSUER, ...env }).authentication.jwt!
const verifierOf = (env: Record<string, string> = {}) =>
  createJwtVerifier(settings({ JWT_SECRET: SECRET, ...env }), systemClock)
const now = () => Math.floor(Date.now() / 1000)

describe('the principal of a token', () => {
  it('is read from the claims, with defaults for missing claims', async () => {
    const exp = now() + 60
    const token = await signWithSecret(claimsOf('acme', { exp, jti: 'one' }))
    expect(await verifierOf()(token)).toEqual({
      tenant: 'acme',
      actor: 'ada',
      kind: 'HUMAN',
      rights: new Set(['read', 'write']),
      conversations: null,
      credential: 'jwt:one',
      expiresAt: new Date((exp + 10) * 1000),
    })
  })

  it('is read from claims with the configured names', async () => {
    const verify = verifierOf({
      JWT_CLAIM_TENANT: 'https://acme.example/org',
      JWT_CLAIM_ACTOR: 'email',
      JWT_CLAIM_KIND: 'type',
      JWT_CLAIM_RIGHTS: 'scope',
    })
    const claims = { 'https://acme.example/org': 'org', email: 'a@b', type: 'tool', scope: 'openid erase read' }
    expect(await verify(await signWithSecret(claimsOf('acme', claims)))).toMatchObject({
      tenant: 'org',
      actor: 'a@b',
      kind: 'TOOL',
      rights: new Set(['read', 'erase']),
    })
  })

  it('names the credential without quoting the token, if the token has no id', async () => {
    const token = await signWithSecret(claimsOf('acme'))
    const { credential } = await verifierOf()(token)
    expect(credential).toMatch(/^jwt:[\da-f]{16}$/)
  })

  it.each([
    ['an empty list of rights', { rights: [] }, new Set()],
    ['an empty text of rights', { rights: '' }, new Set()],
    ['rights as a list', { rights: ['operate', 'root'] }, new Set(['operate'])],
    ['rights as words', { rights: ' operate  root ' }, new Set(['operate'])],
  ])('with %s has only the known rights', async (_, claims, rights) => {
    expect((await verifierOf()(await signWithSecret(claimsOf('acme', claims)))).rights).toEqual(rights)
  })

  const LAST = 253_402_300_799
  it.each<[claim: string, values: unknown[]]>([
    ['rights', [null, 7, true, { read: true }, [7], ['read', null], [['read']]]],
    ['kind', [null, 7, '', 'GOD', ['HUMAN'], { toUpperCase: 'HUMAN' }]],
    ['sub', [null, 7, '', ['ada'], { $ne: '' }, 'x'.repeat(201), 'a\u0000b']],
    ['tenant', [null, 7, '', ['acme'], { $ne: '' }, 'x'.repeat(201)]],
    ['exp', [null, '9999999999', true, [LAST], 1e20, LAST + 1, -1e20, -1]],
    ['nbf', [null, '0', true, -1, -1e20, LAST + 1]],
    ['iat', [null, '0', true, -1, -1e20, LAST + 1, 1e20]],
    ['jti', [null, 7, ['one'], {}]],
  ])('is not read from a token with a malformed claim %s', async (claim, values) => {
    for (const value of values) {
      const token = await signWithSecret(claimsOf('acme', { [claim]: value }))
      const verified = verifierOf({ JWT_TENANT: 'acme' })(token)
      await expect(verified, JSON.stringify(value)).rejects.toThrow(InvalidToken)
      await expect(verified, JSON.stringify(value)).rejects.toThrow(
        `The claim "${claim}" of the token is missing or not`,
      )
    }
  })

  it('expires at the last second of the year 9999 at the latest', async () => {
    const token = await signWithSecret(claimsOf('acme', { exp: LAST, iat: 0, nbf: 0.5 }))
    expect((await verifierOf({ JWT_CLOCK_TOLERANCE_SECONDS: '0' })(token)).expiresAt).toEqual(new Date(LAST * 1000))
  })

  it('takes no claim from the prototype of an object', async () => {
    const verify = verifierOf({ JWT_CLAIM_TENANT: 'constructor', JWT_TENANT: 'acme' })
    expect((await verify(await signWithSecret(claimsOf('other')))).tenant).toBe('acme')
  })

  it('is read from an expired token within the clock tolerance, and not later', async () => {
    const verify = verifierOf({ JWT_CLOCK_TOLERANCE_SECONDS: '30' })
    await verify(await signWithSecret(claimsOf('acme', { exp: now() - 20 })))
    await expect(verify(await signWithSecret(claimsOf('acme', { exp: now() - 40 })))).rejects.toThrow(InvalidToken)
  })
})

describe('the key set of an issuer', () => {
  let issuer: Issuer
  beforeEach(async () => {
    issuer = await startIssuer()
  })
  afterEach(() => {
    vi.useRealTimers()
    issuer.close()
  })
  const open = () => createJwtVerifier(settings({ JWKS_URL: issuer.url }), systemClock)
  const token = () => issuer.sign(claimsOf('acme'))
  const pass = (ms: number) => vi.setSystemTime(Date.now() + ms)

  it('is fetched once, and again when a token has a new key', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const verify = open()
    for (let n = 0; n < 3; n++) await verify(await token())
    const old = await token()
    await issuer.rotate('RS256')
    pass(31_000)
    await verify(await token())
    expect(issuer.fetches).toBe(2)
    // The new key set lacks the old key.
    await expect(verify(old)).rejects.toThrow(InvalidToken)
  })

  it('is fetched at most every 30 s because of unknown keys', async () => {
    const verify = open()
    await verify(await token())
    for (let n = 0; n < 20; n++) {
      const unknown = await issuer.sign(claimsOf('acme'), { kid: `other-${n}` })
      await expect(verify(unknown)).rejects.toThrow(InvalidToken)
    }
    expect(issuer.fetches).toBe(1)
  })

  it('causes Unavailable, not InvalidToken, if it cannot be fetched, and is not fetched again at once', async () => {
    issuer.answerWith(500)
    const verify = open()
    for (let n = 0; n < 20; n++) await expect(verify(await token())).rejects.toThrow(Unavailable)
    expect(issuer.fetches).toBe(1)
  })
})
