// The address of a client, for limits and logs. Behind a proxy, the connection has the address of the proxy; the header
// X-Forwarded-For names the client. A client can send this header itself, so it is read only from proxies that the
// operator trusts, and only up to the first address that no trusted proxy has. The header Forwarded is never read: a
// proxy that sets one of the two headers passes on what the client sent in the other.

import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv4, type Socket } from 'node:net'

export type ClientAddresses = {
  /** Returns the address of the client that sent the request; empty if its connection is closed. */
  of(request: IncomingMessage): string
  /** Returns the address of the client that sent the last request over the connection. */
  last(socket: Socket): string
}

/** Returns an IPv4 address for an IPv6 address that contains one, because the same client may use both. */
const normalized = (address: string) => {
  const inner = address.replace(/^::ffff:/i, '')
  return isIPv4(inner) ? inner : address
}

/** Returns the address of an entry of X-Forwarded-For, which may have a port; null if the entry is not an address. */
function addressIn(entry: string): string | null {
  const text = entry.trim()
  const bare = /^\[(.*)\](:\d+)?$/.exec(text)?.[1] ?? (/^[\d.]+:\d+$/.test(text) ? text.split(':')[0]! : text)
  return isIP(bare) ? normalized(bare) : null
}

/** Adds an address, or a network like 10.0.0.0/8. */
function add(list: BlockList, text: string): void {
  const [address = '', bits] = text.split('/')
  const family = isIPv4(address) ? 'ipv4' : 'ipv6'
  if (bits === undefined) list.addAddress(address, family)
  else list.addSubnet(address, Number(bits), family)
}

/** @param trustedProxies addresses and networks of proxies, as the setting TRUSTED_PROXIES */
export function createClientAddresses(trustedProxies: readonly string[]): ClientAddresses {
  const trusted = new BlockList()
  for (const each of trustedProxies) add(trusted, each)
  const isTrusted = (address: string) => trusted.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  const lastOf = new WeakMap<Socket, string>()

  function find({ socket, headers }: IncomingMessage): string {
    let client = normalized(socket.remoteAddress ?? '')
    const chain = String(headers['x-forwarded-for'] ?? '').split(',')
    // Each proxy appends the address of its client, so the last entry is the one that the nearest proxy wrote.
    for (let index = chain.length - 1; index >= 0 && isIP(client) && isTrusted(client); index--) {
      const address = addressIn(chain[index]!)
      if (address === null) break
      client = address
    }
    return client
  }

  if (trustedProxies.length === 0) {
    const of = ({ remoteAddress }: Socket) => normalized(remoteAddress ?? '')
    return { of: ({ socket }) => of(socket), last: of }
  }
  return {
    of(request) {
      const address = find(request)
      lastOf.set(request.socket, address)
      return address
    },
    last: (socket) => lastOf.get(socket) ?? normalized(socket.remoteAddress ?? ''),
  }
}
