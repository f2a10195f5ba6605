// Global set-up of vitest: creates a temporary directory for the whole run, and deletes it afterwards, with the files
// of killed processes.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Sets TMPDIR, which the test processes inherit. Returns the function that deletes the directory. */
export function setup(): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
  process.env.TMPDIR = directory
  return () => rmSync(directory, { recursive: true, force: true })
}
