// The audit log in the database: lines are appended under concurrent writers, never changed, and deleted only by age.

import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../../../src/runtime/clock.ts'
import { createAuditLog } from '../../../../../src/domain/kernel/audit/audit-log.ts'
import { verify, type Verified } from '../../../../../src/domain/kernel/audit/integrity.ts'
import { auditRecord, MAX_RESOURCES } from '../../../../../src/domain/kernel/audit/line.ts'
import { pruneAuditLines, readAuditChain } from '../../../../../src/store/sql/trust/audit-lines.ts'
import { withTransaction } from '../../../../../src/store/db/tx.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'
import { sql } from '../../../../support/sql.ts'

const START: Verified = { seq: 0, hash: '', keyedFrom: null }

describe.each(backends)('the audit log on $name', (backend) => {
  const world = useWorld(backend)
  const chainOf = (tenant: string) => readAuditChain(world.deps.db, tenant, 0, 1000)

  it('writes the actor, the actor acted as, the credential, the verb, the resources and the outcome', async () => {
    const { audit, db } = world.deps
    const { name } = world.tenant()
    const principal = {
      tenant: name,
      actor: 'robot',
      kind: 'AGENT' as const,
      rights: new Set([]),
      conversations: null,
      credential: 'key:7',
      expiresAt: null,
    }
    const viewer = { tenant: name, actor: 'ann', principal }
    await withTransaction(db, name, (tx) =>
      audit.append(tx, [auditRecord(viewer, 'eraseTurn', ['turn_1'], { details: { z: 1, a: 'x' } })]),
    )
    audit.note(auditRecord({ tenant: name, actor: 'bob' }, 'history', ['conv_1'], { outcome: 'DENIED' }))
    audit.note(auditRecord({ tenant: name, actor: 'bob' }, 'history', ['conv_1'], { outcome: 'DENIED' }))
    await audit.flush()
    expect(await chainOf(name)).toEqual([
      {
        tenant: name,
        seq: 1,
        at: expect.any(Date),
        actor: 'robot',
        actedAs: 'ann',
        credential: 'key:7',
        verb: 'eraseTurn',
        resources: ['turn_1'],
        outcome: 'DONE',
        count: 1,
        details: '{"a":"x","z":1}',
        keyed: false,
        hash: expect.stringMatching(/^[\da-f]{64}$/),
      },
      expect.objectContaining({ seq: 2, actor: 'bob', actedAs: null, credential: null, outcome: 'DENIED', count: 2 }),
    ])
  })

  it('limits the resources of a line, and stores their number in its details', () => {
    const ids = Array.from({ length: 50 }, (_, i) => `turn_${i}`)
    const { resources, details } = auditRecord(world.tenant().as('ann'), 'export', ids)
    expect([resources.length, details]).toEqual([MAX_RESOURCES, { resources: 50 }])
  })

  it('writes nothing if the transaction is rolled back', async () => {
    const tenant = world.tenant()
    const failing = withTransaction(world.deps.db, tenant.name, async (tx) => {
      await world.deps.audit.append(tx, [auditRecord(tenant.as('ann'), 'x', [])])
      throw new Error('rolled back')
    })
    await expect(failing).rejects.toThrow('rolled back')
    expect(await chainOf(tenant.name)).toEqual([])
  })

  it('keeps one valid chain if two processes append at once', async () => {
    const { db, log } = world.deps
    const tenant = world.tenant()
    const key = Buffer.alloc(32, 3)
    const logs = [
      createAuditLog({ clock: systemClock, db, key, log }),
      createAuditLog({ clock: systemClock, db, key, log }),
    ]
    await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        withTransaction(db, tenant.name, (tx) => logs[i % 2]!.append(tx, [auditRecord(tenant.as(`a${i}`), 'x', [])])),
      ),
    )
    const lines = await chainOf(tenant.name)
    expect(lines).toHaveLength(30)
    expect(verify(key, START, lines)).toMatchObject({ seq: 30, keyedFrom: 1 })
  })

  it.each([
    ['UPDATE', `UPDATE audit_line SET verb = 'x' WHERE tenant = $1`],
    ['DELETE', 'DELETE FROM audit_line WHERE tenant = $1'],
    ['TRUNCATE', 'TRUNCATE audit_line'],
  ])('rejects %s, even by the owner of the table', async (_, text) => {
    const tenant = world.tenant()
    await withTransaction(world.deps.db, tenant.name, (tx) =>
      world.deps.audit.append(tx, [auditRecord(tenant.as('ann'), 'x', [])]),
    )
    await expect(sql(world.deps.pool).query(text, text.includes('$1') ? [tenant.name] : [])).rejects.toThrow(
      'append-only',
    )
    expect(await chainOf(tenant.name)).toHaveLength(1)
  })

  it('rejects the deletion of lines younger than 30 days by pruneAuditLines', async () => {
    const tenant = world.tenant()
    await withTransaction(world.deps.db, tenant.name, (tx) =>
      world.deps.audit.append(tx, [auditRecord(tenant.as('ann'), 'x', [])]),
    )
    const pruning = withTransaction(world.deps.db, tenant.name, (tx) =>
      pruneAuditLines(tx, tenant.name, new Date(Date.now() + 1000), 10),
    )
    await expect(pruning).rejects.toThrow()
    expect(await chainOf(tenant.name)).toHaveLength(1)
  })
})
