// Writes facts, all or none in one transaction. Exact duplicates are stored once per user (per conversation if the fact
// has no user) and visibility: a repetition adds a source to the stored fact and changes at most its assertion. The
// assertion is the most trusted one, and of equally trusted ones the newest.

import { createHash } from 'node:crypto'
import { terms } from '../../text/words.ts'
import { createYield } from '../../yield.ts'
import type { Tx } from '../../store/db.ts'
import type { ParticipantKind } from '../../store/generated/enums.ts'
import type { FactRow } from '../../store/sql/fact/fact-columns.ts'
import { lockJournal, writeEntry } from '../../store/sql/event/write-entry.ts'
import {
  rollbackToSavepoint,
  countSkipped,
  insertFacts,
  lockFactsByKey,
  setSavepoint,
  renewFacts,
  type ActiveRow,
  type FactKey,
  type NewFact,
  type Renewal,
} from '../../store/sql/fact/write-facts.ts'
import { addSources } from '../../store/sql/fact/fact-sources.ts'
import { countFactChanges, readUsersOfFacts } from '../../store/sql/background/user-progress.ts'
import type { AfterCommit } from '../../store/tx.ts'
import type { Platform } from '../platform.ts'
import { announceEntries, type JournalRange, type JournalPublisher } from '../publisher.ts'
import { newId } from '../id.ts'
import { hashTerm, salted, saltOf } from '../../text/term-hash.ts'
import { contentHash, type Statement } from './content-hash.ts'
import { trustOf } from './trust.ts'

/** The source of a fact, which determines who sees it: a turn, or only the conversation it was recorded in. */
export type FactOrigin = {
  conversationId: string
  /** Null if the fact has no source turn. */
  turn: { id: string; rootSeq: number; seq: number; audience: readonly string[] | null } | null
}

/** A statement to store as a fact, with its texts normalised and, if configured, redacted. */
export type FactCandidate = Statement & {
  /** The user whom the fact is about; null for none. */
  userId: string | null
  saidBy: ParticipantKind
  /** The actor who asserts it. */
  assertedBy: string
  /** 0 to 1. */
  confidence: number
  observedAt: Date
  /** Null if the fact belongs to no conversation. */
  origin: FactOrigin | null
}

/** A candidate with its token count, hash and index terms. */
export type PreparedFact = FactCandidate & { tokenCount: number; contentHash: string; terms: number[] }

/** Adds token counts, hashes and terms. Call it before locking conversations: 1,000 facts take seconds of CPU time. */
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

/** The last seq of each conversation whose journal is locked. */
type JournalHeads = ReadonlyMap<string, number>

/** Locks the journals of the conversations in the order of their ids. Ignores conversations not in the tenant. */
export async function lockConversations(
  tx: Tx,
  tenant: string,
  conversationIds: Iterable<string>,
): Promise<JournalHeads> {
  const heads = new Map<string, number>()
  for (const conversationId of [...new Set(conversationIds)].sort()) {
    const head = await lockJournal(tx, tenant, conversationId)
    if (head) heads.set(conversationId, head.lastSeq)
  }
  return heads
}

/** Returns a digest of the audience; empty for everyone. Facts with equal digests form one visibility set. */
export const visibilityOf = (audience: readonly string[] | null): string =>
  audience === null
    ? ''
    : createHash('sha256')
        .update(JSON.stringify([...new Set(audience)].sort()))
        .digest('hex')

/** Returns a fact as one sentence. */
export const sentenceOf = ({ subject, predicate, object }: Statement): string => `${subject} ${predicate} ${object}`

/** Returns the salted term hashes that the word index stores for a fact. */
export const factTerms = (tenant: string, statement: Statement): number[] =>
  salted(terms(sentenceOf(statement)).map(hashTerm), saltOf(tenant, ''))

