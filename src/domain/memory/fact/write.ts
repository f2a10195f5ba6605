// Writes facts, all or none in one transaction. Exact duplicates are stored once per user (per conversation if the fact
// has no user) and visibility set: a duplicate adds a source to the stored fact and may change its assertion, which is
// the author, the times and the confidence. A stored fact has its most trusted assertion, and of these the newest.

import { createHash } from 'node:crypto'
import { terms } from '../../../text/words/words.ts'
import { createYield } from '../../../runtime/yield.ts'
import type { Tx } from '../../../store/db/db.ts'
import type { ParticipantKind } from '../../../store/generated/enums.ts'
import type { FactRow } from '../../../store/sql/memory/fact/fact-columns.ts'
import { lockJournal, writeEntry, type LockedJournal } from '../../../store/sql/turn/journal/write-entry.ts'
import {
  rollbackToSavepoint,
  insertFacts,
  lockFactsByKey,
  setSavepoint,
  renewFacts,
  touchFacts,
  type ActiveRow,
  type FactKey,
  type NewFact,
  type Renewal,
} from '../../../store/sql/memory/fact/facts.ts'
import { addSources } from '../../../store/sql/memory/fact/fact-sources.ts'
import { countFactChanges, readSetsOfFacts } from '../../../store/sql/memory/profile/user-progress.ts'
import { readSubjectsOfFacts } from '../../../store/sql/memory/fact/due-facts.ts'
import { readFacts } from '../../../store/sql/memory/fact/read-facts.ts'
import type { AfterCommit } from '../../../store/db/tx.ts'
import type { Platform } from '../../kernel/platform.ts'
import { announceEntries, type JournalRange, type JournalPublisher } from '../../kernel/live/publisher.ts'
import { newId } from '../../kernel/id.ts'
import { hashTerm, salted, saltOf } from '../../../text/words/hashed-terms.ts'
import { contentHash, type Statement } from './content-hash.ts'
import type { Period } from './period.ts'
import { trustOf } from './trust.ts'

/**
 * Returns the key of a visibility set: the conversation's id if its visibility is MEMBERS, and a hash of the audience.
 * Facts are deduplicated, merged and contradicted only within one set, so that facts with different viewers are never
 * combined. The key is empty for facts that every actor of the tenant may see.
 * @param members id of the MEMBERS conversation in which the fact is asserted; null for an OPEN or no conversation
 */
export function visibilityOf(audience: readonly string[] | null, members: string | null): string {
  const hash =
    audience === null
      ? null
      : createHash('sha256')
          .update(JSON.stringify([...new Set(audience)].sort()))
          .digest('hex')
  return [members, hash].filter((part) => part !== null).join(' ')
}

/** Returns the id of the MEMBERS conversation in the key of a visibility set; null if the key contains none. */
export const membersOf = (visibility: string): string | null => /^conv_\w+/.exec(visibility)?.[0] ?? null

/** The source of a fact, which determines its viewers: a turn, or the conversation in which the fact was recorded. */
export type CandidateSource = {
  conversationId: string
  /** Null if the fact has no source turn. */
  turn: { id: string; position: number; seq: number; audience: readonly string[] | null } | null
}

/** A statement to store as a fact, with its texts normalised and, if configured, redacted. */
export type FactCandidate = Statement
  & Period & {
    /** The user whom the fact is about; null for a fact about no user. */
    userId: string | null
    saidBy: ParticipantKind
    /** The actor who asserts it. */
    assertedBy: string
    /** 0 to 1. */
    confidence: number
    observedAt: Date
    /** When the server received the assertion, if `observedAt` was claimed; null if the server set `observedAt`. */
    importedAt: Date | null
    /** Null if the fact belongs to no conversation. */
    source: CandidateSource | null
  }

/** A candidate with its token count, content hash and the salted term hashes of the word index. */
export type PreparedFact = FactCandidate & { tokenCount: number; contentHash: string; terms: number[] }

/**
 * Adds token counts, content hashes and terms. Call it before locking conversations: 1,000 facts take up to 1 s of CPU
 * time.
 */
