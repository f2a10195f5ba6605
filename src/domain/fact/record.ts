// Recording facts that somebody supplies, without any model; and taking facts back. A fact is believed no more than who
// says it and who records it, and nothing is deleted: what is taken back stays, with the reason.

import { z } from 'zod'
import { InvalidInput, NotFound } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import type { ParticipantKind } from '../../store/generated/enums.ts'
import { readParticipants } from '../../store/sql/participant/read-participants.ts'
import { readTurns } from '../../store/sql/turn/read-turns.ts'
import { supersedeFacts } from '../../store/sql/fact/write-facts.ts'
import { withTransaction } from '../../store/tx.ts'
import type { FactDeps } from './deps.ts'
import { id, name, parse, share, text, time } from '../input.ts'
import type { Viewer } from '../view.ts'
import { statementShape } from './content-hash.ts'
import { getFacts, type Fact } from './fact.ts'
import { redactStatement } from './redact-statement.ts'
import { kindOfRole, lessTrusted } from './trust.ts'
import { userOf } from './user.ts'
import { lockConversations, noteFacts, weighFacts, writeFacts, type FactCandidate, type FactOrigin } from './write.ts'

/** Facts of one call. */
const FACTS = 1000

const factInput = z.object({
  ...statementShape,
  confidence: share.nullish(),
  sourceTurnId: id('turn').nullish(),
  observedAt: time.nullish(),
})
const recordFactsInput = z.object({
  conversationId: id('conversation').nullish(),
  userId: name.nullish(),
  facts: z.array(factInput).min(1, 'must have at least one').max(FACTS, `must be at most ${FACTS}`),
})
export type RecordFactsInput = z.input<typeof recordFactsInput>

/** What became of facts that were brought. */
export type FactExtraction = {
  /** Those that were new. */
  facts: Fact[]
  /** How many were known to the letter. Of what was read in turns that the viewer does not see, none is counted. */
  exactDuplicatesSkipped: number
}

/** A turn that a fact names: where that puts the fact, when it was said, and whose word it is. */
type Source = FactOrigin & { at: Date; saidBy: ParticipantKind | null }

/** The turns the facts name, by id. @throws NotFound @throws InvalidInput for one of another conversation */
async function findSources(
  { pool }: FactDeps,
  viewer: Viewer,
  conversationId: string | null,
  facts: readonly { sourceTurnId?: string | null }[],
): Promise<Map<string, Source>> {
  const ids = [...new Set(facts.flatMap(({ sourceTurnId }) => sourceTurnId ?? []))]
  const turns = new Map((await readTurns(pool, viewer, ids)).map((turn) => [turn.id, turn]))
  const conversationIds = [...new Set([...turns.values()].map(({ conversationId }) => conversationId))]
  const actors = [...new Set([...turns.values()].map(({ actor }) => actor))]
  const people = await readParticipants(pool, viewer.tenant, conversationIds, actors)
  const kinds = new Map(people.map(({ conversationId, actor, kind }) => [`${conversationId} ${actor}`, kind]))
  for (const [place, { sourceTurnId }] of facts.entries()) {
    if (sourceTurnId == null) continue
    const turn = turns.get(sourceTurnId)
    if (!turn) throw new NotFound('turn', sourceTurnId)
    if (conversationId !== null && turn.conversationId !== conversationId) {
      throw InvalidInput.at(`facts.${place}.sourceTurnId`, 'is not in that conversation')
    }
  }
  return new Map(
    [...turns.values()].map((turn) => [
      turn.id,
      {
        conversationId: turn.conversationId,
        turn,
        at: turn.createdAt,
        saidBy: lessTrusted(kinds.get(`${turn.conversationId} ${turn.actor}`) ?? null, kindOfRole(turn.role)),
      },
    ]),
  )
}

/** As what the viewer is in conversations of the tenant: an agent or a tool, in whichever; null where in none. */
async function knownAs({ db }: FactDeps, { tenant, actor }: Viewer): Promise<ParticipantKind | null> {
  const found = await db.participant.findFirst({
    where: { actor, kind: { not: 'HUMAN' }, conversation: { tenant } },
    select: { kind: true },
  })
  return found?.kind ?? null
}

/**
 * Writes the facts down, all or none; those that are known to the letter are counted instead. A fact is seen by those
 * who see its source turn. It is believed as far as who said it, and as who records it; whoever is not in its conversation is
 * believed as in their other conversations, and taken for a person's application where they are in none.
 * @throws InvalidInput @throws NotFound for the conversation or a source turn
 */
