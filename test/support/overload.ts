// Overloads a server of a test process.

import { connect, type Socket } from 'node:net'
import { expect, vi } from 'vitest'
import { MIN_LIMIT } from '../../src/server/load/admission.ts'
import type { TestServer } from './server.ts'

/** Environment variables of a server that can be overloaded. */
export const OVERLOAD = { MAX_QUEUE_MS: '50', MIN_BODY_BYTES_PER_SECOND: '0' }
/** The tenant that overloads the server. Other tenants stay below their share. */
export const OVERLOADING = 'busy'

const untilStatus = (server: TestServer, status: number) =>
  vi.waitFor(
    async () => {
      const answer = await server.post({ query: '{ __typename }' }, { 'x-tenant': OVERLOADING })
      expect(answer.status).toBe(status)
    },
    { interval: 100 },
  )

/**
 * Lets an append wait, and fills the limit of operations with requests of the tenant OVERLOADING whose bodies never
 * arrive. Returns once the server refuses that tenant's requests.
 * @returns a function that ends the overload, and resolves once the server accepts requests; it may be called twice
 */
export async function overload(server: TestServer): Promise<() => Promise<void>> {
  const { appends } = server.deps.delays
  const entered = appends.enter()
  const { hostname, port } = new URL(server.url)
  const head = 'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
  const held: Socket[] = []
  // More than the limit, because some are refused.
  for (let i = 0; i < 2 * MIN_LIMIT; i++) {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write(`${head}Content-Length: 10\r\nx-tenant: ${OVERLOADING}\r\n\r\n`)
    held.push(socket)
  }
  let isOverloaded = true
  await untilStatus(server, 503)
  return async () => {
    if (!isOverloaded) return
    isOverloaded = false
    appends.leave(entered)
    for (const socket of held) socket.destroy()
    await untilStatus(server, 200)
  }
}
