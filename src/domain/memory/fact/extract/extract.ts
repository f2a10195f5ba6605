// Extracts facts from turns, each turn exactly once: the transaction that writes the facts also advances the progress
// of the extraction. A turn is unread until then. Drops facts that agents and tools merely repeat.

import { z } from 'zod'
import { NotFound } from '../../../../errors.ts'
import type { ExtractedFact } from '../../../../providers/ports/fact-extractor.ts'
import type { Tx } from '../../../../store/db/db.ts'
import {
  advanceExtraction,
  findCompletion,
  findNthTurn,
  readExtractionProgress,
  readUnreadTurns,
  type EntrySpan,
  type UnreadTurn,
} from '../../../../store/sql/memory/fact/extraction.ts'
import { readJournalHead } from '../../../../store/sql/turn/journal/read-journal.ts'
import { readFactsAbout, readNames } from '../../../../store/sql/memory/fact/read-active-facts.ts'
import { readParticipants } from '../../../../store/sql/conversation/participant/read-participants.ts'
import { withTransaction } from '../../../../store/db/tx.ts'
import type { FactDeps } from '../deps.ts'
import {
  authorize,
  requireConversation,
  requirePermits,
  requireWriter,
  trusted,
} from '../../../kernel/rights/authorize.ts'
import { id, parse } from '../../../kernel/input.ts'
import { kindOfRole, lessTrusted } from '../../../kernel/rights/principal.ts'
import { getTurns } from '../../../turn/turn.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { contentHash, statementShape, type Statement } from '../content-hash.ts'
import { extractionOf, type FactExtraction } from './fact-extraction.ts'
import { factsOfTurns, type ReadConversation } from './facts-of-turns.ts'
import { statementRedactor, type StatementRedactor } from '../redact-statement.ts'
import { isSame, toComparedFact, withSubjectOf } from '../reconcile/same.ts'
import { subjectFor, userOf } from '../user.ts'
import { lockConversations, appendFactsChanged, prepareFacts, writeFacts, membersOf, visibilityOf } from '../write.ts'
import type { FactCandidate, WrittenFacts } from '../write.ts'

/** Maximum number of turns per batch of `extractFacts`. Newer versions of turns are read, but not counted. */
const BATCH_TURNS = 50
/** Maximum number of turns that one call of `extractFacts` reads, counted like BATCH_TURNS. */
export const MAX_EXTRACTED_TURNS = 1000
/** Maximum number of stored facts, newest first, that candidates from agents and tools are compared with. */
const COMPARED_FACTS = 1000

/** A fact that an extractor returned. An invalid confidence is replaced by 0.5. */
const extractedFact = z.object({ ...statementShape, confidence: z.number().min(0).max(1).catch(0.5) })

/** A candidate with the actor of its source turn. */
type AuthoredCandidate = FactCandidate & { author: string }

/** Validates and redacts an extracted fact. Returns null if it is invalid. */
function toCandidate(
  redacted: StatementRedactor,
  { conversationId, participants }: ReadConversation,
  turn: UnreadTurn,
  fact: ExtractedFact,
): AuthoredCandidate | null {
  const { data: parsed } = extractedFact.safeParse(fact)
  if (!parsed) return null
  // Redact the normalised texts: in the original texts, invisible characters could hide a match.
  const data = redacted(parsed)
  const saidBy = lessTrusted(turn.kind, kindOfRole(turn.role))!
  return {
    ...data,
    saidBy,
    assertedBy: turn.actor,
    observedAt: turn.createdAt,
    importedAt: turn.importedAt,
    author: turn.actor,
    // A person's statement whose subject names no participant is stored as a fact about its author.
    userId: userOf(data.subject, participants) ?? (saidBy === 'HUMAN' ? turn.actor : null),
    source: { conversationId, turn },
  }
}

type ComparedVisibility = { audience: readonly string[] | null; visibility: string }

/** Whether every viewer of the candidate sees the fact: the fact's conversation and audience exclude none of them. */
function isVisibleTo(candidate: ComparedVisibility, fact: ComparedVisibility): boolean {
  const members = membersOf(fact.visibility)
  if (members !== null && members !== membersOf(candidate.visibility)) return false
  const { audience } = candidate
  return fact.audience === null || (audience !== null && audience.every((actor) => fact.audience!.includes(actor)))
}

