// Requests accepted and rejected by their Host and Origin headers, and by rules against CSRF.

import { describe, expect, test, vi } from 'vitest'
import { createRefusalLog, forgeryRefusal, originRefusal } from '../../../../src/server/http/guard.ts'

const config = { host: 'memory.lan', allowedOrigins: ['https://app.example'] }

describe('a request is accepted', () => {
  test.each([
    ['by an IPv4 address', { host: '127.0.0.1:4000' }],
    ['by an IPv6 address', { host: '[::1]:4000' }],
    ['by a private network address', { host: '192.168.1.5' }],
    ['as localhost', { host: 'localhost:4000' }],
    ['as a name under localhost', { host: 'colloquy.localhost:4000' }],
    ['by the name on which the server listens', { host: 'memory.lan:4000' }],
    ['by the name of an allowed origin', { host: 'app.example' }],
    ['from its own page', { host: 'localhost:4000', origin: 'http://localhost:4000' }],
    ['from its own page behind TLS', { host: 'app.example', origin: 'https://app.example' }],
    ['from an allowed origin', { host: '127.0.0.1:4000', origin: 'https://app.example' }],
  ])('%s', (_, headers) => expect(originRefusal(headers, config)).toBeNull())
})

describe('a request is rejected', () => {
  test.each([
    ['without a Host', {}, /Host ""/],
    [
      'by a foreign name that resolves to this server',
      { host: 'evil.example:4000' },
      /Host "evil\.example:4000".*ALLOWED_ORIGINS/,
    ],
    ['by a name that only ends with an accepted one', { host: 'notlocalhost' }, /Host/],
    ['by an invalid Host', { host: 'a b' }, /Host/],
    ['from a page of a foreign name', { host: 'evil.example', origin: 'http://evil.example' }, /Host/],
    ['from another site', { host: 'localhost:4000', origin: 'https://evil.example' }, /Origin.*ALLOWED_ORIGINS/],
    ['from another port', { host: 'localhost:4000', origin: 'http://localhost:3000' }, /Origin/],
    ['from an allowed name over another scheme', { host: 'localhost:4000', origin: 'http://app.example' }, /Origin/],
    ['from a page without an origin', { host: 'localhost:4000', origin: 'null' }, /Origin "null"/],
  ])('%s', (_, headers, reason) => expect(originRefusal(headers, config)?.message).toMatch(reason))
})

describe('a rejected origin', () => {
  const log = () => {
    const warn = vi.fn()
    const record = createRefusalLog({ warn }, config)
    return { warn, reject: (headers: Record<string, string>) => record(originRefusal(headers, config)!) }
  }
  const from = (origin: string) => ({ host: 'localhost:4000', origin })

  test('is logged once, with the setting that would accept it', () => {
    const { warn, reject } = log()
    for (let n = 0; n < 3; n++) reject(from('http://localhost:3000'))
    expect(warn.mock.calls).toEqual([
      [
        { origin: 'http://localhost:3000' },
        'Origin "http://localhost:3000" is not allowed. To allow it, set ALLOWED_ORIGINS=https://app.example,http://localhost:3000',
      ],
    ])
    const accepted = { ...config, allowedOrigins: [...config.allowedOrigins, 'http://localhost:3000'] }
    expect(originRefusal(from('http://localhost:3000'), accepted)).toBeNull()
  })

  test('is logged with another instruction if the page was opened from a file', () => {
    const { warn, reject } = log()
    reject(from('null'))
    expect(warn.mock.calls[0]![1]).toMatch(/"null" is not allowed\. Serve the page from a web server/)
  })

  test('is no longer logged after 100 other origins', () => {
    const { warn, reject } = log()
    for (let n = 0; n < 200; n++) reject(from(`https://${n}.example`))
    expect(warn).toHaveBeenCalledTimes(100)
  })
})

describe('the check against CSRF', () => {
  test.each([
    ['by GET', {}],
    ['with a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['with text', { 'content-type': 'Text/Plain; charset=utf-8' }],
    ['with a stored password', { authorization: 'Basic YTpi' }],
    ['of another site', { 'sec-fetch-site': 'cross-site' }],
    ['of another port', { 'sec-fetch-site': 'same-site' }],
    ['of the address bar', { 'sec-fetch-site': 'none' }],
  ])('rejects a request %s, and names the headers to add', (_, headers) => {
    const refusal = forgeryRefusal(headers)
    expect(refusal).toMatchObject({ status: 403, code: 'CSRF_HEADER_REQUIRED' })
    expect(refusal!.message).toMatch(/x-actor, x-tenant, apollo-require-preflight, authorization/)
  })

  test.each([
    ['x-actor', { 'x-actor': 'ada' }],
    ['x-tenant', { 'x-tenant': 'acme' }],
    ['apollo-require-preflight', { 'apollo-require-preflight': 'true' }],
    ['a bearer token', { authorization: 'Bearer x' }],
    ['a JSON body', { 'content-type': 'application/json' }],
    ['Sec-Fetch-Site: same-origin', { 'sec-fetch-site': 'same-origin' }],
    ['an Origin, which is checked before', { origin: 'https://app.example' }],
  ])('accepts a request with %s', (_, headers) => expect(forgeryRefusal(headers)).toBeNull())
})
