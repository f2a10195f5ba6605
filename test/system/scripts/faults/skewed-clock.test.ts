// The preloaded module that shifts the clock of a server process.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const PROGRAM = `
const offset = () => Math.round((Date.now() - performance.timeOrigin - performance.now()) / 60_000)
const before = offset()
const isShifted = Math.abs(new Date() - Date.now()) < 1000 && new Date() instanceof Date
process.once('SIGUSR2', () => setImmediate(() => {
  console.log(JSON.stringify([before, offset(), isShifted, new Date(0).getTime(), Date.UTC(1970, 0)]))
  clearInterval(waiting)
}))
const waiting = setInterval(() => {}, 1000)
process.kill(process.pid, 'SIGUSR2')`

test.each([
  ['0', [0, 5]],
  ['300000', [5, -5]],
])('with CLOCK_OFFSET_MS=%s, the clock is shifted by %j minutes before and after SIGUSR2', async (offset, minutes) => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--import',
      'tsx',
      '--import',
      new URL('../../../../scripts/faults/skewed-clock.ts', import.meta.url).pathname,
      '--eval',
      PROGRAM,
    ],
    { env: { ...process.env, CLOCK_OFFSET_MS: offset } },
  )
  expect(JSON.parse(stdout)).toEqual([...minutes, true, 0, 0])
})
