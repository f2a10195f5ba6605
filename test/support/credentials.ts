// Sends one query with a token over each transport, and returns the outcome.

import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'

/** The viewer if the query is answered; otherwise the status or close code, and the code of the error. */
export type Outcome = { tenant?: string; actor?: string; status: number; code?: string }

type Headers = Record<string, string>
type Send = (url: string, token: string | null, names?: Headers) => Promise<Outcome>

const VIEWER = '{ viewer { tenant actor } }'
const bearer = (token: string | null): Headers => (token === null ? {} : { authorization: `Bearer ${token}` })

async function overHttp(url: string, method: string, headers: Headers): Promise<Outcome> {
  const body = JSON.stringify({ query: VIEWER })
  const isGet = method === 'GET'
  const target = isGet ? `${url}/graphql?${new URLSearchParams({ query: VIEWER })}` : `${url}/graphql`
  const sent = { 'apollo-require-preflight': '1', ...(!isGet && { 'content-length': String(body.length) }), ...headers }
  const request = httpRequest(target, { method, headers: sent }).end(isGet ? '' : body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  for await (const part of response.setEncoding('utf8')) text += part
  const { data, errors } = JSON.parse(/\{.*\}/.exec(text)![0])
  const status = response.statusCode!
  if (!errors) return { status, ...data.viewer }
  if (status === 401 && !response.headers['www-authenticate']?.startsWith('Bearer '))
    throw new Error('WWW-Authenticate is missing')
  return { status, code: errors[0].extensions.code }
}

async function overSocket(url: string, payload: object, headers: Headers): Promise<Outcome> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers })
  await once(socket, 'open')
  const closed = once(socket, 'close').then(([status]) => ({ status: status as number }))
  const answered = once(socket, 'message').then(async () => {
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: VIEWER } }))
    const [data] = await once(socket, 'message')
    return { status: 200, ...JSON.parse(String(data)).payload.data.viewer } as Outcome
  })
  socket.send(JSON.stringify({ type: 'connection_init', payload }))
  const outcome = await Promise.race([answered, closed])
  socket.terminate()
  return outcome
}

const JSON_TYPE = { 'content-type': 'application/json' }
const STREAM = { accept: 'text/event-stream' }

/** The transports, by name. The server closes a refused WebSocket with 4403 or 1013, without an error code. */
export const TRANSPORTS: Record<string, Send> = {
  'the fast path of POST': (url, token, names) => overHttp(url, 'POST', { ...JSON_TYPE, ...bearer(token), ...names }),
  'POST through yoga': (url, token, names) =>
    overHttp(url, 'POST', { 'content-type': 'application/json; charset=UTF-8', ...bearer(token), ...names }),
  GET: (url, token, names) => overHttp(url, 'GET', { ...bearer(token), ...names }),
  'Server-Sent Events by GET': (url, token, names) => overHttp(url, 'GET', { ...STREAM, ...bearer(token), ...names }),
  'Server-Sent Events by POST': (url, token, names) =>
    overHttp(url, 'POST', { ...JSON_TYPE, ...STREAM, ...bearer(token), ...names }),
  'connectionParams of a WebSocket': (url, token, names) => overSocket(url, { ...bearer(token), ...names }, {}),
  'the upgrade of a WebSocket': (url, token, names) => overSocket(url, {}, { ...bearer(token), ...names }),
}
