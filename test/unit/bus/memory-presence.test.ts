// Runs the presence contract on the in-memory store, with a fake clock.

import { createMemoryPresence } from '../../../src/bus/memory-presence.ts'
import { presenceContract } from '../../contract/presence.ts'
import { fakeClock } from '../../support/fake-clock.ts'

presenceContract('presence in memory', async () => {
  const clock = fakeClock()
  const store = createMemoryPresence(clock)
  return { store, other: store, elapse: clock.advance }
})
