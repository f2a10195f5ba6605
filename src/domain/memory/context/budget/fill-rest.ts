// Fills the part of a context that follows the recent turns and may change from call to call: the facts that are
// relevant to the query, and the recalled turns. It gets all space that the other sections left. Takes, in this order:
// the first facts, the best hits, the turns next to them, turns that the other sections left out, more facts, and
// profiles that did not fit into their share.

import type { AddressedTurn, AssemblyRequest, ContextMaterial } from './assembly-input.ts'
import { larger, minus, smaller, type Size } from './budget.ts'
import { containsStatement, type Repetition } from '../material/duplicates.ts'
import { repeatedItems, type Fixed, type Sections } from './fill-sections.ts'
import { demandOf, factQuoting, itemsOf, profileQuoting, quoteThatFit, type Quoted } from './fit-quotes.ts'
import { idsOf, sizesOf, type MeasuredMessage, type Tokens } from './measure.ts'
import { ALREADY_INCLUDED, contentOf, type ContextItem, type Message } from '../message.ts'
import { nameOf, type ContextTurn } from '../perspective.ts'
import {
  fenceFor,
  quoteTurn,
  recallMessage,
  type QuotableTurn,
  type QuotedFact,
  type QuotedTurn,
  type RecalledTurn,
} from '../quote.ts'

/** Number of relevant facts that precede the recalled turns, even if they exceed the share of relevant facts. */
const FIRST_FACTS = 3

/** A turn that may be quoted, and why. */
type Candidate = QuotableTurn & QuotedTurn & { why: 'hit' | 'neighbour' | 'older' }

/** Searches, and returns the messages that follow the recent turns, and manifest items for what they leave out. */
export async function fillRest(
  tokens: Tokens,
  material: ContextMaterial,
  { recall, findFacts }: AssemblyRequest,
  { fixed: { answered, measured }, sections }: { fixed: Fixed; sections: Sections },
): Promise<{ messages: MeasuredMessage[]; omitted: ContextItem[] }> {
  const included = new Set([...idsOf([...sections.prefix, ...sections.newest]), ...(answered ? [answered.id] : [])])
  const addressed = material.answered ? addressedBy(material.answered) : newestAddressed(measured.turns)
  const hasMoreFacts = sections.facts.length > 0 || !material.hasAllFacts || material.hasEndedFacts
  const [hits, ranked] = await Promise.all([
    recall ? recall.find(addressed, included) : [],
    findFacts && hasMoreFacts ? findFacts(addressed) : [],
  ])
  const k = recall?.k ?? 0
  const { facts, repeated } = distinctFacts(material, sections, ranked)
  const candidates = recall
    ? candidatesOf(hits, k, olderTurns(material, sections.turns.unfitting, sections.space), included)
    : []
  const fitted = await fit(tokens, facts, candidates, sections)
  const left = minus(sections.space, sizesOf([fitted.facts, fitted.turns].flatMap(({ message }) => message ?? [])))
  const profiles = await quoteThatFit(tokens, sections.profiles, profileQuoting(sections.profiles), left)
  if (fitted.repeated.length > 0) repeated.set('turn', [...(repeated.get('turn') ?? []), ...fitted.repeated])

  const quoting = { textOf: (turn: QuotableTurn) => quoteTurn(turn).quote }
  const already = hits.slice(0, k).filter(({ id }) => included.has(id))
  const unfitting = fitted.turns.omitted.filter(({ why }) => why === 'hit')
  return {
    messages: [profiles, fitted.facts, fitted.turns].flatMap(({ message }) => message ?? []),
    omitted: [
      ...(await itemsOf(tokens, profiles.omitted, profileQuoting([]), {
        kind: 'PROFILE',
        reason: 'no space for more profiles',
      })),
      ...(await repeatedItems(tokens, repeated)),
      ...(await itemsOf(tokens, fitted.facts.omitted, factQuoting([], 'relevant'), {
        kind: 'FACT',
        reason: 'no space for more facts',
      })),
      ...unreadFacts(material),
      ...sections.turns.omittedExcept(new Set(fitted.turns.chosen.map(({ id }) => id))),
      ...(await itemsOf(tokens, already, quoting, { kind: 'RECALLED', reason: ALREADY_INCLUDED })).map((item) => ({
        ...item,
        tokenCount: 0,
      })),
      ...(await itemsOf(tokens, unfitting, quoting, { kind: 'RECALLED', reason: 'no space for more recalled turns' })),
    ],
  }
}

/** Returns the turn to answer; null if it has no text. */
const addressedBy = ({ id, text }: ContextTurn): AddressedTurn | null => (text.trim() === '' ? null : { id, text })

/** Returns the newest turn addressed to the model; null if there is none. */
function newestAddressed(turns: readonly Message[]): AddressedTurn | null {
  const last = turns.findLast(({ role, parts }) => role === 'USER' && contentOf(parts).trim() !== '')
  return last ? { id: last.sourceIds[0]!, text: contentOf(last.parts) } : null
}

/**
 * Returns the facts that the context does not contain yet: the ranked ones, best first, then the others, the most
 * recently observed first.
 */
function distinctFacts(
  { facts }: ContextMaterial,
  sections: Sections,
  ranked: readonly QuotedFact[],
): { facts: QuotedFact[]; repeated: Map<Repetition, QuotedFact[]> } {
  const given = new Set(facts.map(({ id }) => id))
  const remaining = new Map(sections.facts.map((fact) => [fact.id, fact]))
  const repeated = new Map<Repetition, QuotedFact[]>()
  const first = ranked.filter((fact) => {
    if (given.has(fact.id)) return remaining.delete(fact.id)
    const where = sections.fold(fact)
    if (where !== null) repeated.set(where, [...(repeated.get(where) ?? []), fact])
    return where === null
  })
  return { facts: [...first, ...remaining.values()], repeated }
}

