// Attacks over sockets and streams: unread answers, floods of pings, and unusual requests.

import { connect } from 'node:net'
import { request } from 'node:http'
import WebSocket from 'ws'
import { appendTurns, check, newConversation, sleep, type Attack } from './attack.ts'
import type { Target } from './target.ts'

const LARGE_TURNS = 100
const LARGE_UNITS = 250_000
const SUBSCRIPTION = `subscription ($id: ID!) {
  conversationEvents(conversationId: $id, afterSeq: 0) { ... on TurnAppended { turn { text } } }
}`

async function openSocket({ port }: Target): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, 'graphql-transport-ws')
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const acknowledged = new Promise((resolve) => socket.once('message', resolve))
  socket.send(JSON.stringify({ type: 'connection_init', payload: { 'x-tenant': 'attacked', 'x-actor': 'mallory' } }))
  await acknowledged
  return socket
}

/** Sends raw bytes, and returns the first line of the response. */
const firstLine = ({ port }: Target, head: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(head))
    socket.setTimeout(10_000, () => socket.destroy(new Error('no response within 10 s')))
    socket.once('data', (data) => {
      resolve(data.toString().split('\r\n')[0]!)
      socket.destroy()
    })
    socket.once('error', reject)
    socket.once('close', () => resolve('closed'))
  })

export const transportAttacks: Attack[] = [
  {
    section: 'A4',
    name: '100 subscriptions on one unread socket',
    async run(target) {
      const id = await newConversation(target)
      await appendTurns(target, id, { count: LARGE_TURNS, units: LARGE_UNITS })
      const socket = await openSocket(target)
      socket.pause()
      for (let n = 0; n < 100; n++) {
        socket.send(
          JSON.stringify({ id: `${n}`, type: 'subscribe', payload: { query: SUBSCRIPTION, variables: { id } } }),
        )
      }
      await sleep(15_000)
      socket.terminate()
      return 'no data was read'
    },
  },
  {
    section: 'A4',
    name: '40 unread Server-Sent Events streams',
    async run(target) {
      const id = await newConversation(target)
      await appendTurns(target, id, { count: LARGE_TURNS, units: LARGE_UNITS })
      const requests = Array.from({ length: 40 }, () => {
        const sent = request({
          port: target.port,
          path: '/graphql',
          method: 'POST',
          headers: {
            accept: 'text/event-stream',
            'content-type': 'application/json',
            'x-tenant': 'attacked',
            'x-actor': 'mallory',
          },
        })
        // The response is never read.
        sent.on('response', (response) => response.pause())
        sent.on('error', () => {})
        sent.end(JSON.stringify({ query: SUBSCRIPTION, variables: { id } }))
        return sent
      })
      await sleep(15_000)
      for (const sent of requests) sent.destroy()
      return 'no data was read'
    },
  },
  {
    section: 'A5',
    name: '400,000 pings with unread pongs',
    async run(target) {
      const socket = await openSocket(target)
      let code: number | null = null
      socket.once('close', (reason) => (code = reason))
      socket.on('error', () => {})
      socket.pause()
      const ping = JSON.stringify({ type: 'ping', payload: { text: 'x'.repeat(1_000) } })
      for (let n = 0; n < 400_000 && socket.readyState === WebSocket.OPEN; n++) {
        socket.send(ping)
        if (n % 1_000 === 0) await sleep(1)
      }
      socket.resume()
      await sleep(3_000)
      socket.terminate()
      return code === null ? 'the socket stayed open' : `closed with ${String(code)}`
    },
  },
  {
    section: 'C',
    name: 'OPTIONS * and an absolute target',
    async run(target) {
      const lines = [
        await firstLine(target, 'OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n'),
        await firstLine(target, `GET http://127.0.0.1:${target.port}/health HTTP/1.1\r\nhost: localhost\r\n\r\n`),
        await firstLine(target, 'GET http://[ HTTP/1.1\r\nhost: localhost\r\n\r\n'),
      ]
      check(!lines.some((line) => / 5\d\d /.test(line)), lines.join('; '))
      return lines.map((line) => line.slice(9, 12)).join(', ')
    },
  },
]
