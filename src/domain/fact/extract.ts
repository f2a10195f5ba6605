// From turns to facts. Each turn is read once: a watermark moves on with the facts that were written, in one
// transaction, so that nothing is learned twice or lost, whoever reads, and however often. What agents and tools only
// repeat of what is known, or was once, is nothing new.

import { z } from 'zod'
import { NotFound } from '../../errors.ts'
import { type ExtractedFact } from '../../providers/ports/fact-extractor.ts'
import type { Tx } from '../../store/db.ts'
import {
  advanceExtraction,
  findCompletion,
  findNthTurn,
  readExtractionProgress,
  readUnreadTurns,
  type UnreadTurn,
} from '../../store/sql/fact/extraction.ts'
import { readFactsAbout, readNames } from '../../store/sql/fact/read-active-facts.ts'
import { readParticipants } from '../../store/sql/participant/read-participants.ts'
import { withTransaction } from '../../store/tx.ts'
import type { FactDeps } from './deps.ts'
import { askProvider } from '../ask-provider.ts'
import { id, parse } from '../input.ts'
import { getTurns } from '../turn/turn.ts'
import type { Viewer } from '../view.ts'
import { contentHash, statementShape, type Statement } from './content-hash.ts'
import { getFacts } from './fact.ts'
import type { FactExtraction } from './record.ts'
import { redactStatement } from './redact-statement.ts'
import { isSame, toComparedFact } from './same.ts'
import { kindOfRole, lessTrusted } from './trust.ts'
import { subjectFor, userOf, type Person } from './user.ts'
import {
  lockConversations,
  noteFacts,
  visibilityOf,
  weighFacts,
  writeFacts,
  type FactCandidate,
  type WrittenFacts,
} from './write.ts'

/** Turns that one reading on demand takes on. */
const TURNS = 50
/** Facts, newest first, that what agents say is compared with. */
const KNOWN = 1000

/** What an extractor brings. A confidence that is none counts as half. */
const found = z.object({ ...statementShape, confidence: z.number().min(0).max(1).catch(0.5) })

/** What the extractor finds in those turns. @throws ProviderFailed */
async function find(
  { factServices: { extractor }, log }: FactDeps,
  told: readonly UnreadTurn[],
  people: readonly Person[],
  signal?: AbortSignal,
): Promise<ExtractedFact[]> {
  if (told.length === 0) return []
  const turns = told.map(({ id, actor, displayName, kind, role, text, createdAt }) => ({
    id,
    actor,
    displayName: displayName ?? actor,
    kind: lessTrusted(kind, kindOfRole(role))!,
    text,
    at: createdAt,
  }))
  const names = people.map(({ actor, displayName }) => displayName ?? actor)
  const { facts } = await askProvider(log, 'extract facts', extractor.name, () =>
    extractor.extract(turns, { people: names, signal }),
  )
  return facts
}

/** What was found in a turn, with the actor whose turn it was. */
type SpokenFact = FactCandidate & { speaker: string }

/** What an extractor says, checked and, where that is asked for, redacted; null where nothing is left of it. */
function toCandidate(
  { redactFacts, detectors }: FactDeps,
  conversationId: string,
  turn: UnreadTurn,
  people: readonly Person[],
  fact: ExtractedFact,
): SpokenFact | null {
  const { data: parsed } = found.safeParse(fact)
  if (!parsed) return null
  // As it would be kept: before, characters that show nothing may hide what is to be found.
  const data = redactFacts ? redactStatement(parsed, detectors) : parsed
  const saidBy = lessTrusted(turn.kind, kindOfRole(turn.role))!
  return {
    ...data,
    saidBy,
    observedAt: turn.createdAt,
    speaker: turn.actor,
    // What people tell of strangers is of their own world.
    userId: userOf(data.subject, people) ?? (saidBy === 'HUMAN' ? turn.actor : null),
    origin: { conversationId, turn },
  }
}

/** Whether all whom a turn is for were told the fact: it was for everyone, or for them and perhaps more. */
const wasToldTo = (audience: readonly string[] | null, fact: { audience: readonly string[] | null }): boolean =>
  fact.audience === null || (audience !== null && audience.every((actor) => fact.audience!.includes(actor)))

/**
 * The candidates without what agents and tools only repeat, in other words or to fewer people, of what is known, or
 * repeat at all of what was: else the memory would learn from itself, and what was superseded would come back. An agent
 * that says of itself what is known of somebody in the conversation says that person's words again.
 */
async function withoutEchoes(
  { db }: FactDeps,
  tenant: string,
  conversationId: string,
  people: readonly Person[],
  candidates: readonly SpokenFact[],
): Promise<FactCandidate[]> {
  if (candidates.every(({ saidBy }) => saidBy === 'HUMAN')) return [...candidates]
  const users = [...new Set([...candidates.flatMap(({ userId }) => userId ?? []), ...people.map(({ actor }) => actor)])]
  const [known, names] = await Promise.all([
    readFactsAbout(db, tenant, users, conversationId, KNOWN),
    readNames(db, tenant, users),
  ])
  const compare = (fact: Statement & { userId: string | null }) =>
    toComparedFact({ ...fact, subject: subjectFor(fact, names), vector: null })
  const compared = known.map((fact) => ({ fact, own: compare(fact) }))
  return candidates.filter((candidate) => {
    if (candidate.saidBy === 'HUMAN') return true
    const { userId, speaker } = candidate
    const own = compare(candidate)
    const { audience } = candidate.origin!.turn!
    const visibility = visibilityOf(audience)
    const echoed = compared.filter(
      ({ fact, own: other }) =>
        wasToldTo(audience, fact)
        && (userId === speaker
          ? isSame({ ...own, subject: other.subject }, other)
          : fact.userId === userId && isSame(own, other)),
    )
    // To the letter what holds: that is counted as a repeat, where it is written.
    const hash = contentHash(candidate)
    return (
      echoed.length === 0
      || echoed.some(
        ({ fact }) => fact.supersededAt === null && fact.contentHash === hash && fact.visibility === visibility,
      )
    )
  })
}

