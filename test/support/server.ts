// Starts an HTTP and WebSocket server in the test process with its own database, and connects real clients.

import { createClient, type Client } from 'graphql-ws'
import { afterAll, beforeAll, expect, type MockInstance } from 'vitest'
import { WebSocket } from 'ws'
import type { Clock } from '../../src/runtime/clock.ts'
import { loadConfig } from '../../src/config/config.ts'
import type { Health } from '../../src/domain/kernel/platform.ts'
import { ping } from '../../src/store/db/db.ts'
import type { Pool } from '../../src/store/db/tenant-pool.ts'
import { createServer, type Server } from '../../src/server/http/http.ts'
import type { Backend } from './backend.ts'
import { useWorld, type TestWorld } from './world.ts'

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read results untyped
type Result = any

export type TestServer = TestWorld & {
  /** http://127.0.0.1:… */
  readonly url: string
  /** POSTs an operation with these headers; returns the HTTP status and the parsed body. */
  post(
    operation: { query: string; variables?: object },
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: Result }>
  /** Creates a WebSocket client, which does not reconnect and is closed after the tests. */
  client(connectionParams?: Record<string, unknown>): Client
  readonly admission: Server['admission']
  usage(): ReturnType<Server['usage']>
  close(): Promise<void>
}

/**
 * @param env environment variables of the server
 * @param settings see useWorld
 * @param health replaces the checks of /ready
 * @param clock the clock of the server and its world
 */
export function useServer(
  backend: Backend,
  env: Record<string, string> = {},
  { settings = {}, health, clock }: { settings?: Parameters<typeof useWorld>[1]; health?: Health; clock?: Clock } = {},
): TestServer {
  const world = useWorld(backend, settings, { clock })
  const clients: Client[] = []
  let server: Server
  let port = 0

  beforeAll(async () => {
    const config = { ...loadConfig({ SHUTDOWN_SECONDS: '2', ...env }), port: 0 }
    const checks: Health = {
      database: () => ping(world.deps.pool),
      bus: () => world.deps.bus.ping(),
      durability: 'as tested',
    }
    server = createServer(world.deps, config, health ?? checks)
    port = await server.listen()
  })
  const close = async () => {
    await Promise.all(clients.splice(0).map(async (client) => client.dispose()))
    await server.close()
  }
  afterAll(close)

  return {
    get deps() {
      return world.deps
    },
    get url() {
      return `http://127.0.0.1:${port}`
    },
    get admission() {
      return server.admission
    },
    usage: () => server.usage(),
    tenant: () => world.tenant(),
    async post(operation, headers = {}) {
      const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(operation),
      })
      return { status: response.status, body: await response.json() }
    },
    client(connectionParams = {}) {
      const client = createClient({
        url: `ws://127.0.0.1:${port}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams,
        retryAttempts: 0,
      })
      clients.push(client)
      return client
    },
    close,
  }
}

/**
 * Waits until the readers of a conversation are subscribed: each subscription reads the last seq when it starts, and
 * the feed reads its participants last.
 * @param query a spy on `deps.pool.query`, created before the subscriptions
 */
export async function subscribed(query: MockInstance<Pool['query']>, readers: number): Promise<void> {
  const settled = (name: string) =>
    query.mock.calls.filter(
      ([each], call) =>
        (each as unknown as { name?: string }).name === name && query.mock.settledResults[call]?.type === 'fulfilled',
    ).length
  await expect.poll(() => settled('read-last-seq')).toBe(readers)
  // Readers that start before the newest entry read participants too, once the feed has started.
  await expect.poll(() => settled('read-all-participants')).toBeGreaterThan(0)
}

/** Starts another server, with other environment variables, on the dependencies of a world. */
export function serveAlso(world: TestWorld, env: Record<string, string>): { readonly url: string } {
  let server: Server
  let port = 0
  beforeAll(async () => {
    const { deps } = world
    const health: Health = { database: () => ping(deps.pool), bus: () => deps.bus.ping(), durability: 'as tested' }
    server = createServer(deps, { ...loadConfig({ SHUTDOWN_SECONDS: '2', ...env }), port: 0 }, health)
    port = await server.listen()
  })
  afterAll(() => server.close())
  return {
    get url() {
      return `http://127.0.0.1:${port}`
    },
  }
}

/** Returns the next `count` conversation events of a subscription, and closes it. Throws on a GraphQL error. */
export async function take(events: AsyncIterableIterator<Result>, count: number): Promise<Result[]> {
  const taken: Result[] = []
  for await (const { data, errors } of events) {
    if (errors) throw new Error(JSON.stringify(errors))
    taken.push(data.conversationEvents)
    if (taken.length === count) break
  }
  return taken
}
