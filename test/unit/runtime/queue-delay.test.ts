// The delay of a queue: the shortest wait of a period, also when nothing leaves the queue.

import { expect, test } from 'vitest'
import { QueueDelay } from '../../../src/runtime/queue-delay.ts'

let now = 1_000
const clock = { performance: { now: () => now } }

test('the delay is the shortest wait of the period, so it is small if the queue was empty once', () => {
  const delay = new QueueDelay(clock)
  const first = delay.enter()
  const second = delay.enter()
  now += 300
  delay.leave(first)
  now += 100
  delay.leave(second)
  expect(delay.take(now)).toBe(300)
  const third = delay.enter()
  now += 2
  delay.leave(third)
  expect(delay.take(now)).toBe(2)
})

test('the delay is 0 for an empty queue', () => {
  const delay = new QueueDelay(clock)
  expect(delay.take(now)).toBe(0)
  delay.leave(delay.enter())
  delay.take(now)
  now += 10_000
  expect(delay.take(now)).toBe(0)
})

test('the delay grows while nothing leaves the queue', () => {
  const delay = new QueueDelay(clock)
  now += 5_000
  const entered = delay.enter()
  now += 250
  expect(delay.take(now)).toBe(250)
  now += 250
  expect(delay.take(now)).toBe(500)
  delay.leave(entered)
  delay.take(now)
  expect(delay.take(now)).toBe(0)
})

test('the delay does not fall while work waits and nothing leaves the queue', () => {
  const delay = new QueueDelay(clock)
  const first = delay.enter()
  delay.enter()
  now += 800
  delay.leave(first)
  expect(delay.take(now)).toBe(800)
  now += 250
  expect(delay.take(now)).toBe(800)
})