export async function prepareFacts(
  { tokens }: Pick<Platform, 'tokens'>,
  tenant: string,
  candidates: readonly FactCandidate[],
): Promise<PreparedFact[]> {
  const prepared: PreparedFact[] = []
  const yieldIfDue = createYield()
  for (const candidate of candidates) {
    prepared.push({
      ...candidate,
      tokenCount: await tokens.count(sentenceOf(candidate)),
      contentHash: contentHash(candidate),
      terms: factTerms(tenant, candidate),
    })
    await yieldIfDue()
  }
  return prepared
}

/** The locked journal of each conversation, by id. */
type JournalHeads = ReadonlyMap<string, LockedJournal>

/**
 * Locks the journals of the conversations in the order of their ids. Ignores conversations of other tenants. Does not
 * check whether the viewer may change the conversations; the caller must (authorize.ts).
 */
export async function lockConversations(
  tx: Tx,
  tenant: string,
  conversationIds: Iterable<string>,
): Promise<JournalHeads> {
  const heads = new Map<string, LockedJournal>()
  for (const conversationId of [...new Set(conversationIds)].sort()) {
    const head = await lockJournal(tx, { tenant, actor: null }, conversationId)
    if (head) heads.set(conversationId, head)
  }
  return heads
}

/** Returns the statement as one sentence. */
export const sentenceOf = ({ subject, predicate, object }: Statement): string => `${subject} ${predicate} ${object}`

/** Returns the salted term hashes that the word index stores for a fact. */
export const factTerms = (tenant: string, statement: Statement): number[] =>
  salted(terms(sentenceOf(statement)).map(hashTerm), saltOf(tenant, ''))

function toNewFact(heads: JournalHeads, candidate: PreparedFact): NewFact {
  const { source, tokenCount, contentHash: hash, terms: index, ...fact } = candidate
  const turn = source?.turn ?? null
  // A fact without a source turn has the seq of its FACTS_CHANGED entry: the next seq, because the journal is locked.
  // Exact duplicates append an entry too: otherwise a participant could join at that seq and see a fact recorded
  // earlier.
  const head = source && heads.get(source.conversationId)!
  const next = head && head.lastSeq + 1
  const members = head?.visibility === 'MEMBERS' ? source!.conversationId : null
  const audience = turn?.audience ? [...new Set(turn.audience)].sort() : null
  return {
    ...fact,
    id: newId('fact'),
    conversationId: source?.conversationId ?? null,
    position: turn?.position ?? next,
    seq: turn?.seq ?? next,
    audience,
    visibility: visibilityOf(audience, members),
    sourceTurnId: turn?.id ?? null,
    tokenCount,
    contentHash: hash,
    terms: index,
  }
}

const keyOf = ({ userId, conversationId, visibility, contentHash: hash }: FactKey) =>
  [userId ?? conversationId ?? '', visibility, hash].join('\n')

/**
 * Returns the stored fact's new assertion after an exact duplicate; null if it does not change. A more trusted
 * duplicate replaces the whole assertion; an equally trusted, newer one replaces all but the confidence.
 */
function renewal(active: ActiveRow, fact: NewFact): Renewal | null {
  const { userId, saidBy, assertedBy, observedAt, importedAt } = fact
  const trustGain = trustOf({ userId, saidBy, assertedBy }) - trustOf(active)
  if (trustGain < 0 || (trustGain === 0 && observedAt <= active.observedAt)) return null
  const confidence = trustGain > 0 ? fact.confidence : active.confidence
  return { id: active.id, saidBy, assertedBy, observedAt, importedAt, confidence }
}

export type WrittenFacts = {
  /** The new facts, in the order of the candidates. */
  facts: NewFact[]
  /** Stored facts to which an assertion added a source or a new assertion, with the conversation of that source. */
  renewed: Pick<FactRow, 'id' | 'conversationId'>[]
  /** The fact that each candidate asserts, in the order of the candidates. */
  assertions: { factId: string; candidate: FactCandidate }[]
  /** Ids of the facts in `assertions` that the viewer saw before the call; empty for a background job. */
  seenBefore: Set<string>
}

/**
 * Inserts the facts that are not stored yet, and locks the stored facts that the others duplicate. Returns the ids of
 * the inserted facts, the `duplicates`, and the locked facts by key (`active`).
 */
