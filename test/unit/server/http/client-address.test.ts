// The address of a client: of its connection, or, behind trusted proxies, in the header X-Forwarded-For.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createClientAddresses } from '../../../../src/server/http/client-address.ts'

const requestFrom = (remoteAddress: string | undefined, forwardedFor?: string) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwardedFor } }) as unknown as IncomingMessage

describe('the address of a client', () => {
  test.each<[string, string, string | undefined, string | undefined, string]>([
    ['without trusted proxies is that of its connection', '', '10.0.0.1', '192.0.2.1', '10.0.0.1'],
    [
      'on a connection from another address is not read from the header',
      '10.0.0.0/8',
      '192.0.2.9',
      '192.0.2.1',
      '192.0.2.9',
    ],
    ['behind a trusted proxy is read from the header', '10.0.0.0/8', '10.0.0.1', '192.0.2.1', '192.0.2.1'],
    [
      'behind several proxies is read from the right',
      '10.0.0.0/8',
      '10.0.0.1',
      '192.0.2.1, 10.0.0.3, 10.0.0.2',
      '192.0.2.1',
    ],
    [
      'is not an entry that the client sent',
      '10.0.0.0/8',
      '10.0.0.1',
      '198.51.100.7, 192.0.2.1, 10.0.0.2',
      '192.0.2.1',
    ],
    [
      'is that of the first proxy if all entries are trusted',
      '10.0.0.0/8',
      '10.0.0.1',
      '10.0.0.3, 10.0.0.2',
      '10.0.0.3',
    ],
    ['without the header is that of the proxy', '10.0.0.0/8', '10.0.0.1', undefined, '10.0.0.1'],
    ['is that of the proxy that sent no address', '10.0.0.0/8', '10.0.0.1', '192.0.2.1, unknown, 10.0.0.2', '10.0.0.2'],
    ['is that of the proxy if the last entry is empty', '10.0.0.0/8', '10.0.0.1', '192.0.2.1,', '10.0.0.1'],
    ['may have a port', '10.0.0.1', '10.0.0.1', '192.0.2.1:4711', '192.0.2.1'],
    ['may be an IPv6 address', 'fd00::/8', 'fd00::1', '2001:db8::1', '2001:db8::1'],
    ['may be an IPv6 address with a port', '::1', '::1', '[2001:db8::1]:4711', '2001:db8::1'],
    [
      'is an IPv4 address if an IPv6 address contains one',
      '10.0.0.0/8',
      '::ffff:10.0.0.1',
      '::ffff:192.0.2.1',
      '192.0.2.1',
    ],
    ['is empty if the connection is closed', '10.0.0.0/8', undefined, '192.0.2.1', ''],
  ])('%s', (_, trusted, remoteAddress, forwardedFor, expected) => {
    const addresses = createClientAddresses(trusted.split(',').filter(Boolean))
    expect(addresses.of(requestFrom(remoteAddress, forwardedFor))).toBe(expected)
  })

  test('of a connection is that of its last request', () => {
    const addresses = createClientAddresses(['10.0.0.1'])
    const socket = { remoteAddress: '10.0.0.1' } as Socket
    const send = (from: string) => addresses.of({ socket, headers: { 'x-forwarded-for': from } } as never)
    expect(addresses.last(socket)).toBe('10.0.0.1')
    for (const from of ['192.0.2.1', '192.0.2.2']) {
      send(from)
      expect(addresses.last(socket)).toBe(from)
    }
  })
})
