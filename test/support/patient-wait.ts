// Set-up of each test file: vi.waitFor waits as long as expect.poll does (see vitest.config.ts), instead of one second.

import { vi } from 'vitest'
import { PATIENCE_MS } from './patience.ts'

const isPatient = Symbol.for('colloquy.isPatient')

// Test files that share a process share `vi`, which is changed once.
if (!(isPatient in vi)) {
  const { waitFor } = vi
  const wait: typeof waitFor = (check, options) =>
    waitFor(check, { timeout: PATIENCE_MS, ...(typeof options === 'number' ? { timeout: options } : options) })
  Object.assign(vi, { waitFor: wait, [isPatient]: true })
}
