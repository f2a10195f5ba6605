// Requests accepted and rejected by their Host and Origin headers.

import { describe, expect, test } from 'vitest'
import { rejectionReason } from '../../src/server/guard.ts'

const config = { host: 'memory.lan', allowedOrigins: ['https://app.example'] }

describe('a request is accepted', () => {
  test.each([
    ['by an IPv4 address', { host: '127.0.0.1:4000' }],
    ['by an IPv6 address', { host: '[::1]:4000' }],
    ['by a private network address', { host: '192.168.1.5' }],
    ['as localhost', { host: 'localhost:4000' }],
    ['as a name under localhost', { host: 'colloquy.localhost:4000' }],
    ['by the name it listens on', { host: 'memory.lan:4000' }],
    ['by the name of an allowed origin', { host: 'app.example' }],
    ['from its own page', { host: 'localhost:4000', origin: 'http://localhost:4000' }],
    ['from its own page behind TLS', { host: 'app.example', origin: 'https://app.example' }],
    ['from an allowed origin', { host: '127.0.0.1:4000', origin: 'https://app.example' }],
  ])('%s', (_, headers) => expect(rejectionReason(headers, config)).toBeNull())
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
  ])('%s', (_, headers, reason) => expect(rejectionReason(headers, config)).toMatch(reason))
})