async function insertOrLock(tx: Tx, tenant: string, facts: readonly NewFact[]) {
  for (;;) {
    await setSavepoint(tx)
    const inserted = new Set(await insertFacts(tx, tenant, facts))
    const duplicates = facts.filter(({ id }) => !inserted.has(id))
    const active = new Map((await lockFactsByKey(tx, tenant, duplicates)).map((row) => [keyOf(row), row]))
    if (duplicates.every((fact) => active.has(keyOf(fact)))) return { inserted, duplicates, active }
    // Another transaction superseded a duplicated fact between the two statements. Roll back to the savepoint before
    // the retry: otherwise it would keep its locks, and break the lock order.
    await rollbackToSavepoint(tx)
  }
}

/**
 * Writes the candidates. The journals of their conversations must be locked. The caller must call `appendFactsChanged`
 * in the same transaction. `actor` is null for a background job.
 */
export async function writeFacts(
  tx: Tx,
  { tenant, actor }: { tenant: string; actor: string | null },
  heads: JournalHeads,
  candidates: readonly PreparedFact[],
): Promise<WrittenFacts> {
  const facts = candidates.map((candidate) => toNewFact(heads, candidate))
  const { inserted, duplicates, active } = await insertOrLock(tx, tenant, facts)
  const renewals = new Map<string, Renewal>()
  const renewedIn: Pick<FactRow, 'id' | 'conversationId'>[] = []
  for (const fact of duplicates) {
    const row = active.get(keyOf(fact))!
    const renewed = renewal(row, fact)
    if (!renewed) continue
    renewals.set(renewed.id, renewed)
    renewedIn.push({ id: renewed.id, conversationId: fact.conversationId })
    active.set(keyOf(fact), { ...row, ...renewed })
  }
  await renewFacts(tx, [...renewals.values()])
  const stored = [...new Set(duplicates.map((fact) => active.get(keyOf(fact))!.id))].filter((id) => !inserted.has(id))
  const seenBefore = actor === null || stored.length === 0 ? [] : await readFacts(tx, { tenant, actor }, stored)
  const idOf = (fact: NewFact) => (inserted.has(fact.id) ? fact.id : active.get(keyOf(fact))!.id)
  const added = await addSources(
    tx,
    facts.map((fact) => ({ ...fact, id: idOf(fact) })),
  )
  const renewed = [...added, ...renewedIn].filter(({ id }) => !inserted.has(id))
  await touchFacts(tx, [...new Set(renewed.map(({ id }) => id))])
  return {
    // If another candidate duplicates a new fact, that fact may have a renewed assertion.
    facts: facts.filter(({ id }) => inserted.has(id)).map((fact) => ({ ...fact, ...renewals.get(fact.id) })),
    renewed,
    assertions: candidates.map((candidate, i) => ({ factId: idOf(facts[i]!), candidate })),
    seenBefore: new Set(seenBefore.map(({ id }) => id)),
  }
}

/**
 * Appends one FACTS_CHANGED entry to each conversation with changed facts, and announces the entries after the commit.
 * Makes the profiles of the facts' users due for a refresh, and wakes the workers. Must be the last step of the
 * transaction that locks rows.
 */
export async function appendFactsChanged(
  publisher: JournalPublisher,
  { tx, afterCommit }: { tx: Tx; afterCommit: AfterCommit },
  tenant: string,
  changed: readonly Pick<FactRow, 'id' | 'conversationId'>[],
): Promise<void> {
  const byConversation = new Map<string, Set<string>>()
  for (const { id, conversationId } of changed) {
    if (conversationId !== null)
      byConversation.set(conversationId, (byConversation.get(conversationId) ?? new Set()).add(id))
  }
  const ranges: JournalRange[] = []
  for (const [conversationId, factIds] of byConversation) {
    const seq = await writeEntry(tx, conversationId, 'FACTS_CHANGED', { factIds: [...factIds] })
    ranges.push({ tenant, conversationId, first: seq, last: seq })
  }
  if (ranges.length > 0) afterCommit(() => announceEntries(publisher, ranges))
  const ids = changed.map(({ id }) => id)
  const subjects = await readSubjectsOfFacts(tx, ids)
  await countFactChanges(tx, await readSetsOfFacts(tx, ids))
  if (subjects.length > 0) afterCommit(() => publisher.notifyWorkers([], subjects))
}
