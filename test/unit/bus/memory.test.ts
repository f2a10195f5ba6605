// Runs the bus contract on the in-memory bus, and tests the guarantees that only a single process can give.

import { expect, test, vi } from 'vitest'
import { createMemoryBus } from '../../../src/bus/memory.ts'
import { busContract } from '../../contract/bus.ts'

busContract('the bus in memory', async () => {
  const bus = createMemoryBus()
  return { publisher: bus, listener: bus }
})

test('the bus reports the errors of receivers to its creator', async () => {
  const onFailure = vi.fn()
  const bus = createMemoryBus(onFailure)
  await bus.subscribe('topic', () => {
    throw new Error('thrown by a test')
  })
  bus.publish('topic', 'hello')
  await vi.waitFor(() => expect(onFailure).toHaveBeenCalledWith(new Error('thrown by a test')))
})

test('a subscriber does not receive messages published before it subscribed', async () => {
  const bus = createMemoryBus()
  const [early, late] = [vi.fn(), vi.fn()]
  await bus.subscribe('topic', early)
  bus.publish('topic', 'hello')
  await bus.subscribe('topic', late)
  await vi.waitFor(() => expect(early).toHaveBeenCalled())
  expect(late).not.toHaveBeenCalled()
})
