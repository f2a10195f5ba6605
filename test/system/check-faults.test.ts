// The short form of `npm run check:faults`, on each store, and one of its planted bugs.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { isExhaustive, isLong } from '../support/long.ts'

const root = new URL('../..', import.meta.url)

/** Runs the command, and expects that it finds no violation. Returns its output. */
async function check(...args: string[]): Promise<string> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'scripts/faults/main.ts', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  const [code] = await once(child, 'close')
  expect(code, out).toBe(0)
  return out
}

describe.runIf(isLong)('npm run check:faults', () => {
  it('finds no violation in an embedded server', async () => {
    expect(await check('--seconds', '5', '--store', 'embedded')).toMatch(/embedded +(server|clients): /)
  })

  it.skipIf(!process.env.SERVICES)('finds no violation in four servers (needs SERVICES)', async () => {
    expect(await check('--seconds', '10', '--store', 'postgres')).toMatch(
      /postgres +(Postgres|Redis|server|clients|two)/,
    )
  })

  // Without LONG=2 the test is not registered, rather than skipped, because CI accepts no skipped test.
  if (isExhaustive) {
    it('finds a planted bug', async () => {
      expect(await check('--planted', 'audience')).toContain('1 of 1 planted bugs found')
    })
  }
})
