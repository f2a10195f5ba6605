// Server processes on real services, which tests kill and restart, and their clients: writers that repeat
// unacknowledged turns, and readers that resume after the last received entry.

import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createClient } from 'graphql-ws'
import pg from 'pg'
import { WebSocket } from 'ws'
import { compiledSource } from '../../scripts/compiled.js'
import { SHORT_LIVED, TYPESCRIPT } from '../support/short-lived.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** The tenant of all requests. */
export const tenant = 'faults'

/** URLs of a database and of Redis, which several server processes use. */
export type Site = { databaseUrl: string; redisUrl: string }
/** The directory of an embedded database, which one server process uses. */
type EmbeddedSite = { dataDir: string }

const environmentOf = (site: Site | EmbeddedSite) =>
  'dataDir' in site
    ? { DATA_DIR: site.dataDir, DATABASE_URL: '', REDIS_URL: '' }
    : { DATABASE_URL: site.databaseUrl, REDIS_URL: site.redisUrl }

/**
 * Runs the script named by the SERVICES environment variable, which starts or restarts a Postgres and a Redis that the
 * test may kill. Repeats the script until Postgres replies, because the script considers a killed Postgres alive until
 * its process is reaped.
 * @param pair the name of the pair of services
 */
export async function startServices(pair = 'faults'): Promise<{ server: string; redisUrl: string }> {
  for (;;) {
    const { stdout } = await promisify(execFile)(process.env.SERVICES!, ['up', pair])
    const value = (name: string) => new RegExp(`${name}=(\\S+)`).exec(stdout)![1]!
    const server = value('TEST_DATABASE_URL')
    const client = new pg.Client(server)
    try {
      await client.connect()
      return { server, redisUrl: value('TEST_REDIS_URL') }
    } catch {
      await sleep(500)
    } finally {
      await client.end().catch(() => {})
    }
  }
}

/** Sends a signal to a service that startServices started. */
export const signal = (service: 'postgres' | 'redis', name: string, pair = 'faults') =>
  promisify(execFile)(process.env.SERVICES!, ['signal', pair, service, name])

/** Creates an empty database on the server. */
export async function createSite(server: string, redisUrl: string): Promise<Site> {
  const name = `colloquy_${randomBytes(8).toString('hex')}`
  const client = new pg.Client(server)
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  return { databaseUrl: Object.assign(new URL(server), { pathname: `/${name}` }).href, redisUrl }
}

export type Server = {
  url: string
  start(): Promise<void>
  /** Ends the process, by SIGKILL unless another signal is given. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Sends a signal that does not end the process. */
  signal(name: NodeJS.Signals): void
  /** Calls `report` with the exit code or signal, and the fatal error, whenever the process ends, except by `kill`. */
  onExit(report: (reason: string) => void): void
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  return port
}

/**
 * Creates a server process, which is not started yet. It uses the same port after each restart.
 * @param env environment variables of each start, besides those that name its services
 * @param preload a module that the process imports first
 */
export async function createServerProcess(
  site: Site | EmbeddedSite,
  { env = () => ({}), preload }: { env?: () => Record<string, string>; preload?: string } = {},
): Promise<Server> {
  const port = await freePort()
  let child: ChildProcess | null = null
  let report: (reason: string) => void = () => {}
  process.once('exit', () => child?.kill('SIGKILL'))
  const flags = [...SHORT_LIVED, ...(preload ? [...TYPESCRIPT, '--import', preload] : [])]
  const bin = await compiledSource()
  return {
    url: `127.0.0.1:${port}`,
    async start() {
      const started = spawn(process.execPath, [...flags, bin], {
        cwd: root,
        stdio: ['ignore', 'pipe', 'inherit'],
        // The tests count journal entries, and an automatic title adds one at any time.
        env: {
          ...process.env,
          AUTOMATIC_TITLES: 'false',
          PORT: String(port),
          LOG_LEVEL: 'info',
          ...environmentOf(site),
          ...env(),
        },
      })
      child = started
      let isReady = false
      /** The last log line with level fatal. */
      let fatal = ''
      started.once('close', (code, name) => {
        if (isReady && child === started) report(`${code ?? name} ${fatal}`.trim())
      })
      await new Promise<void>((resolve, reject) => {
        const lines = createInterface(started.stdout)
        lines.on('line', (line) => {
          if (line.includes('"level":60')) fatal = line
          if (isReady || !('url' in (JSON.parse(line) as object))) return
          isReady = true
          resolve()
        })
        lines.once('close', () => reject(new Error('The server ended before it was ready.')))
      })
    },
    signal: (name) => void child?.kill(name),
    onExit(callback) {
      report = callback
    },
    async kill(name = 'SIGKILL') {
      const killed = child
      child = null
      if (!killed || killed.exitCode !== null || killed.signalCode !== null) return
      killed.kill(name)
      await once(killed, 'exit')
    },
  }
}

