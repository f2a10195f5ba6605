// Writes the facts of a batch. The columns that decide who sees a fact are made from its first source, in the visibility
// set of the conversation as the store has it. Sources in conversations that the store does not have are left out.

import { Conflict } from '../../../../errors.ts'
import type { Tx } from '../../../../store/db/db.ts'
import type { Subject } from '../../../../store/jobs/job-queue.ts'
import {
  findStoredFacts,
  insertImportedFacts,
  insertImportedSources,
  readVisibilities,
  type ImportedFact,
} from '../../../../store/sql/trust/transfer/imported-memory.ts'
import { lockFactsByKey, type FactKey } from '../../../../store/sql/memory/fact/facts.ts'
import { latest } from '../../../memory/fact/active-fact.ts'
import { visibilityOf } from '../../../memory/fact/write.ts'
import type { Values } from '../format.ts'
import { count } from './batch.ts'
import type { PreparedFact } from './import-lines.ts'

type Source = PreparedFact['sources'][number]

/** Returns the fact with the columns of its first source. */
function toRow(
  fact: PreparedFact,
  sources: readonly Source[],
  visibilities: ReadonlyMap<string, string>,
): ImportedFact {
  const { sources: _sources, type: _type, ...values } = fact
  const { conversationId = null, position = null, seq = null, turnId = null } = sources[0] as Values
  const members = visibilities.get(conversationId as string) === 'MEMBERS' ? (conversationId as string) : null
  const audience = (fact.audience as string[] | undefined) ?? null
  return {
    ...values,
    conversationId,
    position,
    seq,
    sourceTurnId: turnId,
    visibility: visibilityOf(audience, members),
    assertedAt: latest(sources.map(({ createdAt }) => new Date(createdAt as string))),
  } as ImportedFact
}

/** Returns the subjects whose facts are to be reconciled after the import of the facts (store/sql/memory/fact/due-facts.ts). */
export const subjectsOf = (tenant: string, facts: readonly PreparedFact[]): Subject[] => {
  const keyOf = ({ userId, sources }: PreparedFact) => (userId ?? sources[0]?.conversationId ?? '') as string
  return [...new Set(facts.map(keyOf))].map((key) => ({ tenant, key }))
}

/**
 * Writes the facts that the store does not have, and counts them in the report.
 * @throws Conflict if another fact has the id of one of them
 */
export async function writeFactLines(
  tx: Tx,
  tenant: string,
  facts: readonly PreparedFact[],
  report: Record<string, number>,
): Promise<void> {
  if (facts.length === 0) return
  const stored = new Map(
    (
      await findStoredFacts(
        tx,
        tenant,
        facts.map(({ id }) => id),
      )
    ).map((fact) => [fact.id, fact]),
  )
  const conversationIds = facts.flatMap(({ sources }) => sources.flatMap(({ conversationId }) => conversationId ?? []))
  const visibilities = await readVisibilities(tx, tenant, [...new Set(conversationIds)])
  const rows: ImportedFact[] = []
  const sourcesOf = new Map<string, Source[]>()
  for (const fact of facts) {
    const found = stored.get(fact.id)
    if (found) {
      const isSame =
        found.subject === fact.subject
        && found.predicate === fact.predicate
        && found.object === fact.object
        && found.userId === (fact.userId ?? null)
      if (!isSame) throw new Conflict(`The store has another fact with the id ${fact.id}.`)
      count(report, 'fact', 'unchanged')
      continue
    }
    const sources = fact.sources.filter(
      ({ conversationId }) => conversationId === undefined || visibilities.has(conversationId),
    )
    if (sources.length === 0) {
      count(report, 'fact', 'erased')
      continue
    }
    rows.push(toRow(fact, sources, visibilities))
    sourcesOf.set(fact.id, sources)
  }
  const written = new Set(await insertImportedFacts(tx, tenant, rows))
  const added = rows.filter(({ id }) => written.has(id))
  await insertImportedSources(
    tx,
    added.flatMap((fact) =>
      sourcesOf
        .get(fact.id)!
        .map((source) => ({ ...source, factId: fact.id, audience: fact.audience, factCreatedAt: fact.createdAt })),
    ),
  )
  count(report, 'fact', 'added', added.length)
  await checkDuplicates(
    tx,
    tenant,
    rows.filter(({ id }) => !written.has(id)),
  )
  count(report, 'fact', 'duplicate', rows.length - added.length)
}

/** Checks that the facts were not written because equal facts are active. @throws Conflict if their ids are used */
async function checkDuplicates(tx: Tx, tenant: string, facts: readonly ImportedFact[]): Promise<void> {
  const keyOf = ({ userId, conversationId, visibility, contentHash }: FactKey) =>
    [userId ?? conversationId ?? '', visibility, contentHash].join('\n')
  const keys = facts.map((fact) => ({ ...fact, userId: (fact.userId as string | undefined) ?? null }))
  const active = new Set((await lockFactsByKey(tx, tenant, keys)).map(keyOf))
  const used = keys.find((fact) => !active.has(keyOf(fact)))
  if (used) throw new Conflict(`The id ${used.id} is used by a fact of another tenant.`)
}
