// The bus in memory: the contract, and what only one process can promise.

import { expect, test, vi } from 'vitest'
import { createMemoryBus } from '../../src/bus/memory.ts'
import { busContract } from '../contract/bus.ts'

busContract('the bus in memory', async () => {
  const bus = createMemoryBus()
  return { speaker: bus, listener: bus }
})

test('failures of receivers are told to whoever made the bus', async () => {
  const onFailure = vi.fn()
  const bus = createMemoryBus(onFailure)
  await bus.subscribe('topic', () => {
    throw new Error('thrown by a test')
  })
  bus.publish('topic', 'hello')
  await vi.waitFor(() => expect(onFailure).toHaveBeenCalledWith(new Error('thrown by a test')))
})

test('who subscribes after a message was published does not get it', async () => {
  const bus = createMemoryBus()
  const [early, late] = [vi.fn(), vi.fn()]
  await bus.subscribe('topic', early)
  bus.publish('topic', 'hello')
  await bus.subscribe('topic', late)
  await vi.waitFor(() => expect(early).toHaveBeenCalled())
  expect(late).not.toHaveBeenCalled()
})
