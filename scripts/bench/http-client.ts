// A minimal HTTP client for one keep-alive connection and one request at a time, because Node's own client uses more
// processor time than the servers under test.

import { connect, type Socket } from 'node:net'

export type Answer = { status: number; body: Buffer }

export type Connection = {
  /** Posts a JSON body. Rejects if the connection ends before the response. */
  post(path: string, body: string): Promise<Answer>
  close(): void
}

type Waiting = { resolve(answer: Answer): void; reject(error: Error): void }

const HEAD_END = '\r\n\r\n'
const LAST_CHUNK = '\r\n0\r\n\r\n'

export async function openConnection(port: number): Promise<Connection> {
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  let waiting: Waiting | null = null
  let head: Buffer | null = null
  let status = 0
  /** Length of the body in bytes; null if the body is chunked. */
  let length: number | null = 0
  let parts: Buffer[] = []
  let received = 0

  function done(): void {
    const body = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    parts = []
    received = 0
    const { resolve } = waiting!
    waiting = null
    resolve({ status, body: length === null ? joinChunks(body) : body })
  }

  function addPart(part: Buffer): void {
    if (part.length) parts.push(part)
    received += part.length
    if (length === null ? endsChunked(parts) : received >= length) done()
  }

  let reading = false
  socket.on('data', (data: Buffer) => {
    if (reading) return addPart(data)
    const all = head ? Buffer.concat([head, data]) : data
    const end = all.indexOf(HEAD_END)
    if (end < 0) return void (head = all)
    head = null
    const text = all.toString('latin1', 0, end).toLowerCase()
    status = Number(text.slice(9, 12))
    const contentLength = /\r\ncontent-length: *(\d+)/.exec(text)
    length = contentLength ? Number(contentLength[1]) : null
    reading = true
    addPart(all.subarray(end + HEAD_END.length))
  })
  const fail = (error: Error) => {
    waiting?.reject(error)
    waiting = null
  }
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the server closed the connection')))

  return {
    post(path, body) {
      reading = false
      return new Promise((resolve, reject) => {
        // Servers close idle connections; Node's server closes them after 5 s.
        if (socket.destroyed) return reject(new Error('the server closed the connection'))
        waiting = { resolve, reject }
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n`
            + `Accept: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
        )
      })
    },
    close: () => void socket.destroy(),
  }
}

/** Whether the last chunk of a chunked body has arrived. The chunk may be split over several parts. */
function endsChunked(parts: Buffer[]): boolean {
  const last = parts.at(-1)
  if (!last) return false
  const tail = (last.length >= LAST_CHUNK.length ? last : Buffer.concat(parts.slice(-8))).toString('latin1')
  return tail.endsWith(LAST_CHUNK) || tail === LAST_CHUNK.slice(2)
}

function joinChunks(body: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; ;) {
    const line = body.indexOf('\r\n', at)
    const size = parseInt(body.toString('latin1', at, line), 16)
    if (!(size > 0)) return Buffer.concat(parts)
    parts.push(body.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
}
