// Starts the server as `npm start` does. Answers each request on the Unix socket PROBE_SOCKET with the longest stall of
// the event loop since the previous request, in ms.

import { createServer } from 'node:http'

/** Interval of the timer that detects stalls, ms. */
const TICK_MS = 5

let last = performance.now()
let longest = 0

function tick(): void {
  const now = performance.now()
  longest = Math.max(longest, now - last - TICK_MS)
  last = now
}

setInterval(tick, TICK_MS).unref()
createServer((_, response) => {
  tick()
  response.end(String(longest))
  longest = 0
})
  .listen(process.env.PROBE_SOCKET)
  .unref()

await import('../../src/bin.ts')
