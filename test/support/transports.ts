// Sends one operation over each transport, and describes the answer in one form.

import { request as httpRequest } from 'node:http'
import { expect } from 'vitest'
import { WebSocket } from 'ws'

/** The media type that each transport of HTTP accepts. `get` sends the operation in the URL, the others by POST. */
export const ACCEPT = {
  json: 'application/json',
  graphql: 'application/graphql-response+json',
  get: 'application/json',
  events: 'text/event-stream',
}

export const TRANSPORTS = ['json', 'graphql', 'get', 'events', 'socket'] as const
export type Transport = (typeof TRANSPORTS)[number]

export type Sent = {
  query: string
  variables?: Record<string, unknown>
  operationName?: string
  /** Replaces the header x-actor: ada. */
  headers?: Record<string, string>
  /** The body to send instead of the operation. */
  raw?: string
  /** The payload of the message that opens a WebSocket's session. */
  connectionParams?: object
}

/** The first answer to an operation. */
export type Answer = {
  /**
   * The status of a response, or 'event' for an event in a stream with status 200. Over a WebSocket the type of the
   * message, or the code with which the socket was closed.
   */
  how: number | string
  data?: unknown
  /** The first error's extensions, and their code. */
  extensions?: Record<string, unknown>
  code?: string
  /** The first error's message or the reason for which the socket was closed; '' without errors. */
  message: string
  /** The media type of a response. */
  type?: string
  /** The header Retry-After, seconds. */
  retryAfter?: string
}

function answerOf(how: number | string, body: string): Answer {
  const { data, errors: [error] = [] } = JSON.parse(body)
  expect(error?.extensions ?? {}).not.toHaveProperty('http')
  return { how, data, code: error?.extensions?.code, extensions: error?.extensions, message: error?.message ?? '' }
}

async function sendOverHttp(url: string, transport: Exclude<Transport, 'socket'>, sent: Sent): Promise<Answer> {
  const { query, variables, operationName, headers = { 'x-actor': 'ada' } } = sent
  const isGet = transport === 'get'
  const body = isGet ? '' : (sent.raw ?? JSON.stringify({ query, variables, operationName }))
  const search = new URLSearchParams({
    query,
    ...(variables && { variables: JSON.stringify(variables) }),
    ...(operationName && { operationName }),
  })
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      isGet ? `${url}/graphql?${search}` : `${url}/graphql`,
      {
        method: isGet ? 'GET' : 'POST',
        headers: {
          accept: ACCEPT[transport],
          ...(!isGet && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
          ...headers,
        },
      },
      (response) => {
        const { 'content-type': type, 'retry-after': retryAfter } = response.headers
        const isStream = type?.startsWith('text/event-stream')
        const headersOf = { type, ...(retryAfter && { retryAfter }) }
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (part) => {
          text += part
          const [, event] = (isStream && /^data: (\{.*)\n/m.exec(text)) || []
          if (!event) return
          resolve({ ...answerOf('event', event), ...headersOf })
          request.destroy()
        })
        response.on('end', () => {
          if (isStream) reject(new Error(`A stream ended without an event: ${text}`))
          else resolve({ ...answerOf(response.statusCode!, text), ...headersOf })
        })
      },
    )
    request.on('error', reject).end(body)
  })
}

async function sendOverSocket(url: string, sent: Sent): Promise<Answer> {
  const { query, variables, operationName, headers, connectionParams } = sent
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers })
  return new Promise((resolve) => {
    socket.once('unexpected-response', async (_, response) => {
      let text = ''
      for await (const part of response.setEncoding('utf8')) text += part
      resolve({ ...answerOf(response.statusCode!, text), type: response.headers['content-type'] })
    })
    socket.once('close', (code, reason) => resolve({ how: code, message: String(reason) }))
    socket.once('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: connectionParams })))
    socket.on('message', (data) => {
      const { type, payload } = JSON.parse(String(data))
      if (type === 'connection_ack') {
        socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query, variables, operationName } }))
      } else if (type !== 'complete') {
        resolve(answerOf(type, JSON.stringify(type === 'error' ? { errors: payload } : payload)))
        socket.terminate()
      }
    })
  })
}

/** Sends the operation to the server at `url`, over a new WebSocket or by a request. Resolves with its first answer. */
export const sendOver = (url: string, transport: Transport, sent: Sent): Promise<Answer> =>
  transport === 'socket' ? sendOverSocket(url, sent) : sendOverHttp(url, transport, sent)
