// The server that a command talks to: the one at --url, or one that runs in this process for the duration of the command,
// on the database that the settings select.

import { createHmac, randomBytes } from 'node:crypto'
import { connect, type Client } from '../client/index.ts'
import type { Config } from '../config/config.ts'
import type { Authentication } from '../config/authentication.ts'
import { RIGHTS } from '../domain/kernel/rights/principal.ts'

/** The options that select the server and the viewer. */
export type TargetOptions = {
  url?: string
  token?: string
  actor?: string
  tenant?: string
  /**
   * The background work that a server in this process does: by default, it only embeds new turns and facts. A command
   * that runs for long does all of it; one that occupies the database does none, and the next server does it.
   */
  background?: 'none' | 'all'
}

/** The address of a server, and the headers that identify the viewer. */
export type Endpoint = { url: string; headers: Record<string, string> }

export type Target = {
  client: Client
  endpoint: Endpoint
  /** Returns a client of another actor. It is closed with the target. @throws nothing; calls without the right fail */
  as(actor: string): Client
  close(): Promise<void>
}

/** Actor of a command without --actor in this process. */
const DEFAULT_ACTOR = 'user'
const DEFAULT_TENANT = 'default'
/** Time for which a failed request is repeated, ms. A person waits for the command. */
const RETRY_MS = 2_000

/** Length of a request's text above which it may exceed the server's limit for requests that are no batch. */
const LARGE_UNITS = 256 * 1024

/** Sends a request, and declares a large one as a batch, for which the server has a larger limit. */
const sendLarge: typeof fetch = (url, init) => {
  const isLarge = typeof init?.body === 'string' && init.body.length > LARGE_UNITS
  return fetch(url, isLarge ? { ...init, headers: { ...(init.headers as object), 'x-batch': '1' } } : init)
}

const ISSUER = 'colloquy command'

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Returns a JSON Web Token with all rights, signed by HS256. */
function tokenOf(secret: string, tenant: string, actor: string): string {
  const claims = { iss: ISSUER, aud: ISSUER, sub: actor, tenant, rights: [...RIGHTS] }
  const signed = `${base64url({ alg: 'HS256', typ: 'JWT' })}.${base64url({ ...claims, exp: 4_000_000_000 })}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

/** Accepts only tokens that are signed with the secret. */
const authenticationWith = (secret: string): Authentication => ({
  isRequired: true,
  jwt: {
    key: { secret },
    issuer: ISSUER,
    audience: ISSUER,
    clockToleranceSeconds: 0,
    claims: { tenant: 'tenant', actor: 'sub', kind: 'kind', rights: 'rights' },
    tenant: null,
  },
})

/**
 * Starts a server in this process, on a free port of the loopback interface. Other users of the machine cannot use it,
 * because it accepts only a token with a random secret.
 * @throws DataDirInUse, DatabaseUnreachable and the other errors of createDeps
 */
async function openOwn(
  config: Config,
  { tenant = DEFAULT_TENANT, actor = DEFAULT_ACTOR, background }: TargetOptions,
): Promise<Target> {
  const { createDeps } = await import('../deps.ts')
  const { startBackground } = await import('../domain/background/jobs.ts')
  const { createServer } = await import('../server/http/http.ts')
  const { createLog } = await import('../runtime/log.ts')
  const { deps, health, close } = await createDeps(config, createLog('silent'))
  if (background === 'none') await Promise.all([deps.embedding.stop(), deps.factEmbedding.stop()])
  const secret = randomBytes(32).toString('base64url')
  const own = { host: '127.0.0.1', port: 0, authentication: authenticationWith(secret) }
  const server = createServer(deps, { ...config, ...own }, health)
  const port = await server.listen()
  const url = `http://127.0.0.1:${port}/graphql`
  const stopBackground = background === 'all' ? startBackground(deps) : async () => {}
  const clients = new Set<Client>()
  const as = (name: string) => {
    const options = { url, token: tokenOf(secret, tenant, name), webSocket: null, fetch: sendLarge, onError: () => {} }
    const client = connect(options)
    clients.add(client)
    return client
  }
  return {
    client: as(actor),
    endpoint: { url, headers: { authorization: `Bearer ${tokenOf(secret, tenant, actor)}` } },
    as,
    async close() {
      for (const client of clients) await client.close()
      await server.close()
      await stopBackground()
      await close()
    },
  }
}

/** Returns the headers of a request to a server at --url. */
const headersOf = ({ token, actor, tenant }: Pick<TargetOptions, 'token' | 'actor' | 'tenant'>) => ({
  ...(token !== undefined && { authorization: `Bearer ${token}` }),
  ...(actor !== undefined && { 'x-actor': encodeURIComponent(actor) }),
  ...(tenant !== undefined && { 'x-tenant': encodeURIComponent(tenant) }),
})

/** Returns the address of the API of the server at the URL. */
export function endpointOf(url: string): URL {
  const endpoint = new URL(url)
  if (endpoint.pathname === '/') endpoint.pathname = '/graphql'
  return endpoint
}

/** Opens the server that the options select. `loadConfig` is called only without a URL. */
export async function openTarget(options: TargetOptions, loadConfig: () => Config): Promise<Target> {
  const { url, token, actor, tenant } = options
  if (url === undefined) return openOwn(loadConfig(), options)
  const { href } = endpointOf(url)
  const clients = new Set<Client>()
  const as = (name: string | undefined) => {
    const common = { retryForMs: RETRY_MS, webSocket: null, fetch: sendLarge, onError: () => {} }
    const client = connect({ url: href, token, actor: name, tenant, ...common })
    clients.add(client)
    return client
  }
  return {
    client: as(actor),
    endpoint: { url: href, headers: headersOf({ token, actor, tenant }) },
    as,
    async close() {
      for (const client of clients) await client.close()
    },
  }
}
