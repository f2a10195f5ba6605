// The load generator, in a process of its own: connections that each send one request after the other for a given time.

import { openConnection } from './http-client.ts'
import { answer } from './process.ts'

export type Load = {
  port: number
  path: string
  /** Request bodies, sent in rotation. */
  bodies: string[]
  connections: number
  /** Duration of the load, ms. */
  ms: number
  /** A text that every response must contain, or the load fails. */
  expectedText: string
}
/** Number of requests, requests per second, and percentiles of the response time, ms. */
export type LoadResult = { requests: number; perSecond: number; p50: number; p99: number }

answer<Load, LoadResult>(async ({ port, path, bodies, connections, ms, expectedText }) => {
  const open = await Promise.all(Array.from({ length: connections }, () => openConnection(port)))
  const times: number[] = []
  let next = 0
  const begin = performance.now()
  const until = begin + ms
  await Promise.all(
    open.map(async (connection) => {
      for (let now = begin; now < until;) {
        const { status, body } = await connection.post(path, bodies[next++ % bodies.length]!)
        if (status !== 200 || !body.includes(expectedText))
          throw new Error(`${status} ${body.toString().slice(0, 500)}`)
        const received = performance.now()
        times.push(received - now)
        now = received
      }
    }),
  )
  const seconds = (performance.now() - begin) / 1_000
  for (const connection of open) connection.close()
  times.sort((a, b) => a - b)
  return {
    requests: times.length,
    perSecond: times.length / seconds,
    p50: times[times.length >> 1]!,
    p99: times[Math.floor(times.length * 0.99)]!,
  }
})
