// Equal records of the audit log are counted in one line, and the lines of a tenant are limited, so that a flood of
// refusals fills neither memory nor disk.

import { describe, expect, it } from 'vitest'
import {
  BURST_LINES,
  Coalescer,
  LINES_PER_SECOND,
  MAX_TENANTS,
} from '../../../../../src/domain/kernel/audit/coalesce.ts'
import type { AuditRecord } from '../../../../../src/domain/kernel/audit/line.ts'

const denial = (more: Partial<AuditRecord> = {}): AuditRecord => ({
  tenant: 't',
  actor: 'ann',
  actedAs: null,
  credential: null,
  verb: 'read',
  resources: [],
  outcome: 'DENIED',
  details: null,
  ...more,
})

describe('coalescing records of the audit log', () => {
  it('counts equal records in one line with the time of the first', () => {
    const coalescer = new Coalescer()
    coalescer.add(denial(), 0, new Date(1))
    coalescer.add(denial({ actor: 'bob' }), 0, new Date(2))
    coalescer.add(denial(), 0, new Date(3))
    const { lines } = coalescer.take(0)
    expect(lines.get('t')!.map(({ actor, count, at }) => [actor, count, at.getTime()])).toEqual([
      ['ann', 2, 1],
      ['bob', 1, 2],
    ])
    expect(coalescer.take(0).lines.size).toBe(0)
  })

  it('returns at most BURST_LINES lines of a tenant at once, and one line that counts the other records', () => {
    const coalescer = new Coalescer()
    for (let i = 0; i < 10_000; i++) coalescer.add(denial({ actor: `actor ${i}` }), 0)
    coalescer.add(denial({ tenant: 'other' }), 0)
    const { lines } = coalescer.take(0)
    expect(lines.get('t')).toHaveLength(BURST_LINES + 1)
    expect(lines.get('t')!.at(-1)).toMatchObject({ actor: 'overflow', verb: 'overflow', count: 10_000 - BURST_LINES })
    expect(lines.get('other')).toHaveLength(1)
  })

  it('returns at most LINES_PER_SECOND lines of a tenant per second after the first burst, besides overflow lines', () => {
    const coalescer = new Coalescer()
    let returned = 0
    for (let second = 0; second < 100; second++) {
      for (let i = 0; i < 300; i++) coalescer.add(denial({ actor: `${second} ${i}` }), second * 1000)
      returned += coalescer
        .take(second * 1000)
        .lines.get('t')!
        .filter(({ verb }) => verb !== 'overflow').length
    }
    expect(returned).toBe(BURST_LINES + 99 * LINES_PER_SECOND)
  })

  it('drops and counts the records of further tenants while MAX_TENANTS tenants have recent records', () => {
    const coalescer = new Coalescer()
    for (let i = 0; i < MAX_TENANTS + 7; i++) coalescer.add(denial({ tenant: `t${i}` }), 0)
    const { lines, dropped } = coalescer.take(0)
    expect([lines.size, dropped]).toEqual([MAX_TENANTS, 7])
    // `take` removes tenants whose credit is full again, so further tenants are accepted.
    coalescer.take(1_000_000)
    coalescer.add(denial({ tenant: 'new' }), 1_000_000)
    expect(coalescer.take(1_000_000).lines.size).toBe(1)
  })
})
