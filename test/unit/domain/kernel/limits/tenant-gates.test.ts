// The gates of a process: the limits of one tenant beside others, and the order in which work may take gates.

import { describe, expect, it } from 'vitest'
import { createTenantGates } from '../../../../../src/domain/kernel/limits/tenant-gates.ts'
import { fakeClock } from '../../../../support/fake-clock.ts'
import { checkGateOrder } from '../../../../support/gate-order.ts'

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('the limits of a tenant', () => {
  it.each([
    ['reads', 3, 2],
    ['bodies', 2, 1],
    ['answers', 5, 2],
    ['heavy', 2, 1],
    ['memory', 2, 2],
    ['deletions', 2, 1],
    ['searches', 2, 1],
  ] as const)(
    'at the gate %s are %i at once while no other tenant is active, and %i beside others',
    async (name, ...limits) => {
      const started = [false, true].map((isBeside) => {
        const gate = createTenantGates(fakeClock(), 4, { hasOthers: () => isBeside, note() {} })[name]
        let count = 0
        for (let n = 0; n < 5; n++) void gate.run('acme', () => new Promise(() => (count += 1)))
        return () => count
      })
      await settled()
      expect(started.map((count) => count())).toEqual(limits)
    },
  )
})

describe('the order of the gates', () => {
  /** Creates the gates of a process, whose order is checked as in every test of the server. */
  function createCheckedGates() {
    const gates = createTenantGates(fakeClock(), 4, { hasOthers: () => false, note() {} })
    checkGateOrder(gates)
    return gates
  }

  it('lets work start work of a kind listed below it, and work of any kind after it', async () => {
    const { bodies, heavy, reads } = createCheckedGates()
    const context = () => heavy.run('acme', () => reads.run('acme', () => 'turns'))
    expect(await bodies.run('acme', context)).toBe('turns')
    expect(await context()).toBe('turns')
  })

  it.each([
    ['an earlier kind', 'reads', 'heavy', 'work at the gate reads waits for heavy'],
    ['its own kind', 'memory', 'memory', 'work at the gate memory waits for memory'],
  ] as const)('rejects work that starts work of %s', async (_, outer, inner, message) => {
    const gates = createCheckedGates()
    const work = gates[outer].run('acme', () => gates[inner].run('acme', () => 'reached'))
    await expect(work).rejects.toThrow(message)
  })

  it('remembers the gate across the steps of the work', async () => {
    const { reads, bodies } = createCheckedGates()
    const work = reads.run('acme', async () => {
      await settled()
      return bodies.run('acme', () => 'reached')
    })
    await expect(work).rejects.toThrow('work at the gate reads waits for bodies')
  })
})
