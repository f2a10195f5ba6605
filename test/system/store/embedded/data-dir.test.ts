// The lock on a data directory: at most one holder at any time, and no holder whose process has ended.

import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { lockDataDir } from '../../../../src/store/embedded/data-dir.ts'
import { startThread } from '../../../../src/runtime/thread.ts'
import type { Race } from './data-dir-rival.ts'
import { isLong } from '../../../support/long.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const holder = () => readFileSync(join(directory, 'lock'), 'utf8').split('\n')[0]

it('locking creates the directory, and releasing removes the lock file', () => {
  const nested = join(directory, 'new', 'data')
  const release = lockDataDir(nested)
  expect(readdirSync(nested)).toEqual(['lock'])
  release()
  expect(readdirSync(nested)).toEqual([])
})

it('locking fails while the directory is locked, and succeeds after the release', () => {
  const release = lockDataDir(directory)
  expect(() => lockDataDir(directory)).toThrow(`is in use by process ${process.pid}`)
  release()
  lockDataDir(directory)
})

it('releasing does nothing if the lock has another holder by now', () => {
  const release = lockDataDir(directory)
  rmSync(join(directory, 'lock'))
  lockDataDir(directory)
  release()
  expect(holder()).toBe(String(process.pid))
})

it.each([
  ['has ended', '999999999\n1\nformer\n'],
  ['had the pid of this process, as in a container', `${process.pid}\n1\nformer\n`],
  ['left an empty lock file, as after a power failure', ''],
])('locking succeeds if the holder %s', (_, lock) => {
  writeFileSync(join(directory, 'lock'), lock)
  lockDataDir(directory)
  expect(holder()).toBe(String(process.pid))
  expect(readdirSync(directory)).toEqual(['lock'])
})

// Only Linux reports the start time of another process.
it.runIf(process.platform === 'linux')(
  'the lock belongs to the process with the stored pid and start time, not to the pid alone',
  () => {
    const startTime = readFileSync('/proc/1/stat', 'utf8').split(') ').at(-1)!.split(' ')[19]
    writeFileSync(join(directory, 'lock'), `1\n${startTime}\nformer\n`)
    expect(() => lockDataDir(directory)).toThrow('is in use by process 1.')
    writeFileSync(join(directory, 'lock'), `1\n${startTime}0\nformer\n`)
    lockDataDir(directory)
    expect(holder()).toBe(String(process.pid))
  },
)

it.runIf(isLong)(
  'exactly one of several rivals replaces the lock of a dead process, even if an earlier replacement also died',
  async () => {
    const [rivals, rounds] = [3, 300]
    for (let round = 0; round < rounds; round++) {
      const lock = join(directory, String(round), 'lock')
      mkdirSync(join(directory, String(round)))
      writeFileSync(lock, '999999999\n1\nformer\n')
      if (round % 2) writeFileSync(`${lock}.former`, '999999999\n1\nsuccessor\n')
    }
    const cells = (count: number) => new Int32Array(new SharedArrayBuffer(4 * count))
    const race: Race = { directory, rivals, rounds, arrived: cells(1), won: cells(rounds) }
    const threads = Array.from({ length: rivals }, () =>
      startThread(new URL('./data-dir-rival.ts', import.meta.url), { workerData: race }),
    )
    await Promise.all(threads.map((thread) => once(thread, 'exit')))
    expect(new Set(race.won)).toEqual(new Set([1]))
  },
)