function toNewFact(heads: JournalHeads, candidate: PreparedFact): NewFact {
  const { origin, userId, saidBy, assertedBy, subject, predicate, object, confidence, observedAt, tokenCount } =
    candidate
  const turn = origin?.turn ?? null
  // A fact without a source turn takes the seq of its own journal entry: the next one, because the journal is locked.
  // Repetitions append an entry too: otherwise a participant could join at that seq and see a fact recorded earlier.
  const next = origin ? heads.get(origin.conversationId)! + 1 : null
  const audience = turn?.audience ? [...new Set(turn.audience)].sort() : null
  return {
    id: newId('fact'),
    userId,
    conversationId: origin?.conversationId ?? null,
    rootSeq: turn?.rootSeq ?? next,
    seq: turn?.seq ?? next,
    audience,
    visibility: visibilityOf(audience),
    sourceTurnId: turn?.id ?? null,
    saidBy,
    assertedBy,
    subject,
    predicate,
    object,
    confidence,
    observedAt,
    tokenCount,
    contentHash: candidate.contentHash,
    terms: candidate.terms,
  }
}

const keyOf = ({ userId, conversationId, visibility, contentHash: hash }: FactKey) =>
  [userId ?? conversationId ?? '', visibility, hash].join('\n')

/**
 * Returns the change that a repetition makes to the assertion of a stored fact; null for none. A more trusted
 * repetition replaces all of it; an equally trusted, newer one replaces all but the confidence.
 */
function renewal(active: ActiveRow, { userId, saidBy, assertedBy, confidence, observedAt }: NewFact): Renewal | null {
  const trustGain = trustOf({ userId, saidBy, assertedBy }) - trustOf(active)
  if (trustGain < 0 || (trustGain === 0 && observedAt <= active.observedAt)) return null
  return { id: active.id, saidBy, assertedBy, observedAt, confidence: trustGain > 0 ? confidence : active.confidence }
}

export type WrittenFacts = {
  /** The new facts, in the order of the candidates. */
  facts: NewFact[]
  /** Stored facts that got a source or a newer assertion, with the conversation of the source. */
  renewed: Pick<FactRow, 'id' | 'conversationId'>[]
  /** Candidates that are exact duplicates of stored facts or of other candidates. */
  repeated: FactCandidate[]
}

/** Inserts the facts that are not stored yet, and locks the stored duplicates of the others (`active`, by key). */
async function insertOrLock(tx: Tx, tenant: string, facts: readonly NewFact[]) {
  for (;;) {
    await setSavepoint(tx)
    const inserted = new Set(await insertFacts(tx, tenant, facts))
    const duplicates = facts.filter(({ id }) => !inserted.has(id))
    const active = new Map((await lockFactsByKey(tx, tenant, duplicates)).map((row) => [keyOf(row), row]))
    if (duplicates.every((fact) => active.has(keyOf(fact)))) return { inserted, duplicates, active }
    // A transaction that locks other conversations superseded a duplicate between the two statements. Roll back to the
    // savepoint: retrying without releasing the locks would break the lock order.
    await rollbackToSavepoint(tx)
  }
}

/**
 * Writes the candidates and adds the exact duplicates without an audience to the tenant's count. The journals of their
 * conversations must be locked. The caller must call `appendFactsChanged` right after.
 */
export async function writeFacts(
  tx: Tx,
  tenant: string,
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
  const idOf = (fact: NewFact) => (inserted.has(fact.id) ? fact.id : active.get(keyOf(fact))!.id)
  const added = await addSources(
    tx,
    facts.map((fact) => ({ ...fact, id: idOf(fact) })),
  )
  const repeated = candidates.filter((_, i) => !inserted.has(facts[i]!.id))
  await countSkipped(tx, tenant, repeated.filter(({ origin }) => !origin?.turn?.audience).length)
  return {
    // Another candidate may repeat a new fact; the fact then includes that renewal.
    facts: facts.filter(({ id }) => inserted.has(id)).map((fact) => ({ ...fact, ...renewals.get(fact.id) })),
    renewed: [...added, ...renewedIn].filter(({ id }) => !inserted.has(id)),
    repeated,
  }
}

/**
 * Appends one FACTS_CHANGED entry to each conversation with changed facts, and announces the entries after the commit.
 * Makes the profiles of the facts' users due. Must be the transaction's last step that locks rows.
 */
export async function appendFactsChanged(
  publisher: JournalPublisher,
  tx: Tx,
  afterCommit: AfterCommit,
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
  await countFactChanges(
    tx,
    await readUsersOfFacts(
      tx,
      changed.map(({ id }) => id),
    ),
  )
}
