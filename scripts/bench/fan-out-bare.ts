// The limit of fan-out: a server that answers an append without reading or storing anything, and writes a WebSocket
// frame with the turn to each subscriber's socket. It renders the turn once, with the fields that the benchmark
// selects.

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocketServer, type RawData } from 'ws'

/** Length of the operation ids of fan-out-subscribers.ts. */
const ID_LENGTH = randomUUID().length
/** Text before the id in a message. */
const MESSAGE_START = '{"id":"'
/** Size of the header of an unmasked text frame whose payload has 126 to 65,535 bytes. */
const HEADER_SIZE = 4
const FINAL_TEXT = 0x81
const LENGTH_FOLLOWS = 126

type Subscriber = { socket: Socket; id: string }
const subscribers = new Map<string, Set<Subscriber>>()
let seq = 0

/** Returns the frame of a `next` message, with ID_LENGTH bytes reserved for the operation's id. */
function frameOf(payload: string): Buffer {
  const message = `${MESSAGE_START}${' '.repeat(ID_LENGTH)}","type":"next","payload":${payload}}`
  const size = Buffer.byteLength(message)
  const frame = Buffer.alloc(HEADER_SIZE + size)
  frame[0] = FINAL_TEXT
  frame[1] = LENGTH_FOLLOWS
  frame.writeUInt16BE(size, 2)
  frame.write(message, HEADER_SIZE)
  return frame
}

function appendTurn(conversationId: string, text: string): string {
  const turn = { id: `turn_${randomUUID().slice(0, 26)}`, seq: ++seq }
  const createdAt = new Date().toISOString()
  const conversationEvents = {
    __typename: 'TurnAppended',
    seq,
    turn: { ...turn, actor: 'speaker', role: 'USER', text, createdAt },
  }
  const frame = frameOf(JSON.stringify({ data: { conversationEvents } }))
  for (const { socket, id } of subscribers.get(conversationId) ?? []) {
    const own = Buffer.from(frame)
    own.write(id, HEADER_SIZE + MESSAGE_START.length, 'latin1')
    socket.write(own)
  }
  return JSON.stringify({ data: { appendTurn: { turn } } })
}

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const { variables } = JSON.parse(Buffer.concat(parts).toString()) as {
      variables: { conversationId: string; text: string }
    }
    const body = appendTurn(variables.conversationId, variables.text)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    response.end(body)
  })
})

type Message = { type: string; id: string; payload?: { variables: { conversationId: string } } }

new WebSocketServer({ server, path: '/graphql', perMessageDeflate: false }).on(
  'connection',
  (webSocket, { socket }) => {
    webSocket.on('message', (data: RawData) => {
      // ws passes one Buffer by default.
      const { type, id, payload } = JSON.parse((data as Buffer).toString()) as Message
      if (type === 'connection_init') return void webSocket.send('{"type":"connection_ack"}')
      const { conversationId } = payload!.variables
      const following = subscribers.get(conversationId) ?? new Set()
      subscribers.set(conversationId, following.add({ socket, id }))
    })
  },
)

server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
})
process.once('SIGTERM', () => process.exit())
