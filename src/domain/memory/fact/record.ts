// Records facts supplied by the viewer, without a model, and retracts facts. The viewer asserts a recorded fact; its
// `saidBy` is the kind of the viewer or of the source turn's actor, whichever is less trusted. Retracting a fact does
// not delete it: the fact is superseded and stored with the reason.

import { z } from 'zod'
import { InvalidInput, NotAllowed, NotFound } from '../../../errors.ts'
import type { Tx } from '../../../store/db/db.ts'
import type { ParticipantKind } from '../../../store/generated/enums.ts'
import { readParticipants } from '../../../store/sql/conversation/participant/read-participants.ts'
import { readAuthorKinds } from '../../../store/sql/turn/read-author-kinds.ts'
import { readTurns } from '../../../store/sql/turn/read-turns.ts'
import { readFacts } from '../../../store/sql/memory/fact/read-facts.ts'
import { lockFacts, supersedeFacts } from '../../../store/sql/memory/fact/facts.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import type { FactDeps } from './deps.ts'
import {
  authorize,
  isWithinReach,
  requireChange,
  requireConversation,
  requirePermits,
  trusted,
} from '../../kernel/rights/authorize.ts'
import { kindOf } from '../../kernel/id.ts'
import { id, name, parse, pastTime, share, text } from '../../kernel/input.ts'
import { kindOfCredential, kindOfRole, lessTrusted } from '../../kernel/rights/principal.ts'
import type { Viewer } from '../../kernel/view.ts'
import { statementShape } from './content-hash.ts'
import { toFact, type Fact } from './fact.ts'
import { extractionOf, type FactExtraction } from './extract/fact-extraction.ts'
import { statementRedactor } from './redact-statement.ts'
import { redactInput } from '../../kernel/redaction.ts'
import { isOwn } from './trust.ts'
import { userOf } from './user.ts'
import {
  lockConversations,
  appendFactsChanged,
  prepareFacts,
  writeFacts,
  type FactCandidate,
  type CandidateSource,
} from './write.ts'

/** Maximum number of facts per call of `recordFacts`. */
export const MAX_FACTS = 1000
/** Maximum length of the reason of a retraction, in characters. */
export const MAX_REASON = 1000

const factInput = z
  .object({
    ...statementShape,
    confidence: share.nullish(),
    sourceTurnId: id('turn').nullish(),
    observedAt: pastTime.nullish(),
  })
  .refine(({ validFrom, validTo }) => validFrom === null || validTo === null || validFrom < validTo, {
    path: ['validTo'],
    message: 'must be after validFrom',
  })
const recordFactsInput = z.object({
  conversationId: id('conversation').nullish(),
  userId: name.nullish(),
  facts: z.array(factInput).min(1, 'must have at least one').max(MAX_FACTS, `must have at most ${MAX_FACTS}`),
})
export type RecordFactsInput = z.input<typeof recordFactsInput>

/** A source turn, with the times and the kind of its author, which its facts inherit. */
type SourceTurn = CandidateSource & { at: Date; importedAt: Date | null; saidBy: ParticipantKind | null }

/** Returns the source turns by id. @throws NotFound @throws InvalidInput for a turn of another conversation */
async function findSourceTurns(
  { pool }: FactDeps,
  viewer: Viewer,
  conversationId: string | null,
  facts: readonly { sourceTurnId?: string | null }[],
): Promise<Map<string, SourceTurn>> {
  const ids = [...new Set(facts.flatMap(({ sourceTurnId }) => sourceTurnId ?? []))]
  const turns = new Map((await readTurns(pool, viewer, ids)).map((turn) => [turn.id, turn]))
  const kinds = await readAuthorKinds(pool, viewer.tenant, [...turns.keys()])
  for (const [i, { sourceTurnId }] of facts.entries()) {
    if (sourceTurnId == null) continue
    const turn = turns.get(sourceTurnId)
    if (!turn) throw new NotFound('turn', sourceTurnId)
    if (conversationId !== null && turn.conversationId !== conversationId) {
      throw InvalidInput.at(`facts.${i}.sourceTurnId`, 'is a turn of another conversation')
    }
  }
  return new Map(
    [...turns.values()].map((turn) => [
      turn.id,
      {
        conversationId: turn.conversationId,
        turn,
        at: turn.createdAt,
        importedAt: turn.importedAt,
        saidBy: lessTrusted(kinds.get(turn.id) ?? null, kindOfRole(turn.role)),
      },
    ]),
  )
}

