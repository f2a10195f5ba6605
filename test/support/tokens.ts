// Tokens for the tests of authentication: JSON Web Tokens of an issuer that serves its key set on a local port, and
// forged tokens.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT, type CryptoKey, type JWTPayload } from 'jose'

export const ISSUER = 'https://issuer.example'
export const AUDIENCE = 'colloquy'
export const SECRET = 'a secret of 32 bytes or even more'

/** Claims of a token of ada in the tenant. */
export const claimsOf = (tenant: string, more: JWTPayload = {}): JWTPayload => ({
  tenant,
  sub: 'ada',
  iss: ISSUER,
  aud: AUDIENCE,
  exp: Math.floor(Date.now() / 1000) + 600,
  ...more,
})

export const signWithSecret = (claims: JWTPayload, secret: string | Uint8Array = SECRET, alg = 'HS256') =>
  new SignJWT(claims).setProtectedHeader({ alg }).sign(typeof secret === 'string' ? Buffer.from(secret) : secret)

/** A token without a signature. */
export const unsigned = (claims: JWTPayload) => new UnsecuredJWT(claims).encode()

type IssuerKey = { kid: string; alg: string; publicKey: CryptoKey; privateKey: CryptoKey }

export type Issuer = {
  /** URL of the key set. */
  url: string
  /** Number of times that the key set was fetched. */
  readonly fetches: number
  /** Replaces the keys by a new one, and returns its id. */
  rotate(alg?: string): Promise<string>
  /** Signs with the newest key; `kid` replaces the key's id in the header. */
  sign(claims: JWTPayload, header?: { kid?: string }): Promise<string>
  /** Returns a forged token, signed by HS256 with the newest public key as the secret. */
  confuse(claims: JWTPayload): Promise<string>
  /** Makes the key set's server answer with this status. */
  answerWith(status: number): void
  close(): void
}

export async function startIssuer(): Promise<Issuer> {
  let key: IssuerKey
  let keys = 0
  let fetches = 0
  let status = 200
  const server = createServer((_, response) => {
    fetches += 1
    void exportJWK(key.publicKey).then((jwk) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ keys: [{ ...jwk, kid: key.kid, alg: key.alg, use: 'sig' }] }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer: Issuer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
    get fetches() {
      return fetches
    },
    async rotate(alg = 'ES256') {
      const pair = await generateKeyPair(alg, { extractable: true })
      key = { kid: `key-${++keys}`, alg, ...pair }
      return key.kid
    },
    sign: (claims, { kid = key.kid } = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg: key.alg, kid }).sign(key.privateKey),
    async confuse(claims) {
      const secret = Buffer.from(await exportSPKI(key.publicKey))
      return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: key.kid }).sign(secret)
    },
    answerWith: (next) => void (status = next),
    close: () => void server.close(),
  }
  await issuer.rotate()
  return issuer
}
