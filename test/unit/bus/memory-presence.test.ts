// Runs the presence contract on the in-memory store, with a fake clock.

import { createMemoryPresence } from '../../../src/bus/memory-presence.ts'
import { presenceContract } from '../../contract/presence.ts'

presenceContract('presence in memory', async () => {
  let now = 0
  const store = createMemoryPresence(() => now)
  return { store, other: store, elapse: async (ms) => void (now += ms) }
})
