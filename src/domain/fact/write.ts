// Writing facts down: whoever brings them, in the one transaction that writes all of them or none. To the letter the
// same is kept once, of a user (or, of nobody, in a conversation), among those who see it: said again, it is renewed, not
// written twice. Said by somebody less to be believed, it changes nothing.

import { createHash } from 'node:crypto'
import { terms } from '../../text/words.ts'
import { createYield } from '../../yield.ts'
import type { Tx } from '../../store/db.ts'
import type { ParticipantKind } from '../../store/generated/enums.ts'
import type { FactRow } from '../../store/sql/fact/fact-columns.ts'
import { lockJournal, writeEntry } from '../../store/sql/event/write-entry.ts'
import {
  rollbackFacts,
  countSkipped,
  insertFacts,
  lockFactsByKey,
  saveFacts,
  renewFacts,
  type ActiveRow,
  type FactKey,
  type NewFact,
  type Renewal,
} from '../../store/sql/fact/write-facts.ts'
import type { AfterCommit } from '../../store/tx.ts'
import type { Platform } from '../platform.ts'
import { announceEntries, type JournalRange, type JournalPublisher } from '../publisher.ts'
import { newId } from '../id.ts'
import { hashTerm, salted, saltOf } from '../../text/term-hash.ts'
import { contentHash, type Statement } from './content-hash.ts'
import { TRUST } from './trust.ts'

/** Where a fact comes from, and so who sees it: a turn, or no more than a conversation that was told of it. */
export type FactOrigin = {
  conversationId: string
  /** null where no turn says it. */
  turn: { id: string; rootSeq: number; seq: number; audience: readonly string[] | null } | null
}

/** A statement that may become a fact, with its texts normalised, and redacted if configured. */
export type FactCandidate = Statement & {
  /** Whom it is about. */
  userId: string | null
  saidBy: ParticipantKind
  /** 0 to 1. */
  confidence: number
  observedAt: Date
  /** null where it is of no conversation. */
  origin: FactOrigin | null
}

/** A candidate with its token count, hash and index terms. */
export type WeighedFact = FactCandidate & { tokenCount: number; contentHash: string; terms: number[] }

/** Must be called before a conversation is locked: for a thousand facts it takes seconds of processor time. */
export async function weighFacts(
  { tokens }: Pick<Platform, 'tokens'>,
  tenant: string,
  candidates: readonly FactCandidate[],
): Promise<WeighedFact[]> {
  const weighed: WeighedFact[] = []
  const yieldIfDue = createYield()
  for (const candidate of candidates) {
    weighed.push({
      ...candidate,
      tokenCount: await tokens.count(sentenceOf(candidate)),
      contentHash: contentHash(candidate),
      terms: factTerms(tenant, candidate),
    })
    await yieldIfDue()
  }
  return weighed
}

/** The last seq of each conversation whose journal is locked. */
type JournalHeads = ReadonlyMap<string, number>

/** Locks the journals of those conversations, in the order of their ids; a conversation that the tenant has not has no head. */
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

/** Who may see it, in one text: empty for everyone. */
export const visibilityOf = (audience: readonly string[] | null): string =>
  audience === null
    ? ''
    : createHash('sha256')
        .update(JSON.stringify([...new Set(audience)].sort()))
        .digest('hex')

/** A fact as one sentence. */
export const sentenceOf = ({ subject, predicate, object }: Statement): string => `${subject} ${predicate} ${object}`

/** What the index of words keeps of a fact. */
export const factTerms = (tenant: string, statement: Statement): number[] =>
  salted(terms(sentenceOf(statement)).map(hashTerm), saltOf(tenant, ''))