/**
 * Drops candidates from agents and tools that repeat a superseded fact, or an active fact in different words or for
 * fewer viewers. Otherwise an agent that repeats its context would duplicate facts and make superseded facts active
 * again. Compares an agent's statement about itself with the facts about all participants, as if the subjects were
 * equal.
 */
async function withoutRepetitions(
  { db }: FactDeps,
  { tenant, conversationId, participants, members }: ReadConversation,
  candidates: readonly AuthoredCandidate[],
): Promise<FactCandidate[]> {
  if (candidates.every(({ saidBy }) => saidBy === 'HUMAN')) return [...candidates]
  const actors = participants.map(({ actor }) => actor)
  const users = [...new Set([...candidates.flatMap(({ userId }) => userId ?? []), ...actors])]
  const [existing, names] = await Promise.all([
    readFactsAbout(db, tenant, { users, conversationId, members }, COMPARED_FACTS),
    readNames(db, tenant, users, members),
  ])
  const compare = (fact: Statement & { userId: string | null }) =>
    toComparedFact({ ...fact, subject: subjectFor(fact, names), vector: null })
  const stored = existing.map((fact) => ({ fact, compared: compare(fact) }))
  return candidates.filter((candidate) => {
    if (candidate.saidBy === 'HUMAN') return true
    const { userId, author } = candidate
    const compared = compare(candidate)
    const { audience, position } = candidate.source!.turn!
    // The newer version of a turn may state again what the older one stated.
    const isOfOlderVersion = (fact: (typeof existing)[number]) =>
      fact.supersedeReason === 'UPDATED' && fact.conversationId === conversationId && fact.position === position
    const visibility = visibilityOf(audience, members)
    const matches = stored.filter(
      ({ fact, compared: other }) =>
        !isOfOlderVersion(fact)
        && isVisibleTo({ audience, visibility }, fact)
        && (userId === author
          ? isSame(withSubjectOf(compared, other), other)
          : fact.userId === userId && isSame(compared, other)),
    )
    // Keep exact duplicates of active facts: writeFacts counts and skips them.
    const hash = contentHash(candidate)
    return (
      matches.length === 0
      || matches.some(
        ({ fact }) => fact.supersededAt === null && fact.contentHash === hash && fact.visibility === visibility,
      )
    )
  })
}

/**
 * Extracts facts from the turns whose journal entries are in the span, and writes the facts. Returns null if another
 * process extracted them meanwhile or the conversation was deleted.
 * @throws ProviderFailed
 */
async function extractSpan(
  deps: FactDeps,
  viewer: { tenant: string; actor: string | null },
  span: EntrySpan,
  signal?: AbortSignal,
): Promise<WrittenFacts | null> {
  const { tenant } = viewer
  const { conversationId } = span
  const [turns, participants, head] = await Promise.all([
    readUnreadTurns(deps.db, tenant, span),
    readParticipants(deps.pool, { tenant, actor: null }, [conversationId]),
    readJournalHead(deps.pool, tenant, conversationId),
  ])
  // System turns are instructions and contain no facts about users.
  const readable = turns.filter(({ role, text }) => role !== 'SYSTEM' && text.trim() !== '')
  const byId = new Map(readable.map((turn) => [turn.id, turn]))
  const members = head?.visibility === 'MEMBERS' ? conversationId : null
  const conversation = { tenant, conversationId, participants, members }
  const facts = await factsOfTurns(deps, conversation, readable, signal)
  const redacted = await statementRedactor(deps, tenant)
  const candidates = await withoutRepetitions(
    deps,
    conversation,
    facts.flatMap((fact) => {
      const turn = byId.get(fact.turnId)
      return (turn && toCandidate(redacted, conversation, turn, fact)) ?? []
    }),
  )
  const prepared = await prepareFacts(deps, tenant, candidates)
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const heads = await lockConversations(tx, tenant, [conversationId])
    if (heads.size === 0 || !(await advanceExtraction(tx, span))) return null
    const written = await writeFacts(tx, viewer, heads, await withCurrentSources(tx, prepared))
    await appendFactsChanged(deps, { tx, afterCommit }, tenant, [...written.facts, ...written.renewed])
    if (written.facts.length > 0) afterCommit(() => deps.factEmbedding.nudge())
    return written
  })
}