/** Returns AGENT or TOOL if the viewer is or was one in any conversation of the tenant, and null if not. */
async function kindElsewhere({ db }: FactDeps, { tenant, actor }: Viewer): Promise<ParticipantKind | null> {
  const participant = await db
    .of(tenant)
    .participant.findFirst({
      where: { actor, kind: { not: 'HUMAN' }, conversation: { tenant } },
      select: { kind: true },
    })
  return participant?.kind ?? null
}

/**
 * Checks the permits that facts about others require in each conversation. A null id is for facts without a
 * conversation.
 * @throws NotFound @throws NotAllowed
 */
async function requirePermitsOfFacts(
  { db }: FactDeps,
  viewer: Viewer,
  conversationIds: readonly (string | null)[],
): Promise<void> {
  for (const each of conversationIds) {
    await requirePermits(db.of(viewer.tenant), viewer, 'recordFacts', {
      conversationId: each,
      conditions: [each === null ? 'factsOfTenant' : 'factsAboutOthers'],
    })
  }
}

/**
 * Writes all of the facts or none; exact duplicates are counted, not written. The viewer has the kind of its own
 * credential. Without one, it has its kind as a participant or, if it is none, that of `kindElsewhere`, by default HUMAN. `confidence` defaults to 1. `observedAt`
 * defaults to the time of the source turn, or to now without a source turn.
 * @throws InvalidInput @throws NotFound for the conversation or a source turn
 * @throws NotAllowed for a MEMBERS conversation that the viewer has left, or if rights.ts denies the call
 */
export async function recordFacts(deps: FactDeps, viewer: Viewer, input: RecordFactsInput): Promise<FactExtraction> {
  authorize(viewer, 'recordFacts', input)
  const parsed = parse(recordFactsInput, input)
  const redacted = await statementRedactor(deps, viewer.tenant)
  const given = { ...parsed, facts: parsed.facts.map((fact) => redacted(fact)) }
  const conversationId = given.conversationId ?? null
  if (conversationId !== null) await requireConversation(deps, viewer, conversationId)
  const sourceTurns = await findSourceTurns(deps, viewer, conversationId, given.facts)
  const conversationIds = [
    ...new Set([...sourceTurns.values()].map(({ conversationId }) => conversationId).concat(conversationId ?? [])),
  ]
  if (given.userId !== viewer.actor) {
    const isOfTenant = conversationId === null && given.facts.some(({ sourceTurnId }) => sourceTurnId == null)
    await requirePermitsOfFacts(deps, viewer, isOfTenant ? [null, ...conversationIds] : conversationIds)
  }
  const allParticipants = await readParticipants(deps.pool, viewer, conversationIds)
  const ownKind = kindOfCredential(viewer, viewer.actor)
  const otherKind = ownKind ?? (await kindElsewhere(deps, viewer))
  const now = new deps.clock.Date()

  const candidates = given.facts.map((fact): FactCandidate => {
    const sourceTurn = fact.sourceTurnId == null ? null : sourceTurns.get(fact.sourceTurnId)!
    const source = sourceTurn ?? (conversationId === null ? null : { conversationId, turn: null })
    const participants = allParticipants.filter(({ conversationId }) => conversationId === source?.conversationId)
    const viewerKind = ownKind ?? participants.find(({ actor }) => actor === viewer.actor)?.kind ?? otherKind
    return {
      subject: fact.subject,
      predicate: fact.predicate,
      object: fact.object,
      confidence: fact.confidence ?? 1,
      userId: given.userId ?? userOf(fact.subject, participants),
      source,
      saidBy: lessTrusted(sourceTurn?.saidBy ?? null, viewerKind) ?? 'HUMAN',
      // The viewer asserts the fact, not the author of the source turn, who may have said something else.
      assertedBy: viewer.actor,
      observedAt: fact.observedAt ?? sourceTurn?.at ?? now,
      importedAt: fact.observedAt == null ? (sourceTurn?.importedAt ?? null) : now,
      validFrom: fact.validFrom,
      validTo: fact.validTo,
    }
  })
  return writeCandidates(deps, viewer, conversationIds, candidates)
}

