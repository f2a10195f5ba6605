// The settings of authentication: the settings that AUTH_MODE requires or forbids, and a default that depends on it.

import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { problemsOf } from '../../support/environment.ts'

const SECRET = 'a secret of 32 bytes or even more'
const JWT_ISSUER = 'https://issuer.example'

describe('AUTH_MODE', () => {
  it('may be none on a loopback address only, unless ALLOW_UNAUTHENTICATED is set', () => {
    const network = { HOST: '0.0.0.0' }
    expect(loadConfig({}).authentication).toEqual({ isRequired: false, jwt: null })
    expect(problemsOf(network)).toHaveLength(1)
    expect(loadConfig({ ...network, ALLOW_UNAUTHENTICATED: '1' }).authentication.isRequired).toBe(false)
    expect(loadConfig({ ...network, AUTH_MODE: 'keys' }).authentication).toEqual({ isRequired: true, jwt: null })
  })

  it.each([
    ['jwt without a key', { AUTH_MODE: 'jwt', JWT_ISSUER }, [/^AUTH_MODE is "jwt": requires JWT_SECRET or JWKS_URL$/]],
    ['jwt without an issuer', { AUTH_MODE: 'jwt', JWT_SECRET: SECRET }, [/^JWT_ISSUER: must be set/]],
    [
      'jwt with two kinds of keys',
      { AUTH_MODE: 'jwt', JWT_ISSUER, JWT_SECRET: SECRET, JWKS_URL: 'https://issuer.example/jwks' },
      [/^JWKS_URL: must not be set together with JWT_SECRET$/],
    ],
    [
      'keys with settings of jwt',
      { AUTH_MODE: 'keys', JWT_ISSUER, JWT_SECRET: SECRET },
      [/^JWT_SECRET: requires AUTH_MODE=jwt$/, /^JWT_ISSUER is .*: requires AUTH_MODE=jwt$/],
    ],
    ['none with a file for the first key', { FIRST_KEY_FILE: '/keys/first' }, [/requires AUTH_MODE=keys or jwt$/]],
    ['an unknown value', { AUTH_MODE: 'basic' }, [/must be one of none, keys, jwt$/]],
  ])('cannot be %s', (_, env, problems) => {
    expect(problemsOf(env)).toEqual(problems.map((problem) => expect.stringMatching(problem)))
  })

  it('decides the default of CONVERSATION_VISIBILITY', () => {
    expect(loadConfig({}).conversationVisibility).toBe('OPEN')
    expect(loadConfig({ AUTH_MODE: 'keys' }).conversationVisibility).toBe('MEMBERS')
    expect(loadConfig({ AUTH_MODE: 'keys', CONVERSATION_VISIBILITY: 'OPEN' }).conversationVisibility).toBe('OPEN')
  })
})

describe('JWT_SECRET', () => {
  it('has at least 32 bytes, and is not repeated in an error', () => {
    const env = { AUTH_MODE: 'jwt', JWT_ISSUER }
    expect(problemsOf({ ...env, JWT_SECRET: 'short secret' })).toEqual(['JWT_SECRET: must have at least 32 bytes'])
    expect(loadConfig({ ...env, JWT_SECRET: 'ä'.repeat(16) }).authentication.jwt!.key).toEqual({
      secret: 'ä'.repeat(16),
    })
  })
})