/** Drops candidates whose turn was edited or deleted during the extraction. A later run extracts the newer version. */
async function withCurrentSources<C extends FactCandidate>(tx: Tx, candidates: readonly C[]): Promise<C[]> {
  const ids = [...new Set(candidates.map(({ source }) => source!.turn!.id))]
  const turns = await tx.turn.findMany({
    where: { id: { in: ids }, status: 'COMMITTED', supersededBy: null },
    select: { id: true },
  })
  const current = new Set(turns.map((turn) => turn.id))
  return candidates.filter(({ source }) => current.has(source!.turn!.id))
}

const extractFactsInput = z.object({ conversationId: id('conversation'), through: id('turn').nullish() })
export type ExtractFactsInput = z.input<typeof extractFactsInput>

/**
 * Extracts and writes the facts of the oldest MAX_EXTRACTED_TURNS unread turns up to and including the turn `through`,
 * which defaults to the newest. `hasMore` is true if unread turns are left; a repeated call continues with them. The
 * result includes facts and duplicates only from turns that the viewer sees.
 * @throws InvalidInput @throws NotFound
 * @throws NotAllowed if the conversation is MEMBERS and the viewer has left it, or if rights.ts denies the call
 * @throws ProviderFailed if the extractor fails. Facts of earlier batches stay stored.
 */
export async function extractFacts(deps: FactDeps, caller: Viewer, input: ExtractFactsInput): Promise<FactExtraction> {
  authorize(caller, 'extractFacts', input)
  const { conversationId, through } = parse(extractFactsInput, input)
  await requireWriter(deps.db.of(caller.tenant), caller, conversationId)
  await requirePermits(deps.db.of(caller.tenant), caller, 'extractFacts', { conversationId })
  const viewer = trusted(caller)
  let end = await requireConversation(deps, viewer, conversationId)
  if (through != null) {
    const turn = (await getTurns(deps, viewer, [through])).get(through)
    if (turn?.conversationId !== conversationId) throw new NotFound('turn', through)
    // If `through` was streamed, its COMMITTED entry has a higher seq than the turn.
    end = (await findCompletion(deps.db, viewer.tenant, turn)) ?? turn.seq
  }
  const assertions: WrittenFacts['assertions'] = []
  const seenBefore = new Set<string>()
  let hasMore = false
  for (let batch = 0; ; batch++) {
    const progress = await readExtractionProgress(deps.db, viewer.tenant, conversationId)
    hasMore = progress !== null && progress.through < end
    if (!progress || !hasMore || batch === MAX_EXTRACTED_TURNS / BATCH_TURNS) break
    const start = { conversationId, after: progress.through }
    const next = await findNthTurn(deps.db, viewer.tenant, start, BATCH_TURNS)
    const written = await extractSpan(deps, viewer, { ...start, through: Math.min(next ?? end, end) })
    // Ignore facts that an earlier batch of this call asserted, because that batch may have stored them.
    const earlier = new Set(assertions.map(({ factId }) => factId))
    for (const factId of written?.seenBefore ?? []) if (!earlier.has(factId)) seenBefore.add(factId)
    assertions.push(...(written?.assertions ?? []))
  }
  const turnOf = ({ candidate }: (typeof assertions)[number]) => candidate.source!.turn!.id
  const seen = await getTurns(deps, viewer, assertions.map(turnOf))
  const asserted = assertions.filter((each) => seen.has(turnOf(each))).map(({ factId }) => factId)
  return extractionOf(deps, viewer, { asserted, seenBefore, hasMore })
}

/**
 * Runs one automatic extraction of the oldest `n` unread turns. Returns false if fewer turns are unread, or if another
 * process extracted them meanwhile.
 * @throws ProviderFailed, or the signal's reason after an abort
 */
export async function extractNext(
  deps: FactDeps,
  { tenant, conversationId }: { tenant: string; conversationId: string },
  n: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const progress = await readExtractionProgress(deps.db, tenant, conversationId)
  if (!progress) return false
  const start = { conversationId, after: progress.through }
  const through = await findNthTurn(deps.db, progress.tenant, start, n)
  if (through === null) return false
  return (await extractSpan(deps, { tenant: progress.tenant, actor: null }, { ...start, through }, signal)) !== null
}
