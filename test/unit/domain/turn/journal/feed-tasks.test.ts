// The task queue of a feed while its reads fail: after the first failure, it reads only for checks, regardless of the
// tasks that arrive.

import { expect, it, vi } from 'vitest'
import { createFeedTasks, type FeedTask } from '../../../../../src/domain/turn/journal/feed-tasks.ts'

const nextIteration = () => new Promise((resolve) => setImmediate(resolve))

function start() {
  let isBroken = false
  const ran: FeedTask['type'][] = []
  const onFailure = vi.fn<(error: unknown, failures: number) => void>()
  const onRecovery = vi.fn<() => void>()
  const tasks = createFeedTasks(
    async (task) => {
      ran.push(task.type)
      await nextIteration()
      if (isBroken) throw new Error('down')
      if (task.type === 'reach') task.resolve()
    },
    { onFailure, onRecovery },
  )
  tasks.start()
  return {
    tasks,
    ran,
    onFailure,
    onRecovery,
    setBroken: (broken: boolean) => {
      isBroken = broken
    },
    /** Adds tasks, and waits until the queue is empty. */
    async add(...added: FeedTask[]) {
      for (const task of added) tasks.add(task)
      for (let n = 0; n < added.length + 10; n++) await nextIteration()
    },
  }
}
const entries: FeedTask = { type: 'entries', seq: 1 }
const check: FeedTask = { type: 'check' }

it('runs only checks after a failure, until a check succeeds', async () => {
  const queue = start()
  await queue.add(entries, entries)
  queue.setBroken(true)
  await queue.add(...Array.from({ length: 100 }, () => entries))
  await queue.add(entries, check, entries, check)
  expect(queue.ran).toEqual(['entries', 'entries', 'entries', 'check', 'check'])
  expect(queue.onFailure.mock.calls.map(([, failures]) => failures)).toEqual([1, 2, 3])
  expect(queue.tasks.isFailing).toBe(true)

  queue.setBroken(false)
  await queue.add(entries, check, entries)
  expect(queue.ran.slice(5)).toEqual(['check', 'entries'])
  expect(queue.onRecovery).toHaveBeenCalledOnce()
  expect(queue.tasks.isFailing).toBe(false)
})

it('keeps the tasks of waiting readers, and runs them once a check succeeds', async () => {
  const queue = start()
  const [first, second] = [vi.fn<() => void>(), vi.fn<() => void>()]
  queue.setBroken(true)
  await queue.add({ type: 'reach', seq: 1, resolve: first }, { type: 'reach', seq: 2, resolve: second })
  expect(queue.ran).toEqual(['reach'])
  queue.setBroken(false)
  await queue.add(check)
  expect(queue.ran).toEqual(['reach', 'check', 'reach', 'reach'])
  expect([first.mock.calls.length, second.mock.calls.length]).toEqual([1, 1])
})

it('runs a deletion while reads fail, and resolves waiting readers when it is stopped', async () => {
  const queue = start()
  const resolve = vi.fn<() => void>()
  queue.setBroken(true)
  await queue.add(entries, { type: 'reach', seq: 1, resolve }, { type: 'deleted' })
  expect(queue.ran).toEqual(['entries', 'deleted'])
  queue.tasks.stop()
  expect(resolve).toHaveBeenCalledOnce()
  await queue.add(check)
  expect(queue.ran).toHaveLength(2)
})
