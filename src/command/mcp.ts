// The command `colloquy mcp`: an MCP server on the standard streams, for clients that start their servers themselves. It
// passes messages to the MCP server of a Colloquy server, and starts a new session there when the old one has ended.

import { once } from 'node:events'
import { Duplex, type Readable } from 'node:stream'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import {
  InitializeResultSchema,
  isInitializeRequest,
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
} from '@modelcontextprotocol/sdk/types.js'
import type { Output } from './output.ts'
import type { Endpoint } from './target.ts'

/** The code of JSON-RPC for a message that could not be passed on. */
const NOT_PASSED = -32000
/** Id of the request that starts a new session. The client does not see its answer. */
const RESTART_ID = 'colloquy-restart'
const INITIALIZED: JSONRPCMessage = { jsonrpc: '2.0', method: 'notifications/initialized' }

const hasEnded = (error: unknown) => (error as { code?: number }).code === 404

/** The standard streams. Only messages of the protocol may be written. */
type Streams = Pick<Output, 'write' | 'signal'> & { input: NodeJS.ReadableStream }

/** What the client has asked for, which a new session gets again. */
type Asked = { initialize: JSONRPCRequest | null; subscriptions: Set<string> }

function note(asked: Asked, message: JSONRPCMessage): void {
  if (!isJSONRPCRequest(message)) return
  if (isInitializeRequest(message)) asked.initialize = message
  const uri = String(message.params?.uri)
  if (message.method === 'resources/subscribe') asked.subscriptions.add(uri)
  if (message.method === 'resources/unsubscribe') asked.subscriptions.delete(uri)
}

/** Connects to the MCP server. `receive` gets its messages, except for those that only this file has asked for. */
function createConnection({ url, headers }: Endpoint, receive: (message: JSONRPCMessage) => void) {
  const asked: Asked = { initialize: null, subscriptions: new Set() }
  const own = new Map<string | number, (message: JSONRPCMessage) => void>()
  let transport: StreamableHTTPClientTransport
  /** All transports. Those of ended sessions stay open, because answers to earlier requests may still arrive. */
  const opened: StreamableHTTPClientTransport[] = []

  async function open(): Promise<void> {
    transport = new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } })
    const current = transport
    opened.push(current)
    current.onmessage = (message) => {
      const answer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message) ? message : null
      if (answer && 'result' in answer) {
        const { data } = InitializeResultSchema.safeParse(answer.result)
        if (data) current.setProtocolVersion(data.protocolVersion)
      }
      const onOwn = answer?.id === undefined ? undefined : own.get(answer.id)
      if (onOwn) onOwn(message)
      else receive(message)
    }
    await current.start()
  }

  /** Sends a request, and resolves with its answer. */
  function ask(request: JSONRPCRequest): Promise<JSONRPCMessage> {
    return new Promise((resolve, reject) => {
      own.set(request.id, resolve)
      transport.send(request).catch(reject)
    }).finally(() => own.delete(request.id)) as Promise<JSONRPCMessage>
  }

  /** The start of a new session, which all messages wait for. */
  let restarting: Promise<void> | null = null

  async function restart(): Promise<void> {
    await open()
    if (!asked.initialize) return
    await ask({ ...asked.initialize, id: RESTART_ID })
    await transport.send(INITIALIZED)
    for (const uri of asked.subscriptions) {
      await ask({ jsonrpc: '2.0', id: `${RESTART_ID} ${uri}`, method: 'resources/subscribe', params: { uri } })
    }
  }

  return {
    open,
    /** Sends a message. Starts a new session if the old one has ended. @throws errors of the connection */
    async send(message: JSONRPCMessage): Promise<void> {
      await restarting
      const used = transport
      try {
        await used.send(message)
        note(asked, message)
      } catch (error) {
        if (!hasEnded(error)) throw error
        if (used === transport) restarting ??= restart().finally(() => (restarting = null))
        await restarting
        await transport.send(message)
      }
    },
    /** Ends the session. */
    async close(): Promise<void> {
      await transport.terminateSession().catch(() => {})
      await Promise.all(opened.map((each) => each.close()))
    },
  }
}

/**
 * Passes messages between the streams and the server until the input has ended and every request is answered, or the
 * signal is aborted.
 */
export async function serveStreams(endpoint: Endpoint, { input, write, signal }: Streams): Promise<void> {
  const output = Duplex.from(async (parts: AsyncIterable<Buffer>) => {
    for await (const part of parts) await write(String(part))
  })
  const stdio = new StdioServerTransport(input as Readable, output)
  /** Ids of the requests that have no answer. */
  const pending = new Set<string | number>()
  const ended = Promise.race([once(input, 'end'), once(input, 'close')])
  let onAnswered = () => {}
  const answer = (message: JSONRPCMessage) => {
    const id = 'id' in message && !('method' in message) ? message.id : undefined
    void stdio.send(message).then(() => {
      if (id !== undefined && pending.delete(id) && pending.size === 0) onAnswered()
    })
  }
  const connection = createConnection(endpoint, answer)
  await connection.open()
  stdio.onmessage = (message) => {
    if (isJSONRPCRequest(message)) pending.add(message.id)
    connection.send(message).catch((error: Error) => {
      if (!isJSONRPCRequest(message)) return
      const text = `The Colloquy server at ${endpoint.url} did not answer: ${reasonOf(error)}`
      answer({ jsonrpc: '2.0', id: message.id, error: { code: NOT_PASSED, message: text } })
    })
  }
  await stdio.start()
  await Promise.race([ended, new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))])
  if (pending.size > 0 && !signal.aborted) {
    await new Promise<void>((resolve) => {
      onAnswered = resolve
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
  await connection.close()
  await stdio.close()
}

/** Returns the reason of a failed request: that of the server, or that of the connection. */
function reasonOf({ message, cause }: Error): string {
  if (cause instanceof Error && cause.message !== '') return cause.message
  const body = /\{.*\}/s.exec(message)?.[0]
  try {
    if (body) return (JSON.parse(body) as { error: { message: string } }).error.message
  } catch {
    // The body is not an error of JSON-RPC.
  }
  return message
}