export async function recordFacts(deps: FactDeps, viewer: Viewer, input: RecordFactsInput): Promise<FactExtraction> {
  const { redactFacts, detectors } = deps
  const asked = parse(recordFactsInput, input)
  const given = {
    ...asked,
    facts: redactFacts ? asked.facts.map((fact) => redactStatement(fact, detectors)) : asked.facts,
  }
  const conversationId = given.conversationId ?? null
  const sources = await findSources(deps, viewer, conversationId, given.facts)
  const conversationIds = [
    ...new Set([...sources.values()].map(({ conversationId }) => conversationId).concat(conversationId ?? [])),
  ]
  const people = await readParticipants(deps.pool, viewer.tenant, conversationIds)
  const elsewhere = await knownAs(deps, viewer)
  const now = new Date()

  const candidates = given.facts.map((fact): FactCandidate => {
    const source = fact.sourceTurnId == null ? null : sources.get(fact.sourceTurnId)!
    const origin = source ?? (conversationId === null ? null : { conversationId, turn: null })
    const known = people.filter(({ conversationId }) => conversationId === origin?.conversationId)
    const recorder = known.find(({ actor }) => actor === viewer.actor)?.kind ?? elsewhere
    return {
      subject: fact.subject,
      predicate: fact.predicate,
      object: fact.object,
      confidence: fact.confidence ?? 1,
      userId: given.userId ?? userOf(fact.subject, known),
      origin,
      saidBy: lessTrusted(source?.saidBy ?? null, recorder) ?? 'HUMAN',
      observedAt: fact.observedAt ?? source?.at ?? now,
    }
  })
  return keep(deps, viewer, conversationIds, candidates)
}

/**
 * Whether their source turns are complete and the newest versions. While their conversations are locked: an edit takes back the
 * facts of what it replaces, and must not miss one.
 * @throws InvalidInput
 */
async function checkSources(tx: Tx, candidates: readonly FactCandidate[]): Promise<void> {
  const ids = candidates.flatMap(({ origin }) => origin?.turn?.id ?? [])
  const unfit = await tx.turn.findFirst({
    where: { id: { in: ids }, OR: [{ status: { not: 'COMMITTED' } }, { supersededBy: { not: null } }] },
    select: { id: true, status: true },
  })
  if (!unfit) return
  const place = candidates.findIndex(({ origin }) => origin?.turn?.id === unfit.id)
  throw InvalidInput.at(
    `facts.${place}.sourceTurnId`,
    unfit.status === 'COMMITTED'
      ? 'was superseded: only the newest version is a source'
      : `is ${unfit.status}: only what is complete is a source`,
  )
}

async function keep(
  deps: FactDeps,
  viewer: Viewer,
  conversationIds: readonly string[],
  candidates: readonly FactCandidate[],
): Promise<FactExtraction> {
  const { tenant } = viewer
  const weighed = await weighFacts(deps, tenant, candidates)
  const { ids, repeated } = await withTransaction(deps.db, async (tx, afterCommit) => {
    const heads = await lockConversations(tx, tenant, conversationIds)
    const gone = conversationIds.find((each) => !heads.has(each))
    if (gone !== undefined) throw new NotFound('conversation', gone)
    await checkSources(tx, candidates)
    const written = await writeFacts(tx, tenant, heads, weighed)
    await noteFacts(deps, tx, afterCommit, tenant, [...written.facts, ...written.renewed])
    if (written.facts.length > 0) afterCommit(() => deps.factEmbedding.nudge())
    return { ids: written.facts.map((fact) => fact.id), repeated: written.repeated }
  })
  const facts = await getFacts(deps, viewer, ids)
  return { facts: ids.flatMap((each) => facts.get(each) ?? []), exactDuplicatesSkipped: repeated.length }
}

const retractFactInput = z.object({ factId: z.string(), reason: text(1000).nullish() })
export type RetractFactInput = z.input<typeof retractFactInput>

/**
 * Takes a fact back: it holds no more, and stays with the reason. One that does not hold any more stays as it is.
 * @throws NotFound
 */
export async function retractFact(deps: FactDeps, viewer: Viewer, input: RetractFactInput): Promise<Fact> {
  const { factId, reason } = parse(retractFactInput, input)
  const fact = (await getFacts(deps, viewer, [factId])).get(factId)
  if (!fact) throw new NotFound('fact', factId)
  await withTransaction(deps.db, async (tx, afterCommit) => {
    await lockConversations(tx, viewer.tenant, fact.conversationId === null ? [] : [fact.conversationId])
    const retracted = await supersedeFacts(tx, [{ id: factId, by: null, reason: 'RETRACTED', note: reason ?? null }])
    if (retracted.length > 0) await noteFacts(deps, tx, afterCommit, viewer.tenant, [fact])
  })
  const after = (await getFacts(deps, viewer, [factId])).get(factId)
  if (!after) throw new NotFound('fact', factId)
  return after
}
