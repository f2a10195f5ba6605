// Reads in the name of another actor leave no journal entry, so they are noted in the audit log.

import { parse } from 'graphql'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import type { AuditRecord } from '../../../src/domain/audit/line.ts'
import type { Principal, Right } from '../../../src/domain/principal.ts'
import type { Viewer } from '../../../src/domain/view.ts'
import { createRequestContext } from '../../../src/graphql/request.ts'
import { schema } from '../../../src/graphql/schema.ts'
import { enterView } from '../../../src/graphql/view/enter.ts'

/** Enters the view of an operation, and returns the noted records. */
async function noted(query: string, rights: readonly Right[] | null): Promise<AuditRecord[]> {
  const records: AuditRecord[] = []
  const principal: Principal = {
    tenant: 't',
    actor: 'robot',
    kind: 'AGENT',
    rights: new Set(rights),
    conversations: null,
    credential: 'key:1',
    expiresAt: null,
  }
  const viewer: Viewer = { tenant: 't', actor: 'robot', ...(rights && { principal }) }
  const deps = {
    audit: { note: (record: AuditRecord) => records.push(record) },
    knownActors: { has: () => true },
    reads: {},
  }
  const context = createRequestContext(deps as never, viewer, null, loadConfig({}).operationLimits)
  await enterView(context, { schema, document: parse(query) })
  return records
}

describe('acting as another actor', () => {
  const READ = '{ viewer(as: "ann") { actor } conversations(as: "ann") { nodes { id } } }'
  const line = { tenant: 't', actor: 'robot', actedAs: 'ann', credential: 'key:1', verb: 'actAs', resources: [] }

  it('is noted for a query, with the root fields and no argument', async () => {
    const details = { operation: 'query', fields: 'conversations viewer' }
    expect(await noted(READ, ['read', 'act-as'])).toEqual([{ ...line, outcome: 'DONE', details }])
  })

  it('is noted if it is refused, also for a mutation', async () => {
    const details = { operation: 'mutation', fields: 'compact' }
    const mutation = 'mutation { compact(input: { as: "ann", conversationId: "secret" }) { __typename } }'
    expect(await noted(mutation, ['write'])).toEqual([{ ...line, outcome: 'DENIED', details }])
    expect(await noted(mutation, ['write', 'act-as'])).toEqual([])
  })

  it('is not noted without another actor, and without authentication', async () => {
    expect(await noted('{ viewer { actor } }', ['read'])).toEqual([])
    expect(await noted(READ, null)).toEqual([])
  })
})
