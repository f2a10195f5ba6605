// Checks that work takes the gates of a tenant in their declared order (TenantGates). Work that holds a gate and waits
// for an earlier one can wait for ever, because the work at that gate may wait for this one.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { TenantGates } from '../../src/domain/kernel/limits/tenant-gates.ts'

/** The index of the gate that the running work holds; undefined for none. */
const held = new AsyncLocalStorage<number>()

/** Makes work reject if it holds the same gate or a later one. */
export function checkGateOrder(gates: TenantGates): void {
  const names = Object.keys(gates) as (keyof TenantGates)[]
  for (const [at, name] of names.entries()) {
    const gate = gates[name]
    const { run } = gate
    gate.run = async (tenant, work, places) => {
      const outer = held.getStore()
      if (outer !== undefined && outer >= at) throw new Error(`work at the gate ${names[outer]} waits for ${name}`)
      return run(tenant, (charge) => held.run(at, () => work(charge)), places)
    }
  }
}
