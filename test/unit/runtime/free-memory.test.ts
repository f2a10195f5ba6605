// freeMemory collects unreachable objects and shrinks V8's young generation.

import { getHeapSpaceStatistics } from 'node:v8'
import { expect, it } from 'vitest'
import { freeMemory } from '../../../src/runtime/free-memory.ts'

const youngBytes = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!.space_size

it('freeMemory shrinks the young generation, and collects an object without references', async () => {
  // Objects that survive collections enlarge the young generation.
  let survivors: object[] = []
  for (let i = 0; i < 500_000; i++) survivors.push({ i })
  const before = youngBytes()
  const dropped = new WeakRef(survivors[0]!)
  survivors = []
  // A WeakRef keeps its object until the end of the task that made it.
  await new Promise((resolve) => setImmediate(resolve))
  await freeMemory()
  expect(youngBytes()).toBeLessThan(before)
  expect(dropped.deref()).toBeUndefined()
})
