// MCP clients of the SDK, connected to a test server.

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { onTestFinished } from 'vitest'

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read results untyped
type Structured = any

/** The result of a tool: its text, its structured content, and the code of its error. */
export type ToolAnswer = { text: string; structured: Structured; code: string | null }

export type McpClient = {
  client: Client
  transport: StreamableHTTPClientTransport
  /** URIs of the notifications about changed resources. */
  updated: string[]
  call(name: string, args?: Record<string, unknown>): Promise<ToolAnswer>
}

/** Returns the answer of a tool. */
export async function callTool(client: Client, name: string, args: Record<string, unknown> = {}): Promise<ToolAnswer> {
  const result = await client.callTool({ name, arguments: args })
  const [content] = result.content as [{ text: string }]
  const { code } = (result._meta ?? {}) as { code?: string }
  return { text: content.text, structured: result.structuredContent, code: result.isError ? (code ?? '') : null }
}

/** Connects a client, which is closed after the test. */
export async function connectMcp(url: string, headers: Record<string, string> = {}): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const updated: string[] = []
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params: { uri } }) => void updated.push(uri))
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } })
  await client.connect(transport)
  // The client learns which answers to check from the list.
  await client.listTools()
  onTestFinished(() => client.close())
  return { client, transport, updated, call: (name, args) => callTool(client, name, args) }
}

/** Sends one message of JSON-RPC, and returns the response with its message. */
export async function sendRpc(
  url: string,
  message: object | string,
  { method = 'POST', ...headers }: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; body: Structured }> {
  const response = await fetch(`${url}/mcp`, {
    method,
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: method === 'POST' ? (typeof message === 'string' ? message : JSON.stringify(message)) : undefined,
  })
  const text = await response.text()
  const json = response.headers.get('content-type')?.startsWith('text/event-stream')
    ? /^data: (.*)$/m.exec(text)?.[1]
    : text
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(json) : null }
}

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}
