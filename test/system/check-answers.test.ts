// The short form of `npm run check:answers`, on each store.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { isLong } from '../support/long.ts'

const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env

/** Runs the command, and expects that it finds no violation. Returns its output. */
async function check(...args: string[]): Promise<string> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'scripts/answers/main.ts', ...args], {
    cwd: new URL('../..', import.meta.url),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  const [code] = await once(child, 'close')
  expect(code, out).toBe(0)
  return out
}

describe.runIf(isLong)('npm run check:answers', () => {
  it('finds one answer for each turn on an embedded server', async () => {
    const out = await check('--turns', '30', '--replicas', '4', '--store', 'embedded')
    expect(out).toMatch(/^answered once +30 /m)
  })

  it.skipIf(!TEST_DATABASE_URL || !TEST_REDIS_URL)(
    'finds one answer for each turn on two servers (needs TEST_DATABASE_URL, TEST_REDIS_URL)',
    async () => {
      const out = await check('--turns', '50', '--replicas', '4')
      expect(out).toMatch(/^answered once +50 /m)
    },
  )
})
