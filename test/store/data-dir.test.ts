// The lock on a data directory: one owner at any time, and never a dead one.

import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { lockDataDir } from '../../src/store/data-dir.ts'
import { startThread } from '../../src/thread.ts'
import type { Race } from './data-dir-rival.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const owner = () => readFileSync(join(directory, 'lock'), 'utf8').split('\n')[0]

it('taking the lock creates the directory, and leaves no file in it after the release', () => {
  const nested = join(directory, 'new', 'data')
  const release = lockDataDir(nested)
  expect(readdirSync(nested)).toEqual(['lock'])
  release()
  expect(readdirSync(nested)).toEqual([])
})

it('the lock is refused while it is held, and granted after the release', () => {
  const release = lockDataDir(directory)
  expect(() => lockDataDir(directory)).toThrow(`is in use by process ${process.pid}`)
  release()
  lockDataDir(directory)
})

it('the lock is not released by a process that no longer owns it', () => {
  const release = lockDataDir(directory)
  rmSync(join(directory, 'lock'))
  lockDataDir(directory)
  release()
  expect(owner()).toBe(String(process.pid))
})

it.each([
  ['is gone', '999999999\n1\nelder\n'],
  ['had the pid that is now our own, as in a container', `${process.pid}\n1\nelder\n`],
  ['left an empty lock, as when the machine lost power', ''],
])('the lock is taken over from an owner that %s', (_, lock) => {
  writeFileSync(join(directory, 'lock'), lock)
  lockDataDir(directory)
  expect(owner()).toBe(String(process.pid))
  expect(readdirSync(directory)).toEqual(['lock'])
})

// Only Linux reports the start time of another process.
it.runIf(process.platform === 'linux')('the lock belongs to the process, not to its pid', () => {
  const birth = readFileSync('/proc/1/stat', 'utf8').split(') ').at(-1)!.split(' ')[19]
  writeFileSync(join(directory, 'lock'), `1\n${birth}\nelder\n`)
  expect(() => lockDataDir(directory)).toThrow('is in use by process 1.')
  writeFileSync(join(directory, 'lock'), `1\n${birth}0\nelder\n`)
  lockDataDir(directory)
  expect(owner()).toBe(String(process.pid))
})

it('the lock is taken over by one of many, even if an earlier successor died', async () => {
  const [rivals, rounds] = [3, 300]
  for (let round = 0; round < rounds; round++) {
    const lock = join(directory, String(round), 'lock')
    mkdirSync(join(directory, String(round)))
    writeFileSync(lock, '999999999\n1\nelder\n')
    if (round % 2) writeFileSync(`${lock}.elder`, '999999999\n1\nheir\n')
  }
  const cells = (count: number) => new Int32Array(new SharedArrayBuffer(4 * count))
  const race: Race = { directory, rivals, rounds, arrived: cells(1), won: cells(rounds) }
  const threads = Array.from({ length: rivals }, () =>
    startThread(new URL('./data-dir-rival.ts', import.meta.url), { workerData: race }),
  )
  await Promise.all(threads.map((thread) => once(thread, 'exit')))
  expect(new Set(race.won)).toEqual(new Set([1]))
})