function toNewFact(heads: JournalHeads, candidate: WeighedFact): NewFact {
  const { origin, userId, saidBy, subject, predicate, object, confidence, observedAt, tokenCount } = candidate
  const turn = origin?.turn ?? null
  // What no turn says stands where its entry will: it is the next, for the journal is locked. A renewal has one too:
  // otherwise whoever joins by the next entry would see what was said before.
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
 * What hearing it again changes about a fact; null for nothing. It is as old as who is believed most said it last;
 * repeating makes nobody surer.
 */
function renewal(active: ActiveRow, { id: _, ...again }: NewFact): Renewal | null {
  const better = TRUST[again.saidBy] - TRUST[active.saidBy]
  if (better < 0 || (better === 0 && again.observedAt <= active.observedAt)) return null
  return { ...again, id: active.id, confidence: better > 0 ? again.confidence : active.confidence }
}

export type WrittenFacts = {
  /** The new facts, in the order of the candidates. */
  facts: NewFact[]
  /** Those that were there and are known from elsewhere, or from somebody else, now. */
  renewed: Renewal[]
  /** Those that were known to the letter. */
  repeated: FactCandidate[]
}

/** Writes those of the facts that are new, and locks what is known of the others, by their keys. */
async function insertOrLock(tx: Tx, tenant: string, facts: readonly NewFact[]) {
  for (;;) {
    await saveFacts(tx)
    const inserted = new Set(await insertFacts(tx, tenant, facts))
    const known = facts.filter(({ id }) => !inserted.has(id))
    const active = new Map((await lockFactsByKey(tx, tenant, known)).map((row) => [keyOf(row), row]))
    if (known.every((fact) => active.has(keyOf(fact)))) return { inserted, known, active }
    // Between the two statements somebody superseded one, who does not write into these conversations. To go on from here would
    // be to wait for others out of order, with locks in hand.
    await rollbackFacts(tx)
  }
}

/**
 * Writes the candidates, and counts those for everyone that were known. The journals of their conversations are locked; to
 * tell these of it is the caller's, by `noteFacts`, right after.
 */
export async function writeFacts(
  tx: Tx,
  tenant: string,
  heads: JournalHeads,
  candidates: readonly WeighedFact[],
): Promise<WrittenFacts> {
  const facts = candidates.map((candidate) => toNewFact(heads, candidate))
  const { inserted, known, active } = await insertOrLock(tx, tenant, facts)
  const renewals = new Map<string, Renewal>()
  for (const fact of known) {
    const row = active.get(keyOf(fact))!
    const renewed = renewal(row, fact)
    if (!renewed) continue
    renewals.set(renewed.id, renewed)
    active.set(keyOf(fact), { ...row, ...renewed })
  }
  await renewFacts(tx, [...renewals.values()])
  const repeated = candidates.filter((_, place) => !inserted.has(facts[place]!.id))
  await countSkipped(tx, tenant, repeated.filter(({ origin }) => !origin?.turn?.audience).length)
  return {
    // One that is new may have been said again among the candidates: it is where that puts it.
    facts: facts.filter(({ id }) => inserted.has(id)).map((fact) => ({ ...fact, ...renewals.get(fact.id) })),
    renewed: [...renewals.values()].filter(({ id }) => !inserted.has(id)),
    repeated,
  }
}

/** Tells the conversations of what has changed in them: one entry each, announced after the commit. */
export async function noteFacts(
  publisher: JournalPublisher,
  tx: Tx,
  afterCommit: AfterCommit,
  tenant: string,
  changed: readonly Pick<FactRow, 'id' | 'conversationId'>[],
): Promise<void> {
  const byConversation = new Map<string, string[]>()
  for (const { id, conversationId } of changed) {
    if (conversationId !== null) byConversation.set(conversationId, [...(byConversation.get(conversationId) ?? []), id])
  }
  const grown: JournalRange[] = []
  for (const [conversationId, factIds] of byConversation) {
    const seq = await writeEntry(tx, conversationId, 'FACTS_CHANGED', { factIds })
    grown.push({ tenant, conversationId, first: seq, last: seq })
  }
  if (grown.length > 0) afterCommit(() => announceEntries(publisher, grown))
}
