// A gate: the maximum of work that runs at once and the maximum that waits, the pauses, and the independence of keys.

import { describe, expect, it } from 'vitest'
import { QueueFull } from '../../../../src/errors.ts'
import { createGate, MAX_WAITING } from '../../../../src/runtime/limits/gate.ts'
import { fakeClock } from '../../../support/fake-clock.ts'

/** Creates work that ends when the test calls `end` with its name. */
function createWork() {
  const ends = new Map<string, () => void>()
  return {
    started: () => [...ends.keys()],
    start: (name: string) => () => new Promise<string>((resolve) => ends.set(name, () => resolve(name))),
    end: (name: string) => ends.get(name)!(),
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('the work of a key', () => {
  const clock = fakeClock()

  it('runs up to the maximum; the rest waits, and runs in order of arrival', async () => {
    const gate = createGate(clock, () => 2)
    const work = createWork()
    const all = ['a', 'b', 'c', 'd'].map((name) => gate.run('acme', work.start(name)))
    await settled()
    expect(work.started()).toEqual(['a', 'b'])
    work.end('b')
    await settled()
    expect(work.started()).toEqual(['a', 'b', 'c'])
    work.end('a')
    await settled()
    work.end('c')
    work.end('d')
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd'])
  })

  it('starts as much waiting work as a raised limit allows', async () => {
    let limit = 1
    const gate = createGate(clock, () => limit)
    const work = createWork()
    for (const name of ['a', 'b', 'c', 'd']) void gate.run('acme', work.start(name))
    await settled()
    expect(work.started()).toEqual(['a'])
    limit = 2
    work.end('a')
    await settled()
    expect(work.started()).toEqual(['a', 'b', 'c'])
    limit = 1
    work.end('b')
    await settled()
    expect(work.started()).toEqual(['a', 'b', 'c'])
    work.end('c')
    await settled()
    expect(work.started()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('waits for the pause after the work before it, even if that work has already returned', async () => {
    const charged: string[] = []
    const pauseAfter = (key: string) => (charged.push(key), 50)
    const gate = createGate(clock, () => 1, { pauseAfter })
    const work = createWork()
    const first = gate.run('acme', work.start('a'))
    void gate.run('acme', work.start('b'))
    await settled()
    work.end('a')
    expect(await first).toBe('a')
    await settled()
    expect(work.started()).toEqual(['a'])
    expect(charged).toEqual(['acme'])
    await clock.advance(49)
    expect(work.started()).toEqual(['a'])
    await clock.advance(1)
    expect(work.started()).toEqual(['a', 'b'])
  })

  it.each([
    ['the time of the work', 'elapsed', 30],
    ['nothing', 'nothing', 0],
  ] as const)('is charged for what it charges itself, and for %s', async (_, charged, ms) => {
    const charges: number[] = []
    const pauseAfter = (_key: string, each: number) => (charges.push(each), 0)
    const gate = createGate(clock, () => 1, { pauseAfter, charged })
    await gate.run('acme', async (charge) => {
      charge(1_000)
      await clock.advance(30)
      charge(2_000)
    })
    await expect(gate.run('acme', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
    expect(charges).toEqual([3_000 + ms, 0])
  })

  it('counts as delayed while it waits for other work, and not while it waits for a pause', async () => {
    const pauses = [0, 10_000]
    const gate = createGate(clock, () => 1, { pauseAfter: () => pauses.shift()! })
    const work = createWork()
    for (const name of ['a', 'b', 'c', 'd']) void gate.run('acme', work.start(name))
    await settled()
    await clock.advance(5_000)
    work.end('a')
    await settled()
    expect(gate.take(clock.performance.now())).toBeGreaterThan(0)
    work.end('b')
    await settled()
    expect(work.started()).toEqual(['a', 'b'])
    for (const ms of [1_000, 3_000, 6_000]) {
      await clock.advance(ms)
      expect(gate.take(clock.performance.now())).toBe(0)
    }
    expect(work.started()).toEqual(['a', 'b', 'c'])
    // The pause ended before this period, and the last piece still waits.
    await clock.advance(3_000)
    expect(gate.take(clock.performance.now())).toBeGreaterThan(0)
  })

  it('does not delay the work of another key', async () => {
    const gate = createGate(clock, () => 1)
    const work = createWork()
    void gate.run('acme', work.start('a'))
    void gate.run('acme', work.start('b'))
    void gate.run('other', work.start('c'))
    await settled()
    expect(work.started()).toEqual(['a', 'c'])
  })

  it('takes as many places as it counts for, and the whole limit if that is lower', async () => {
    let limit = 2
    const gate = createGate(clock, () => limit)
    const work = createWork()
    void gate.run('acme', work.start('a'))
    void gate.run('acme', work.start('double'), 2)
    void gate.run('acme', work.start('b'))
    await settled()
    expect(work.started()).toEqual(['a'])
    work.end('a')
    await settled()
    expect(work.started()).toEqual(['a', 'double'])
    work.end('double')
    await settled()
    expect(work.started()).toEqual(['a', 'double', 'b'])
    limit = 1
    void gate.run('acme', work.start('lower'), 2)
    await settled()
    work.end('b')
    await settled()
    expect(work.started()).toContain('lower')
  })

  it('rejects with its error if it fails, and the next work starts', async () => {
    const gate = createGate(clock, () => 1)
    const work = createWork()
    const failing = gate.run('acme', () => Promise.reject(new Error('failed')))
    const next = gate.run('acme', work.start('next'))
    await expect(failing).rejects.toThrow('failed')
    await settled()
    work.end('next')
    expect(await next).toBe('next')
  })

  it('is rejected if the maximum number of calls is waiting', async () => {
    const gate = createGate(clock, () => 1)
    const work = createWork()
    void gate.run('acme', work.start('a'))
    for (let n = 0; n < MAX_WAITING; n++) void gate.run('acme', () => n)
    await expect(gate.run('acme', () => 0)).rejects.toEqual(new QueueFull(MAX_WAITING))
    work.end('a')
    await settled()
    expect(await gate.run('acme', () => 'free')).toBe('free')
  })
})