/**
 * Reads the entries in (from, to] for facts, and writes them; null where somebody else has read them meanwhile.
 * @throws ProviderFailed
 */
async function learn(
  deps: FactDeps,
  tenant: string,
  conversationId: string,
  from: number,
  to: number,
  signal?: AbortSignal,
): Promise<WrittenFacts | null> {
  const [turns, people] = await Promise.all([
    readUnreadTurns(deps.db, conversationId, from, to),
    readParticipants(deps.pool, tenant, [conversationId]),
  ])
  // Instructions tell nothing of anybody.
  const told = turns.filter(({ role, text }) => role !== 'SYSTEM' && text.trim() !== '')
  const byId = new Map(told.map((turn) => [turn.id, turn]))
  const facts = await find(deps, told, people, signal)
  const candidates = await withoutEchoes(
    deps,
    tenant,
    conversationId,
    people,
    facts.flatMap((fact) => {
      const turn = byId.get(fact.turnId)
      return (turn && toCandidate(deps, conversationId, turn, people, fact)) ?? []
    }),
  )
  const weighed = await weighFacts(deps, tenant, candidates)
  return withTransaction(deps.db, async (tx, afterCommit) => {
    const heads = await lockConversations(tx, tenant, [conversationId])
    if (heads.size === 0 || !(await advanceExtraction(tx, conversationId, from, to))) return null
    const written = await writeFacts(tx, tenant, heads, await stillSaid(tx, weighed))
    await noteFacts(deps, tx, afterCommit, tenant, [...written.facts, ...written.renewed])
    if (written.facts.length > 0) afterCommit(() => deps.factEmbedding.nudge())
    return written
  })
}

/** Less those whose turn was edited while the extractor worked: the newer version is read in its turn. */
async function stillSaid<C extends FactCandidate>(tx: Tx, candidates: readonly C[]): Promise<C[]> {
  const ids = [...new Set(candidates.map(({ origin }) => origin!.turn!.id))]
  const turns = await tx.turn.findMany({
    where: { id: { in: ids }, status: 'COMMITTED', supersededBy: null },
    select: { id: true },
  })
  const current = new Set(turns.map((turn) => turn.id))
  return candidates.filter(({ origin }) => current.has(origin!.turn!.id))
}

const extractFactsInput = z.object({ conversationId: id('conversation'), through: id('turn').nullish() })
export type ExtractFactsInput = z.input<typeof extractFactsInput>

/**
 * Reads all turns up to and with `through` (the newest) that were not read before, and writes the facts they tell. What
 * comes of turns that the viewer does not see is not told.
 * @throws InvalidInput @throws NotFound
 * @throws ProviderFailed; what was read before stays read
 */
export async function extractFacts(deps: FactDeps, viewer: Viewer, input: ExtractFactsInput): Promise<FactExtraction> {
  const { conversationId, through } = parse(extractFactsInput, input)
  const before = await readExtractionProgress(deps.db, conversationId)
  if (before?.tenant !== viewer.tenant) throw new NotFound('conversation', conversationId)
  let end = before.lastSeq
  if (through != null) {
    const turn = (await getTurns(deps, viewer, [through])).get(through)
    if (turn?.conversationId !== conversationId) throw new NotFound('turn', through)
    // One that is still being written is read once it is complete.
    end = (await findCompletion(deps.db, conversationId, through, turn.seq)) ?? turn.seq
  }
  const ids: string[] = []
  const repeated: FactCandidate[] = []
  for (;;) {
    const now = await readExtractionProgress(deps.db, conversationId)
    if (!now || now.through >= end) break
    const next = await findNthTurn(deps.db, conversationId, now.through, TURNS)
    const written = await learn(deps, viewer.tenant, conversationId, now.through, Math.min(next ?? end, end))
    ids.push(...(written?.facts ?? []).map((fact) => fact.id))
    repeated.push(...(written?.repeated ?? []))
  }
  const [facts, seen] = await Promise.all([
    getFacts(deps, viewer, ids),
    getTurns(
      deps,
      viewer,
      repeated.map(({ origin }) => origin!.turn!.id),
    ),
  ])
  return {
    facts: ids.flatMap((each) => facts.get(each) ?? []),
    exactDuplicatesSkipped: repeated.filter(({ origin }) => seen.has(origin!.turn!.id)).length,
  }
}

/**
 * One automatic reading: of the oldest `n` turns that were not read, where there are so many. False where there are
 * not, or somebody else read them meanwhile.
 * @throws ProviderFailed, or the reason of the signal
 */
export async function extractNext(
  deps: FactDeps,
  conversationId: string,
  n: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const progress = await readExtractionProgress(deps.db, conversationId)
  const to = progress && (await findNthTurn(deps.db, conversationId, progress.through, n))
  if (!progress || to === null) return false
  return (await learn(deps, progress.tenant, conversationId, progress.through, to, signal)) !== null
}
