// The audit log through the API.

import { describe, expect, it } from 'vitest'
import { auditRecord } from '../../../../src/domain/kernel/audit/line.ts'
import { withTransaction } from '../../../../src/store/db/tx.ts'
import { backends } from '../../../support/backend.ts'
import { TENANT, useClients } from '../client.ts'

describe.each(backends)('the audit log in the API on $name', (backend) => {
  const clients = useClients(backend)

  it('shows lines in pages, and verifies them', async () => {
    const { audit, db } = clients.deps
    const records = ['a', 'b', 'c'].map((verb) =>
      auditRecord({ tenant: TENANT, actor: 'ada' }, verb, ['conv_1'], { details: { turns: 2 } }),
    )
    await withTransaction(db, TENANT, (tx) => audit.append(tx, records))
    const { auditLog } = await clients.as('ada')(`{ auditLog(first: 1, filter: { verb: "c" }) {
      nodes { seq at actor actedAs credential verb resources outcome count details hash }
      edges { cursor } pageInfo { hasNextPage } } }`)
    expect(auditLog.nodes).toEqual([
      {
        seq: 3,
        at: expect.stringMatching(/Z$/),
        actor: 'ada',
        actedAs: null,
        credential: null,
        verb: 'c',
        resources: ['conv_1'],
        outcome: 'DONE',
        count: 1,
        details: { turns: 2 },
        hash: expect.stringMatching(/^[\da-f]{64}$/),
      },
    ])
    const after = auditLog.edges[0].cursor
    const next = await clients.as('ada')(
      'query ($after: String) { auditLog(first: 1, after: $after) { nodes { seq } } }',
      { after },
    )
    expect(next.auditLog.nodes).toEqual([{ seq: 2 }])

    const { verifyAuditLog } = await clients.as('ada')(
      '{ verifyAuditLog { verifiedThrough hash keyedFrom brokenSeq brokenReason isComplete endCursor } }',
    )
    expect(verifyAuditLog).toEqual({
      verifiedThrough: 3,
      hash: auditLog.nodes[0].hash,
      keyedFrom: null,
      brokenSeq: null,
      brokenReason: null,
      isComplete: true,
      endCursor: expect.any(String),
    })
    const again = await clients.as('ada')(
      'query ($after: String) { verifyAuditLog(after: $after) { verifiedThrough isComplete } }',
      { after: verifyAuditLog.endCursor },
    )
    expect(again.verifyAuditLog).toEqual({ verifiedThrough: 3, isComplete: true })
  })

  it('is verified while memoryAudit runs', async () => {
    const queries = ['{ verifyAuditLog { isComplete } }', '{ memoryAudit { activeFacts } }']
    const answers = Array.from({ length: 8 }, (_, n) => clients.as('ada')(queries[n % 2]!))
    expect(await Promise.all(answers)).toHaveLength(8)
  })
})
