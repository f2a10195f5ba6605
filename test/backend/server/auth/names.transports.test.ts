// A name is the same on every transport: the HTTP path through yoga, the fast path of POST, GET, Server-Sent Events,
// connectionParams of a WebSocket, and the headers of its upgrade.

import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { embedded } from '../../../support/backend.ts'
import { useServer } from '../../../support/server.ts'

const VIEWER = '{ viewer { tenant actor } }'

describe.each([embedded])('a name', (backend) => {
  const server = useServer(backend)

  async function overHttp(names: Record<string, string>, method = 'POST', accept = 'application/json') {
    const body = JSON.stringify({ query: VIEWER })
    const search = method === 'GET' ? `?${new URLSearchParams({ query: VIEWER })}` : ''
    const headers = {
      accept,
      ...names,
      ...(search ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
    }
    const request = httpRequest(`${server.url}/graphql${search}`, { method, headers }).end(search ? '' : body)
    const [response] = await once(request, 'response')
    let text = ''
    for await (const part of response.setEncoding('utf8')) text += part
    return JSON.parse(/\{.*\}/.exec(text)![0]).data?.viewer
  }

  async function overSocket(connectionParams: object, headers: Record<string, string> = {}) {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers })
    await once(socket, 'open')
    socket.send(JSON.stringify({ type: 'connection_init', payload: connectionParams }))
    const message = once(socket, 'message')
    const closed = once(socket, 'close').then(([code, reason]) => `${code} ${reason}`)
    const answer = await Promise.race([message, closed])
    if (typeof answer === 'string') return answer
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: VIEWER } }))
    const [data] = await once(socket, 'message')
    socket.terminate()
    return JSON.parse(String(data)).payload.data.viewer
  }

  test.each([
    ['ada', 'acme'],
    ['Zoë', 'Größe'],
    ['李', '東京'],
    ['100% 🗼', 'a/b c'],
  ])('%s of %s is the same on every transport', async (actor, tenant) => {
    const names = { 'x-actor': encodeURIComponent(actor), 'x-tenant': encodeURIComponent(tenant) }
    const answers = [
      await overHttp(names),
      await overHttp(names),
      await overHttp(names, 'GET'),
      await overHttp(names, 'POST', 'text/event-stream'),
      await overSocket(names),
      await overSocket({}, names),
      await overSocket({ 'x-actor': names['x-actor'] }, { ...names, 'x-actor': 'other' }),
    ]
    expect(answers).toEqual(answers.map(() => ({ tenant, actor })))
  })

  test.each([
    ['not percent-encoded', { 'x-actor': '100%' }, {}, /^4400 x-actor: is not valid percent-encoded UTF-8/],
    ['too long', { 'x-tenant': 'x'.repeat(201) }, {}, '4400 x-tenant: must be at most 200 characters'],
    ['not a string', { 'x-actor': 7 }, {}, /^4400 x-actor: /],
    ['in Latin-1 in the upgrade', {}, { 'x-actor': 'Zoë' }, /^4400 x-actor: .* percent-encode the name as UTF-8/],
  ])('that is %s closes a WebSocket with the reason', async (_, parameters, headers, closed) => {
    expect(await overSocket(parameters, headers)).toMatch(closed)
  })
})
