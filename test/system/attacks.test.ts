// Attacks of `npm run check:attacks` on Postgres or, without it, on the embedded database: twin worlds and random
// operations in their short form, errors of providers, and GraphiQL. Only the command runs the other attacks, because
// they take minutes and gigabytes of memory.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { backends } from '../support/backend.ts'
import { isExhaustive, isLong } from '../support/long.ts'

const root = new URL('../..', import.meta.url)

/** Runs the command and returns the rows that it printed, without its header. */
async function rowsOf(...args: string[]): Promise<string[]> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'scripts/attacks/main.ts', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let log = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
  const [code] = await once(child, 'close')
  expect(code, log).toBe(0)
  return out.trim().split('\n').slice(2)
}

describe.runIf(isLong)('npm run check:attacks', () => {
  it.each([
    ['canary', 'pairs of answers equal'],
    ['fuzz', 'answered'],
    ['provider', 'masked'],
    ['GraphiQL on loopback', 'not framed'],
    ['the web app', 'not framed'],
    ['GraphiQL and introspection', 'off'],
  ])('resists the attack "%s"', async (attack, outcome) => {
    const stores = isExhaustive ? backends : backends.slice(-1)
    const rows = await Promise.all(stores.map(({ name }) => rowsOf(attack, '--short', '--store', name)))
    expect(rows.flat()).toHaveLength(stores.length)
    for (const row of rows.flat()) expect(row).toMatch(new RegExp(` ok .*${outcome}`))
  })
})
