// Every transport refuses the same forged, expired and foreign tokens, and accepts the same valid ones.

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApiKey, revokeApiKey, rotateApiKey } from '../../../../src/domain/trust/api-key/api-key.ts'
import { newId } from '../../../../src/domain/kernel/id.ts'
import { backends, embedded } from '../../../support/backend.ts'
import { TRANSPORTS, type Outcome } from '../../../support/credentials.ts'
import { useServer } from '../../../support/server.ts'
import {
  AUDIENCE,
  claimsOf,
  ISSUER,
  SECRET,
  signWithSecret,
  startIssuer,
  unsigned,
  type Issuer,
} from '../../../support/tokens.ts'
import { SYSTEM } from '../../../../src/store/db/scope.ts'

const now = () => Math.floor(Date.now() / 1000)
const transports = Object.entries(TRANSPORTS)
const REFUSED = { status: 401, code: 'UNAUTHENTICATED' }

/** The outcome on a transport of a refusal that has this outcome over HTTP. */
const over = (transport: string, { status, code }: Outcome): Outcome =>
  transport.includes('WebSocket') ? { status: status === 503 ? 1013 : 4403 } : { status, code }

describe.each(backends)('a server with AUTH_MODE=jwt and a secret on $name', (backend) => {
  const server = useServer(backend, {
    AUTH_MODE: 'jwt',
    JWT_SECRET: SECRET,
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: AUDIENCE,
    ALLOWED_ORIGINS: 'https://app.example',
  })
  const admin = () => ({ tenant: 'acme', actor: 'admin' })
  let names = 0
  const newKey = (more: object = {}) =>
    createApiKey(server.deps, admin(), { name: `key ${++names}`, actor: 'ada', rights: ['read'], ...more })

  const attacks: Record<string, () => Promise<string | null> | string | null> = {
    'no token': () => null,
    garbage: () => 'garbage',
    'a token of three random parts': () => [1, 2, 3].map(() => randomBytes(20).toString('base64url')).join('.'),
    'an expired token': () => signWithSecret(claimsOf('acme', { exp: now() - 60 })),
    'a token that is not yet valid': () => signWithSecret(claimsOf('acme', { nbf: now() + 600 })),
    'a token without expiry': () => signWithSecret(claimsOf('acme', { exp: undefined })),
    'a token for another audience': () => signWithSecret(claimsOf('acme', { aud: 'other' })),
    'a token without audience': () => signWithSecret(claimsOf('acme', { aud: undefined })),
    'a token of another issuer': () => signWithSecret(claimsOf('acme', { iss: 'https://other.example' })),
    'a token with another secret': () => signWithSecret(claimsOf('acme'), 'x'.repeat(32)),
    'a token without signature': () => unsigned(claimsOf('acme')),
    'a token with another hash': () => signWithSecret(claimsOf('acme'), SECRET.repeat(3), 'HS512'),
    'a token without tenant': () => signWithSecret(claimsOf('acme', { tenant: undefined })),
    'a token without actor': () => signWithSecret(claimsOf('acme', { sub: undefined })),
    'a token with an actor that is too long': () => signWithSecret(claimsOf('acme', { sub: 'x'.repeat(201) })),
    'a token with a tenant that is no text': () => signWithSecret(claimsOf('acme', { tenant: { $ne: '' } })),
    'a token whose rights are no list of texts': () => signWithSecret(claimsOf('acme', { rights: { read: true } })),
    'a token that expires beyond any date': () => signWithSecret(claimsOf('acme', { exp: 1e20 })),
    'a token with an unknown kind': () => signWithSecret(claimsOf('acme', { kind: 'GOD' })),
    'an API key that does not exist': () =>
      `colloquy_${newId('key').slice(4)}_${randomBytes(32).toString('base64url')}`,
    'an API key with another secret': async () => {
      const { token } = await newKey()
      return token.slice(0, -43) + randomBytes(32).toString('base64url')
    },
    'an API key with the secret of another one': async () => {
      const [one, other] = [await newKey(), await newKey()]
      return one.token.slice(0, -43) + other.token.slice(-43)
    },
    'a truncated API key': async () => (await newKey()).token.slice(0, -1),
    'a revoked API key': async () => {
      const { apiKey, token } = await newKey()
      await revokeApiKey(server.deps, admin(), { id: apiKey.id })
      return token
    },
    'an expired API key': async () => {
      const { apiKey, token } = await newKey({ expiresAt: new Date(Date.now() + 60_000) })
      await server.deps.db
        .of(SYSTEM)
        .apiKey.update({ where: { id: apiKey.id }, data: { expiresAt: new Date(Date.now() - 1) } })
      return token
    },
    'the secret of an API key before its rotation': async () => {
      const { apiKey, token } = await newKey()
      await rotateApiKey(server.deps, admin(), { id: apiKey.id, expectedVersion: 1 })
      return token
    },
    'a token that is too long': () => 'x'.repeat(9_000),
  }

  describe.each(Object.entries(attacks))('refuses %s', (_, make) => {
    it('over each transport', async () => {
      const token = await make()
      for (const [name, send] of transports) {
        if (token !== null && token.length > 8_192 && name !== 'connectionParams of a WebSocket') continue
        expect(await send(server.url, token), name).toEqual(over(name, REFUSED))
      }
    })
  })

  it.each(transports)('accepts a token and an API key over %s', async (_, send) => {
    const viewer = { status: 200, tenant: 'acme', actor: 'ada' }
    const { token } = await newKey()
    expect(await send(server.url, await signWithSecret(claimsOf('acme')))).toEqual(viewer)
    expect(await send(server.url, token)).toEqual(viewer)
    expect(await send(server.url, token, { 'x-tenant': 'acme', 'x-actor': 'ada' })).toEqual(viewer)
  })

  it.each(transports)('refuses names that differ from the token over %s', async (name, send) => {
    const { token } = await newKey()
    const others: Record<string, string>[] = [{ 'x-tenant': 'other' }, { 'x-actor': 'bob' }]
    for (const names of others) {
      expect(await send(server.url, token, names)).toEqual(over(name, { status: 403, code: 'FORBIDDEN' }))
    }
  })

  it('records each use of a revoked or expired key in the audit log, with the key and the reason', async () => {
    const lines = async (actor: string) => {
      await server.deps.audit.flush()
      const rows = await server.deps.db.of(SYSTEM).auditLine.findMany({ where: { actor, verb: 'authenticate' } })
      return rows.map(({ credential, resources, outcome, count, details }) => {
        return { credential, resources, outcome, count, details }
      })
    }
    for (const [attack, reason] of Object.entries({
      'a revoked API key': 'revoked',
      'an expired API key': 'expired',
    })) {
      const actor = `user of ${attack}`
      const { apiKey, token } = await newKey({ actor, expiresAt: new Date(Date.now() + 60_000) })
      if (reason === 'revoked') await revokeApiKey(server.deps, admin(), { id: apiKey.id })
      else {
        const data = { expiresAt: new Date(Date.now() - 1) }
        await server.deps.db.of(SYSTEM).apiKey.update({ where: { id: apiKey.id }, data })
      }
      for (const [, send] of transports) await send(server.url, token)
      const all = await lines(actor)
      const credential = `key:${apiKey.id.slice(4)}`
      const line = { credential, resources: [apiKey.id], outcome: 'DENIED', details: JSON.stringify({ reason }) }
      for (const each of all) expect(each).toMatchObject(line)
      expect(all.reduce((sum, { count }) => sum + count, 0)).toBe(transports.length)
      await TRANSPORTS.GET!(server.url, token.slice(0, -43) + randomBytes(32).toString('base64url'))
      expect((await lines(actor)).reduce((sum, { count }) => sum + count, 0)).toBe(transports.length)
    }
  })

  it('records each use of an expired token in the audit log, but not of a forged one', async () => {
    const claims = claimsOf('acme', { sub: 'late', jti: 'token-1', exp: now() - 60 })
    const tokens = [await signWithSecret(claims), await signWithSecret(claims, 'x'.repeat(32)), unsigned(claims)]
    for (const token of tokens) for (const [, send] of transports) await send(server.url, token)
    await server.deps.audit.flush()
    const lines = await server.deps.db.of(SYSTEM).auditLine.findMany({ where: { actor: 'late' } })
    const details = JSON.stringify({ reason: 'expired' })
    for (const line of lines) {
      expect(line).toMatchObject({ verb: 'authenticate', credential: 'jwt:token-1', outcome: 'DENIED', details })
    }
    expect(lines.reduce((sum, { count }) => sum + count, 0)).toBe(transports.length)
  })

  it('reads no token from a URL', async () => {
    const { token } = await newKey()
    const search = new URLSearchParams({ query: '{ viewer { actor } }', token, authorization: `Bearer ${token}` })
    const response = await fetch(`${server.url}/graphql?${search}`, { headers: { 'apollo-require-preflight': '1' } })
    expect(response.status).toBe(401)
  })

  it('accepts the previous secret of a rotated key during the overlap, and the new one', async () => {
    const { apiKey, token } = await newKey()
    const rotation = { id: apiKey.id, expectedVersion: 1, overlapSeconds: 60 }
    const rotated = await rotateApiKey(server.deps, admin(), rotation)
    for (const each of [token, rotated.token]) {
      expect(await TRANSPORTS.GET!(server.url, each)).toMatchObject({ status: 200 })
    }
  })

  it('answers the preflight of a page that will send a token, and lets it read a refusal', async () => {
    const origin = 'https://app.example'
    const preflight = await fetch(`${server.url}/graphql`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe(origin)
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization')
    const refused = await fetch(`${server.url}/graphql?query={__typename}`, { headers: { origin } })
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, origin])
  })
})

