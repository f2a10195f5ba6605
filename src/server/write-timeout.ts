// Closes connections whose client has accepted no data within a time limit although data waits for it. Applies to
// responses, event streams and WebSockets.

import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** Number of checks per time limit. A stalled connection is closed at most one interval late. */
const CHECKS = 4

/** The operating system's handle of a socket. Its queue shrinks while a large write makes progress. */
type WithHandle = { _handle?: { writeQueueSize?: number } | null }

/** The last progress of a connection: the text of `acceptedBy`, and the time of its last change, ms. */
type Progress = { accepted: string; since: number }

/** Returns a text that changes whenever the client accepts more data. */
const acceptedBy = (socket: Socket) =>
  `${socket.bytesWritten - socket.writableLength} ${(socket as WithHandle)._handle?.writeQueueSize ?? 0}`

/**
 * Watches the server's connections until it closes.
 * @param ms time without progress after which a connection is closed, ms
 * @param onStalled called before a connection is closed
 */
export function closeStalled(http: Server, ms: number, onStalled: (socket: Socket) => void): void {
  const watched = new Map<Socket, Progress | null>()
  http.on('connection', (socket) => {
    watched.set(socket, null)
    socket.once('close', () => watched.delete(socket))
  })
  const timer = setInterval(() => {
    const now = performance.now()
    for (const [socket, progress] of watched) {
      if (socket.writableLength === 0) {
        if (progress) watched.set(socket, null)
        continue
      }
      const accepted = acceptedBy(socket)
      if (progress?.accepted !== accepted) {
        watched.set(socket, { accepted, since: now })
      } else if (now - progress.since >= ms) {
        onStalled(socket)
        socket.destroy()
      }
    }
  }, ms / CHECKS)
  timer.unref()
  http.once('close', () => clearInterval(timer))
}