/**
 * Checks that each source turn is committed and not superseded. Call it while the conversations are locked: an edit
 * supersedes the facts of the replaced version, and would miss facts that are written after the edit.
 * @throws InvalidInput
 */
async function checkSources(tx: Tx, candidates: readonly FactCandidate[]): Promise<void> {
  const ids = candidates.flatMap(({ source }) => source?.turn?.id ?? [])
  const invalid = await tx.turn.findFirst({
    where: { id: { in: ids }, OR: [{ status: { not: 'COMMITTED' } }, { supersededBy: { not: null } }] },
    select: { id: true, status: true },
  })
  if (!invalid) return
  const index = candidates.findIndex(({ source }) => source?.turn?.id === invalid.id)
  throw InvalidInput.at(
    `facts.${index}.sourceTurnId`,
    invalid.status === 'COMMITTED'
      ? 'was superseded: use the newest version of the turn'
      : `is ${invalid.status}: use a committed turn`,
  )
}

async function writeCandidates(
  deps: FactDeps,
  viewer: Viewer,
  conversationIds: readonly string[],
  candidates: readonly FactCandidate[],
): Promise<FactExtraction> {
  const { tenant } = viewer
  const prepared = await prepareFacts(deps, tenant, candidates)
  const { assertions, seenBefore } = await withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const heads = await lockConversations(tx, tenant, conversationIds)
    for (const each of conversationIds) {
      const head = heads.get(each)
      if (!head) throw new NotFound('conversation', each)
      await requireChange(tx, viewer, each, head)
    }
    await checkSources(tx, candidates)
    const written = await writeFacts(tx, viewer, heads, prepared)
    await appendFactsChanged(deps, { tx, afterCommit }, tenant, [...written.facts, ...written.renewed])
    if (written.facts.length > 0) afterCommit(() => deps.factEmbedding.nudge())
    return written
  })
  const asserted = assertions.map(({ factId }) => factId)
  return extractionOf(deps, trusted(viewer), { asserted, seenBefore, hasMore: false })
}

const retractFactInput = z.object({ factId: z.string(), reason: text(MAX_REASON).nullish() })
export type RetractFactInput = z.input<typeof retractFactInput>

/**
 * Retracts a fact: supersedes it and stores the reason. A fact that is already superseded does not change.
 * @throws NotFound
 * @throws NotAllowed if a person stated the fact about themselves and the viewer is not that person, if the fact
 * belongs to a MEMBERS conversation that the viewer has left, or if rights.ts denies the call
 */
export async function retractFact(deps: FactDeps, viewer: Viewer, input: RetractFactInput): Promise<Fact> {
  authorize(viewer, 'retractFact')
  const { factId, reason } = await redactInput(deps, viewer, 'retractFact', parse(retractFactInput, input))
  // Do not query with other texts: they may contain characters that the database rejects.
  if (kindOf(factId) !== 'fact') throw new NotFound('fact', factId)
  for (;;) {
    const [fact] = await readFacts(deps.db.of(viewer.tenant), viewer, [factId])
    if (!fact || !isWithinReach(viewer, fact.conversationId)) throw new NotFound('fact', factId)
    if (isOwn(fact) && viewer.actor !== fact.userId) {
      throw new NotAllowed('Only the person who stated this fact about themselves may retract it.')
    }
    if (fact.userId !== viewer.actor && fact.assertedBy !== viewer.actor) {
      const { conversationId } = fact
      const condition = conversationId === null ? 'factsOfTenant' : 'factsAboutOthers'
      await requirePermits(deps.db.of(viewer.tenant), viewer, 'retractFact', {
        conversationId,
        conditions: [condition],
      })
    }
    if (fact.supersededAt) return toFact(fact)
    await withTransaction(deps.db, viewer.tenant, async (tx, afterCommit) => {
      const heads = await lockConversations(
        tx,
        viewer.tenant,
        fact.conversationId === null ? [] : [fact.conversationId],
      )
      for (const [conversationId, head] of heads) await requireChange(tx, viewer, conversationId, head)
      // If the fact changed meanwhile, the next iteration reads and checks it again.
      if ((await lockFacts(tx, [fact])).length === 0) return
      await supersedeFacts(tx, [{ id: factId, by: null, reason: 'RETRACTED', note: reason ?? null }])
      await appendFactsChanged(deps, { tx, afterCommit }, viewer.tenant, [fact])
    })
  }
}