describe.each([embedded])('a server with the key set of an issuer', (backend) => {
  let issuer: Issuer
  const env = { AUTH_MODE: 'jwt', JWKS_URL: '', JWT_ISSUER: ISSUER, JWT_TENANT: 'acme', JWT_CLAIM_RIGHTS: 'scope' }
  beforeAll(async () => {
    issuer = await startIssuer()
    env.JWKS_URL = issuer.url
  })
  afterAll(() => issuer.close())
  const server = useServer(backend, env)
  const claims = (more: object = {}) => claimsOf('acme', { tenant: undefined, ...more })

  it.each(['ES256', 'RS256', 'EdDSA'])('accepts a token with a signature by %s', async (alg) => {
    // A key set is fetched again only after 30 s, so each algorithm has an issuer of its own.
    const own = await startIssuer()
    await own.rotate(alg)
    const { createJwtVerifier } = await import('../../../../src/server/auth/jwt.ts')
    const { loadConfig } = await import('../../../../src/config/config.ts')
    const verify = createJwtVerifier(loadConfig({ ...env, JWKS_URL: own.url }).authentication.jwt!, server.deps.clock)
    const token = await own.sign(claims({ scope: 'openid read act-as', kind: 'agent', jti: 'one' }))
    expect(await verify(token)).toMatchObject({
      tenant: 'acme',
      actor: 'ada',
      kind: 'AGENT',
      rights: new Set(['read', 'act-as']),
      conversations: null,
      credential: 'jwt:one',
    })
    own.close()
  })

  const attacks: Record<string, () => Promise<string> | string> = {
    'HS256 with the public key as the secret': () => issuer.confuse(claims()),
    'an unknown key id': () => issuer.sign(claims(), { kid: 'key-99' }),
    'a key id that is a path': () => issuer.sign(claims(), { kid: '../../../../dev/null' }),
    'no signature': () => unsigned(claims()),
    'a signature of another key': async () => {
      const other = await startIssuer()
      other.close()
      return other.sign(claims())
    },
  }
  it.each(Object.entries(attacks))('refuses a token with %s over each transport', async (_, make) => {
    expect(await TRANSPORTS.GET!(server.url, await issuer.sign(claims()))).toMatchObject({ status: 200 })
    const token = await make()
    for (const [name, send] of transports) expect(await send(server.url, token), name).toEqual(over(name, REFUSED))
    expect(issuer.fetches).toBe(1)
  })
})