async function post<T>(server: Server, query: string, variables: object): Promise<T> {
  const response = await fetch(`http://${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-tenant': tenant },
    body: JSON.stringify({ query, variables }),
    signal: AbortSignal.timeout(10_000),
  })
  const { data, errors } = (await response.json()) as { data?: T; errors?: unknown }
  if (!data || errors) throw new Error(JSON.stringify(errors))
  return data
}

export async function createConversation(server: Server, actors: string[]): Promise<string> {
  const query = `mutation($p: [ParticipantInput!]) {
    r: createConversation(input: { participants: $p, compaction: { strategy: NEVER } }) {
      ... on CreateConversationPayload { conversation { id } }
    }
  }`
  const { r } = await post<{ r: { conversation: { id: string } } }>(server, query, {
    p: actors.map((actor) => ({ actor })),
  })
  return r.conversation.id
}

const APPEND = `mutation($conversationId: ID!, $actor: String!, $turn: TurnInput!) {
  r: appendTurn(input: { conversationId: $conversationId, as: $actor, turn: $turn }) {
    ... on AppendTurnPayload { turn { id seq } } ... on UserError { message }
  }
}`
export type Acknowledged = { id: string; seq: number; text: string }

/** Appends a turn. Retries on the servers in rotation until one acknowledges it; the clientId prevents duplicates. */
export async function append(
  servers: Server[],
  conversationId: string,
  actor: string,
  text: string,
): Promise<Acknowledged> {
  const turn = { role: 'USER', content: text, clientId: randomUUID() }
  for (let tries = 0; ; tries++) {
    try {
      const { r } = await post<{ r: { turn?: Omit<Acknowledged, 'text'> } }>(servers[tries % servers.length]!, APPEND, {
        conversationId,
        actor,
        turn,
      })
      if (r.turn) return { ...r.turn, text }
    } catch {
      await sleep(50)
    }
  }
}

export type Reader = {
  /** The received seqs, in order of arrival. */
  seqs: number[]
  /** Terminates the socket, if it is open, without a closing handshake. */
  cut(): void
  stop(): void
}

/**
 * Subscribes from the first entry. After each disconnection, connects to the next server and resumes after the last
 * received entry.
 */
export function follow(servers: Server[], conversationId: string): Reader {
  const seqs: number[] = []
  let socket: WebSocket | null = null
  let stopped = false
  const query = `subscription($conversationId: ID!, $afterSeq: Int) {
    conversationEvents(conversationId: $conversationId, afterSeq: $afterSeq) { seq ... on Gap { resumeAfterSeq } }
  }`
  class Tracked extends WebSocket {
    constructor(...args: ConstructorParameters<typeof WebSocket>) {
      super(...args)
      socket = this
    }
  }
  void (async () => {
    for (let attempt = 0; !stopped; attempt++) {
      const client = createClient({
        url: `ws://${servers[attempt % servers.length]!.url}/graphql`,
        webSocketImpl: Tracked,
        retryAttempts: 0,
        connectionParams: { 'x-tenant': tenant },
        onNonLazyError: () => {},
      })
      try {
        const events = client.iterate<{ conversationEvents: { seq: number | null } }>({
          query,
          variables: { conversationId, afterSeq: seqs.at(-1) ?? 0 },
        })
        for await (const { data } of events) {
          if (data?.conversationEvents.seq != null) seqs.push(data.conversationEvents.seq)
        }
      } catch {
        // The server is down or the socket was cut. The next attempt uses the next server.
      }
      await Promise.resolve(client.dispose()).catch(() => {})
      await sleep(20)
    }
  })()
  return {
    seqs,
    cut: () => socket?.terminate(),
    stop() {
      stopped = true
      socket?.terminate()
    },
  }
}

/** Reads the conversation's journal from the database. */
export async function journal(
  site: Site,
  conversationId: string,
): Promise<{ seq: number; id: string | null; text: string | null }[]> {
  const client = new pg.Client(site.databaseUrl)
  await client.connect()
  const { rows } = await client.query<{ seq: number; id: string | null; text: string | null }>(
    'SELECT e.seq, t.id, t.text FROM entry e LEFT JOIN turn t ON t.id = e.turn_id WHERE e.conversation_id = $1 '
      + 'ORDER BY 1',
    [conversationId],
  )
  await client.end()
  return rows
}

/** Waits until the condition is true. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(50)
}
