// WebSockets of the page that a button can cut, to show that a client resumes without a loss.

/** The open sockets of the page. */
const open = new Set<WebSocket>()

/** Time until which new sockets are cut, ms since 1970. */
let cutUntil = 0

/** A WebSocket that cutSockets can close. Pass it to `connect`. */
export class CuttableWebSocket extends WebSocket {
  constructor(url: string | URL, protocols?: string | string[]) {
    super(url, protocols)
    open.add(this)
    this.addEventListener('close', () => open.delete(this))
    if (Date.now() < cutUntil) this.close()
  }
}

/** Closes all sockets, as a lost connection would, and for `ms` also each new one. */
export function cutSockets(ms: number): void {
  cutUntil = Date.now() + ms
  for (const socket of open) socket.close()
}
