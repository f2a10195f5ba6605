// The subscribers of fan-out.ts, in a process of their own: raw sockets with a minimal WebSocket and
// graphql-transport-ws client that only counts frames, so that a thousand clients use little processor time. Only the
// first client reads every frame.

import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { answer } from './process.ts'

export type Command =
  /** Connects `count` sockets, and subscribes each with its own operation id, as one of `actors` actors in rotation. */
  | { do: 'open'; port: number; query: string; variables: object; count: number; actors: number }
  /** Resets the counts. From now on, `frames` frames are expected on each socket. */
  | { do: 'expect'; frames: number }
  /** Replies when the expected frames have arrived on all sockets, or after `ms`. */
  | { do: 'await'; ms: number }
  /** Replies with the latencies over all sockets, from `since[n]` to the arrival of frame n. */
  | { do: 'latencies'; since: number[] }

export type Arrivals = {
  /** Minimum and maximum number of frames on a socket. */
  minFrames: number
  maxFrames: number
  /** Whether all sockets received as many payload bytes as the first one. */
  hasEqualSizes: boolean
  /** Time of the last arrival, as returned by `now`. */
  lastArrival: number
  /** The frames of the first socket. */
  frames: string[]
}
/** Percentiles, ms. */
export type Latencies = { p50: number; p99: number }
export type Reply = Arrivals | Latencies | null

/** Milliseconds on a clock shared by all processes of the machine. */
export function now(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + nanoseconds / 1e6
}

const TEXT = 1
const PING = 9
const PONG = 10
/** Number of frames per socket whose arrival times are kept. */
const KEPT_ARRIVALS = 256

let counts = new Int32Array(0)
let bytes = new Float64Array(0)
let arrivals = new Float64Array(0)
let frames: string[] = []
let expected = Infinity
let missing = 0
let last = 0
let complete: (() => void) | null = null

type Opening = Extract<Command, { do: 'open' }>

/** A WebSocket frame of a client, masked with zeros. */
function frameOf(opcode: number, payload: Buffer): Buffer {
  const header =
    payload.length < 126
      ? Buffer.from([0x80 | opcode, 0x80 | payload.length])
      : Buffer.from([0x80 | opcode, 0x80 | 126, payload.length >> 8, payload.length & 0xff])
  return Buffer.concat([header, Buffer.alloc(4), payload])
}

/** Counts a frame on a socket. */
function arrive(index: number, size: number): void {
  const count = counts[index]!
  counts[index] = count + 1
  bytes[index]! += size
  if (count < KEPT_ARRIVALS) arrivals[count * counts.length + index] = last
  if (count + 1 === expected && --missing === 0) complete?.()
}

/**
 * Returns a function that takes received data and calls `onFrame` for each frame. The payload is null unless `isRead`
 * returns true for the frame's opcode.
 */
function frameReader(
  isRead: (opcode: number) => boolean,
  onFrame: (opcode: number, size: number, payload: Buffer | null) => void,
): (data: Buffer) => void {
  let rest: Buffer | null = null
  let skip = 0
  let skipped: { opcode: number; size: number } | null = null
  return (data) => {
    const buffer = rest ? Buffer.concat([rest, data]) : data
    rest = null
    let at = 0
    if (skip > 0) {
      at = Math.min(skip, buffer.length)
      skip -= at
      if (skip === 0) onFrame(skipped!.opcode, skipped!.size, null)
    }
    while (at < buffer.length) {
      const left = buffer.length - at
      const short = left > 1 ? buffer[at + 1]! & 0x7f : 0
      const header = short < 126 ? 2 : short === 126 ? 4 : 10
      if (left < header) break
      const opcode = buffer[at]! & 0x0f
      const long = () => (short === 126 ? buffer.readUInt16BE(at + 2) : Number(buffer.readBigUInt64BE(at + 2)))
      const size = short < 126 ? short : long()
      const isPayloadRead = isRead(opcode)
      if (left < header + size) {
        if (isPayloadRead) break
        skip = header + size - left
        skipped = { opcode, size }
        return
      }
      onFrame(opcode, size, isPayloadRead ? buffer.subarray(at + header, at + header + size) : null)
      at += header + size
    }
    if (at < buffer.length) rest = buffer.subarray(at)
  }
}

function open(index: number, { port, query, variables, actors }: Opening): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const id = randomUUID()
    const send = (message: object) => socket.write(frameOf(TEXT, Buffer.from(JSON.stringify(message))))
    let acknowledged = false
    const read = frameReader(
      (opcode) => index === 0 || opcode !== TEXT || !acknowledged,
      (opcode, size, payload) => {
        if (opcode === PING) return void socket.write(frameOf(PONG, payload!))
        if (opcode !== TEXT) return
        if (acknowledged) {
          if (payload) frames.push(payload.toString())
          return arrive(index, size)
        }
        if (!payload!.includes('"connection_ack"')) return
        acknowledged = true
        send({ id, type: 'subscribe', payload: { query, variables } })
        resolve(socket)
      },
    )
    let upgraded = false
    let head = ''
    socket.on('data', (data: Buffer) => {
      if (upgraded) {
        last = now()
        return read(data)
      }
      head += data.toString('latin1')
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) return
      if (!head.startsWith('HTTP/1.1 101')) return reject(new Error(head))
      upgraded = true
      send({ type: 'connection_init', payload: { 'x-actor': `reader-${index % actors}` } })
      if (head.length > end + 4) read(Buffer.from(head.slice(end + 4), 'latin1'))
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed a socket')))
    socket.write(
      `GET /graphql HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n`
        + 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n'
        + 'Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n',
    )
  })
}

const reset = (count: number) => {
  counts = new Int32Array(count)
  bytes = new Float64Array(count)
  arrivals = new Float64Array(count * KEPT_ARRIVALS)
  frames = []
}

answer<Command, Reply>(async (command) => {
  switch (command.do) {
    case 'open':
      reset(command.count)
      // In batches, because the server's backlog of new connections is limited.
      for (let from = 0; from < command.count; from += 100) {
        const batch = Array.from({ length: Math.min(100, command.count - from) }, (_, index) => from + index)
        await Promise.all(batch.map((index) => open(index, command)))
      }
      return null
    case 'expect':
      reset(counts.length)
      expected = command.frames
      missing = counts.length
      return null
    case 'await': {
      if (missing > 0)
        await new Promise<void>((resolve) => {
          complete = resolve
          setTimeout(resolve, command.ms)
        })
      complete = null
      const hasEqualSizes = bytes.every((size) => size === bytes[0])
      return {
        minFrames: Math.min(...counts),
        maxFrames: Math.max(...counts),
        hasEqualSizes,
        lastArrival: last,
        frames,
      }
    }
    case 'latencies': {
      const times: number[] = []
      for (const [event, since] of command.since.entries()) {
        for (let index = 0; index < counts.length; index++) times.push(arrivals[event * counts.length + index]! - since)
      }
      times.sort((a, b) => a - b)
      return { p50: times[times.length >> 1]!, p99: times[Math.floor(times.length * 0.99)]! }
    }
  }
})