function unreadFacts({ hasAllFacts, facts }: ContextMaterial): ContextItem[] {
  const reason = `only the newest ${facts.length} facts are read, and the relevant ones`
  return hasAllFacts ? [] : [{ kind: 'FACT', sourceIds: [], tokenCount: 0, included: false, reason }]
}

/** Number of turns that are tried after the tokens of those before have exceeded the space. */
const FURTHER_TURNS = 16

/**
 * Returns the turns with the given ids that can be quoted: committed turns with text, without instructions. Returns the
 * first ones, whose tokens exceed the space, and FURTHER_TURNS more.
 */
function olderTurns(
  { recent, kept, perspective }: ContextMaterial,
  ids: readonly string[],
  space: Size,
): QuotableTurn[] {
  if (ids.length === 0) return []
  const turns = new Map([...kept, ...recent].map((turn) => [turn.id, turn]))
  let [tokens, further] = [0, 0]
  return ids.flatMap((id) => {
    const turn = turns.get(id)
    if (further > FURTHER_TURNS || !turn) return []
    if ((tokens += turn.tokenCount) > space.OPENAI) further += 1
    if (turn.status !== 'COMMITTED' || turn.role === 'SYSTEM' || turn.text.trim() === '') return []
    const { position, createdAt, text, tokenCount } = turn
    return [{ id, position, name: nameOf(perspective, turn.actor), createdAt, text, tokenCount }]
  })
}

/** Returns the turns that may be quoted, each once, in order of preference: the best `k` hits come first. */
function candidatesOf(
  hits: readonly RecalledTurn[],
  k: number,
  older: readonly QuotableTurn[],
  included: ReadonlySet<string>,
): Candidate[] {
  const best = hits.filter(({ id }) => !included.has(id)).slice(0, k)
  const neighbours = best.flatMap((hit) => hit.neighbours ?? [])
  const because = (why: Candidate['why'], turns: readonly QuotableTurn[]): Candidate[] =>
    turns.map((turn) => ({ ...turn, ...quoteTurn(turn), why }))
  const ids = new Set(included)
  return [
    ...because('hit', best),
    // A hit that answers a question is hard to understand without it.
    ...because(
      'neighbour',
      neighbours.filter(({ isAsked }) => isAsked),
    ),
    ...because('neighbour', neighbours),
    ...because('older', older),
  ].filter(({ id }) => !ids.has(id) && ids.add(id))
}

/** Returns the reason in the manifest. */
function reasonFor(turns: readonly Candidate[]): string {
  const count = (why: Candidate['why']) => turns.filter((each) => each.why === why).length
  const [hits, neighbours, older] = [count('hit'), count('neighbour'), count('older')]
  return [
    `relevant to the query: ${hits} recalled`,
    ...(neighbours > 0 ? [`${neighbours} next to them`] : []),
    ...(older > 0 ? [`${older} older ones, for which there is no space otherwise`] : []),
  ].join(', ')
}

const byTime = (turns: readonly Candidate[]) =>
  turns.toSorted(
    (a, b) => a.createdAt.getTime() - b.createdAt.getTime() || a.position - b.position || (a.id < b.id ? -1 : 1),
  )

const turnQuoting = (candidates: readonly Candidate[]) => {
  const fence = fenceFor(candidates.map(({ quote }) => quote))
  return {
    textOf: ({ quote }: Candidate) => quote,
    atLeast: ({ tokenCount }: Candidate) => tokenCount,
    headingOf: ({ day }: Candidate) => day,
    toMessage: (chosen: readonly Candidate[]) => recallMessage(byTime(chosen), fence, reasonFor(chosen)),
  }
}

/** The fitted facts and turns; `repeated` are the facts that the quoted turns contain. */
type Fitted = { facts: Quoted<QuotedFact>; turns: Quoted<Candidate>; repeated: QuotedFact[] }

/** Fits the facts and the turns, both in order of preference, into the space that is left. */
async function fit(
  tokens: Tokens,
  facts: readonly QuotedFact[],
  candidates: readonly Candidate[],
  { space, forFacts }: Sections,
): Promise<Fitted> {
  const known = factQuoting(facts, 'relevant')
  const quoting = turnQuoting(candidates)
  const beside = ({ message }: Quoted<unknown>) => minus(space, sizesOf(message ? [message] : []))
  const first = await demandOf(tokens, facts.slice(0, FIRST_FACTS), known, space)
  const firstFacts = await quoteThatFit(tokens, facts, known, smaller(larger(forFacts, first), space))
  const turns = await quoteThatFit(tokens, candidates, quoting, beside(firstFacts))
  const texts = new Map(turns.chosen.map(({ id, text }) => [id, text]))
  const repeated = facts.filter((fact) => containsStatement(texts.get(fact.sourceTurnId ?? ''), fact))
  if (repeated.length === 0 && firstFacts.omitted.length === 0) return { facts: firstFacts, turns, repeated }
  const isRepeated = new Set(repeated)
  const others = facts.filter((fact) => !isRepeated.has(fact))
  const moreFacts = await quoteThatFit(tokens, others, known, beside(turns))
  if (repeated.length === 0 || turns.omitted.length === 0) return { facts: moreFacts, turns, repeated }
  // The repeated facts may leave space for turns.
  return { facts: moreFacts, turns: await quoteThatFit(tokens, candidates, quoting, beside(moreFacts)), repeated }
}
