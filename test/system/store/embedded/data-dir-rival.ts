// Worker thread of data-dir.test.ts: in each round it tries to lock the same directory at the same moment as the other
// threads.

import { join } from 'node:path'
import { workerData } from 'node:worker_threads'
import { DataDirInUse, lockDataDir } from '../../../../src/store/embedded/data-dir.ts'

/**
 * `arrived` counts how often a thread was ready for a round, in total. `won` counts for each round the threads that got
 * the lock.
 */
export type Race = { directory: string; rivals: number; rounds: number; arrived: Int32Array; won: Int32Array }

const { directory, rivals, rounds, arrived, won } = workerData as Race

for (let round = 0; round < rounds; round++) {
  const all = (round + 1) * rivals
  if (Atomics.add(arrived, 0, 1) + 1 === all) Atomics.notify(arrived, 0)
  for (let seen = Atomics.load(arrived, 0); seen < all; seen = Atomics.load(arrived, 0)) Atomics.wait(arrived, 0, seen)
  try {
    lockDataDir(join(directory, String(round)))
    Atomics.add(won, round, 1)
  } catch (error) {
    if (!(error instanceof DataDirInUse)) throw error
  }
}
