// The audit log: its pages and filters, its verification in several calls, and the deletion of old lines.

import { afterAll, describe, expect, it } from 'vitest'
import {
  getAuditLog,
  verificationCursor,
  verifyAuditLog,
  VERIFY_LINES,
} from '../../../../src/domain/trust/audit-page.ts'
import { chain, integrityKeysOf } from '../../../../src/domain/kernel/audit/integrity.ts'
import { auditRecord } from '../../../../src/domain/kernel/audit/line.ts'
import { pruneAuditLog } from '../../../../src/domain/kernel/audit/prune.ts'
import type { Principal } from '../../../../src/domain/kernel/rights/principal.ts'
import { NotAllowed } from '../../../../src/errors.ts'
import { insertAuditLines, lockAuditHead } from '../../../../src/store/sql/trust/audit-lines.ts'
import { withTransaction } from '../../../../src/store/db/tx.ts'
import { backends } from '../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../support/world.ts'
import { sql } from '../../../support/sql.ts'

const SECRET = 's'.repeat(32)
const KEY = integrityKeysOf(SECRET)!.audit
const DAY_MS = 86_400_000

describe.each(backends)('the audit log on $name', (backend) => {
  const world = useWorld(backend, { integrityKey: SECRET })

  /** Writes one line for each age, in days, in the given order. */
  const write = ({ name, as }: Tenant, ages: readonly number[], verbOf = (i: number) => `verb${i}`) =>
    withTransaction(world.deps.db, name, async (tx) => {
      const end = await lockAuditHead(tx, name)
      const lines = ages.map((age, i) => ({
        ...auditRecord(as(i % 2 ? 'bob' : 'ann'), verbOf(i), [`conv_${i}`], { outcome: i % 3 ? 'DONE' : 'DENIED' }),
        at: new Date(Date.now() - age * DAY_MS),
        count: 1,
        details: null,
      }))
      await insertAuditLines(tx, chain(KEY, end, lines))
    })
  const ages = (count: number) => Array.from({ length: count }, (_, i) => count - 1 - i)

  it('returns pages, newest first, in both directions', async () => {
    const tenant = world.tenant()
    await write(tenant, ages(5))
    const first = await getAuditLog(world.deps, tenant.as('op'), { first: 2 })
    expect(first.items.map(({ seq }) => seq)).toEqual([5, 4])
    expect(first.hasNextPage).toBe(true)
    const cursor = Buffer.from('audit:4').toString('base64url')
    const next = await getAuditLog(world.deps, tenant.as('op'), { first: 2, after: cursor })
    expect(next.items.map(({ seq }) => seq)).toEqual([3, 2])
    const last = await getAuditLog(world.deps, tenant.as('op'), { last: 2 })
    expect(last.items.map(({ seq }) => seq)).toEqual([2, 1])
  })

  it.each([
    [{ actor: 'bob' }, [4, 2]],
    [{ verb: 'verb2' }, [3]],
    [{ resource: 'conv_4' }, [5]],
    [{ outcome: 'DENIED' as const }, [4, 1]],
    [{ from: new Date(Date.now() - 1.5 * DAY_MS) }, [5, 4]],
    [{ to: new Date(Date.now() - 2.5 * DAY_MS) }, [2, 1]],
    [{ actor: 'bob', outcome: 'DENIED' as const }, [4]],
  ])('selects lines by %j', async (filter, seqs) => {
    const tenant = world.tenant()
    await write(tenant, ages(5))
    await write(world.tenant(), ages(3))
    const { items } = await getAuditLog(world.deps, tenant.as('op'), { filter })
    expect(items.map(({ seq }) => seq)).toEqual(seqs)
  })

  it('requires the right `operate`', async () => {
    const tenant = world.tenant()
    const principal: Principal = {
      tenant: tenant.name,
      actor: 'ann',
      kind: 'HUMAN',
      rights: new Set(['read', 'write', 'act-as', 'manage', 'erase']),
      conversations: null,
      credential: 'key:1',
      expiresAt: null,
    }
    const viewer = { ...tenant.as('ann'), principal }
    await expect(getAuditLog(world.deps, viewer, {})).rejects.toThrow(NotAllowed)
    await expect(verifyAuditLog(world.deps, viewer, null)).rejects.toThrow(NotAllowed)
  })

  it('verifies an empty log', async () => {
    expect(await verifyAuditLog(world.deps, world.tenant().as('op'), null)).toEqual({
      verifiedThrough: 0,
      hash: '',
      keyedFrom: null,
      broken: null,
      isComplete: true,
    })
  })

  it('verifies a long log in several calls', async () => {
    const tenant = world.tenant()
    for (let left = VERIFY_LINES + 5; left > 0; left -= 1_000) {
      await write(
        tenant,
        Array.from({ length: Math.min(left, 1_000) }, () => 1),
        () => 'same',
      )
    }
    const first = await verifyAuditLog(world.deps, tenant.as('op'), null)
    expect(first).toMatchObject({ verifiedThrough: VERIFY_LINES, broken: null, isComplete: false })
    const second = await verifyAuditLog(world.deps, tenant.as('op'), verificationCursor(first))
    expect(second).toMatchObject({ verifiedThrough: VERIFY_LINES + 5, keyedFrom: 1, broken: null, isComplete: true })
  })

  it.each([
    ['deletes line 2', 'DELETE FROM audit_line WHERE tenant = $1 AND seq = 2', { seq: 2, reason: 'MISSING' }],
    ['deletes the last line', 'DELETE FROM audit_line WHERE tenant = $1 AND seq = 4', { seq: 4, reason: 'MISSING' }],
    ['deletes line 1', 'DELETE FROM audit_line WHERE tenant = $1 AND seq = 1', { seq: 1, reason: 'MISSING' }],
    [
      'changes a line',
      `UPDATE audit_line SET actor = 'eve' WHERE tenant = $1 AND seq = 2`,
      { seq: 2, reason: 'CHANGED' },
    ],
    [
      'swaps two lines',
      `UPDATE audit_line SET seq = CASE seq WHEN 2 THEN -3 ELSE -2 END WHERE tenant = $1 AND seq IN (2, 3);
       UPDATE audit_line SET seq = -seq WHERE tenant = $1 AND seq < 0`,
      { seq: 2, reason: 'CHANGED' },
    ],
  ])('reports the first broken line if the owner of the database %s', async (_, text, broken) => {
    const tenant = world.tenant()
    await write(tenant, ages(4))
    const { pool } = world.deps
    await sql(pool).query('ALTER TABLE audit_line DISABLE TRIGGER USER')
    for (const statement of text.split(';')) await sql(pool).query(statement, [tenant.name])
    await sql(pool).query('ALTER TABLE audit_line ENABLE TRIGGER USER')
    expect(await verifyAuditLog(world.deps, tenant.as('op'), null)).toMatchObject({ broken })
  })
  afterAll(() => sql(world.deps.pool).query('ALTER TABLE audit_line ENABLE TRIGGER USER'))

  it('deletes old lines from the start of the log up to the first younger line, and verifies the rest', async () => {
    const tenant = world.tenant()
    await write(tenant, [90, 80, 70, 50, 75, 1, 0])
    const log = { ...world.deps, auditDays: 60 }
    while ((await pruneAuditLog(log)) > 0);
    const { items } = await getAuditLog(world.deps, tenant.as('op'), {})
    // The line that is 75 days old follows a younger one, so it stays.
    expect(items.map(({ seq }) => seq)).toEqual([7, 6, 5, 4])
    const verified = await verifyAuditLog(world.deps, tenant.as('op'), null)
    expect(verified).toMatchObject({ verifiedThrough: 7, broken: null, isComplete: true })
  })
})
