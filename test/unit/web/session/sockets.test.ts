// Sockets that a button cuts.

import { afterEach, beforeEach, expect, it, vi } from 'vitest'

class FakeWebSocket extends EventTarget {
  isOpen = true
  close(): void {
    this.isOpen = false
    this.dispatchEvent(new Event('close'))
  }
}

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('WebSocket', FakeWebSocket)
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

it('are closed, and so are new ones for some time', async () => {
  const { CuttableWebSocket, cutSockets } = await import('../../../../src/web/session/sockets.ts')
  const open = () => new CuttableWebSocket('ws://127.0.0.1') as unknown as FakeWebSocket
  const [first, second] = [open(), open()]
  expect([first.isOpen, second.isOpen]).toEqual([true, true])
  cutSockets(3_000)
  expect([first.isOpen, second.isOpen, open().isOpen]).toEqual([false, false, false])
  vi.advanceTimersByTime(2_999)
  expect(open().isOpen).toBe(false)
  vi.advanceTimersByTime(1)
  expect(open().isOpen).toBe(true)
})
