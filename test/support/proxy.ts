// A TCP proxy in front of a real service, which simulates outages without affecting the service.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type Proxy = {
  /** The service's URL, through the proxy. */
  url: string
  /** Resets all connections. */
  drop(): void
  /** Resets all connections, and refuses new connections. */
  cut(): Promise<void>
  /** Accepts connections again. */
  restore(): Promise<void>
  /** Withholds the service's answers on all open connections and, if `also` is given, on new connections. */
  silence(also?: 'new connections'): void
  /** Delivers the withheld answers and all later ones. */
  resume(): void
  /** Number of open connections. */
  connections(): number
  /** The client address and port of each open connection, as the service sees them. */
  addresses(): string[]
  close(): Promise<void>
}

export async function createProxy(service: string): Promise<Proxy> {
  const url = new URL(service)
  const target = { host: url.hostname, port: Number(url.port) || 6379 }
  const pairs = new Set<{ client: Socket; upstream: Socket }>()
  let silentToNew = false

  const server = createServer((client) => {
    const upstream = connect(target)
    const pair = { client, upstream }
    pairs.add(pair)
    for (const socket of [client, upstream]) {
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        upstream.destroy()
        pairs.delete(pair)
      })
    }
    client.on('data', (chunk) => void (upstream.write(chunk) || client.pause()))
    upstream.on('data', (chunk) => void (client.write(chunk) || upstream.pause()))
    upstream.on('drain', () => client.resume())
    client.on('drain', () => upstream.resume())
    if (silentToNew) upstream.pause()
  })

  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const drop = () => {
    for (const { client } of pairs) client.resetAndDestroy()
  }
  const cut = async () => {
    if (!server.listening) return
    server.close()
    drop()
    await once(server, 'close')
  }

  await listen(0)
  const { port } = server.address() as AddressInfo
  url.port = String(port)

  return {
    url: url.href,
    drop,
    cut,
    restore: () => listen(port),
    silence(also) {
      silentToNew = also !== undefined
      for (const { upstream } of pairs) upstream.pause()
    },
    resume() {
      silentToNew = false
      for (const { upstream } of pairs) upstream.resume()
    },
    connections: () => pairs.size,
    addresses: () => [...pairs].map(({ upstream }) => `${upstream.localAddress}:${upstream.localPort}`),
    close: cut,
  }
}
