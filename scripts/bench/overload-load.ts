// The load generator of overload.ts, in a process of its own: sends requests at a given rate, whether or not the server
// answers the earlier ones. A connection carries one request at a time; more are opened while all are busy.

import { openConnection, type Connection } from './http-client.ts'
import { answer } from './process.ts'

export type OpenLoad = {
  port: number
  /** Request bodies, sent in rotation. */
  bodies: string[]
  perSecond: number
  /** Time before the measurement starts, and the duration of the measurement, ms. */
  warmUpMs: number
  ms: number
}
export type OpenLoadResult = {
  /** Requests per second that were sent, answered with 200, and refused with 503. */
  sent: number
  served: number
  refused: number
  /** Requests that could not be sent, because all connections were busy, or no further one was accepted. */
  unsent: number
  /** Percentiles of the time from sending to a 200, ms. */
  p50: number
  p99: number
  /** Number of answers with another status, and the first such answer. */
  failed: number
  failure: string | null
}

/** Maximum number of connections. */
const MAX_CONNECTIONS = 1_000
/** Interval at which the due requests are sent, ms. */
const STEP_MS = 2

answer<OpenLoad, OpenLoadResult>(async ({ port, bodies, perSecond, warmUpMs, ms }) => {
  const idle: Connection[] = []
  const all: Connection[] = []
  const times: number[] = []
  let [opening, next, sent, refused, unsent, failed] = [0, 0, 0, 0, 0, 0]
  let failure: string | null = null
  const begin = performance.now() + warmUpMs
  const end = begin + ms
  const isMeasured = (time: number) => time >= begin && time < end

  async function open(): Promise<Connection> {
    opening += 1
    const connection = await openConnection(port).finally(() => (opening -= 1))
    all.push(connection)
    return connection
  }

  async function send(): Promise<void> {
    const started = performance.now()
    const counts = isMeasured(started)
    if (idle.length === 0 && all.length + opening >= MAX_CONNECTIONS) {
      if (counts) unsent += 1
      return
    }
    // A listening socket drops connections beyond its backlog.
    const connection = idle.pop() ?? (await open().catch(() => null))
    if (!connection) {
      if (counts) unsent += 1
      return
    }
    if (counts) sent += 1
    try {
      const { status, body } = await connection.post('/graphql', bodies[next++ % bodies.length]!)
      idle.push(connection)
      const now = performance.now()
      if (status === 200 && !body.includes('"errors"')) {
        if (isMeasured(now)) times.push(now - started)
      } else if (status === 503) {
        if (isMeasured(now)) refused += 1
      } else throw new Error(`${status} ${body.toString().slice(0, 300)}`)
    } catch (error) {
      failed += 1
      failure ??= String(error)
    }
  }

  const pending = new Set<Promise<void>>()
  let due = 0
  let last = performance.now()
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const now = performance.now()
      due += ((now - last) * perSecond) / 1000
      last = now
      for (; due >= 1; due -= 1) {
        const request: Promise<void> = send().finally(() => pending.delete(request))
        pending.add(request)
      }
      if (now < end) return
      clearInterval(timer)
      resolve()
    }, STEP_MS)
  })
  await Promise.all(pending)
  for (const connection of all) connection.close()
  times.sort((a, b) => a - b)
  const rate = (count: number) => (count * 1000) / ms
  return {
    sent: rate(sent),
    served: rate(times.length),
    refused: rate(refused),
    unsent,
    p50: times[times.length >> 1] ?? NaN,
    p99: times[Math.floor(times.length * 0.99)] ?? NaN,
    failed,
    failure,
  }
})
