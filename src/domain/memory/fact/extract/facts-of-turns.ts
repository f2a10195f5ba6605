// Finds the facts in turns: those that the extractor returns, and the short names by which the turns address participants.
// Turns with different viewers are never in one request to a model, so that no fact shows the content of a private turn to
// other viewers.

import type { ExtractedFact } from '../../../../providers/ports/fact-extractor.ts'
import type { UnreadTurn } from '../../../../store/sql/memory/fact/extraction.ts'
import { readOtherNames } from '../../../../store/sql/memory/fact/read-active-facts.ts'
import { askProvider } from '../../../../providers/ports/call-failed.ts'
import { kindOfRole, lessTrusted } from '../../../kernel/rights/principal.ts'
import type { VisibilityFields } from '../../../kernel/view.ts'
import type { FactDeps } from '../deps.ts'
import { GOES_BY, nicknamesIn, withoutNickname, type Nickname } from './nicknames.ts'
import type { Person } from '../user.ts'
import { visibilityOf } from '../write.ts'

/** A participant, and the ranges of seqs that it sees; [1] is the whole history. */
type Participant = Person & { windows: readonly number[] }

/** The conversation whose turns are read. */
export type ReadConversation = {
  tenant: string
  conversationId: string
  participants: readonly Participant[]
  /** The conversation if it is MEMBERS, otherwise null. */
  members: string | null
}

/**
 * Splits turns into sets with the same viewers: the turns of a set have the same audience, and no participant's history
 * window starts or ends between them. The sets are in the order of their first turns.
 */
function visibilitySets<T extends VisibilityFields>(
  turns: readonly T[],
  participants: readonly { windows: readonly number[] }[],
): T[][] {
  const boundaries = [...new Set(participants.flatMap(({ windows }) => windows))].sort((a, b) => a - b)
  const segment = (seq: number) => boundaries.filter((boundary) => boundary <= seq).length
  const sets = new Map<string, T[]>()
  for (const turn of turns) {
    const key = [visibilityOf(turn.audience, null), segment(turn.position), segment(turn.seq)].join(' ')
    sets.set(key, [...(sets.get(key) ?? []), turn])
  }
  return [...sets.values()]
}

const nameOf = ({ actor, displayName }: Person) => displayName ?? actor

/** Returns the `known` short names and those by which the turns address participants, and a fact about each of the latter. */
function learnNicknames(
  turns: readonly UnreadTurn[],
  participants: readonly Person[],
  known: readonly Nickname[],
): { nicknames: Nickname[]; facts: ExtractedFact[] } {
  const nicknames = [...known]
  const isKnown = ({ actor, name }: Nickname) => nicknames.some((each) => each.actor === actor && each.name === name)
  const facts: ExtractedFact[] = []
  for (const turn of turns) {
    for (const nickname of nicknamesIn(turn, participants)) {
      if (isKnown(nickname)) continue
      const subject = nameOf(participants.find(({ actor }) => actor === nickname.actor)!)
      facts.push({ subject, predicate: GOES_BY, object: nickname.name, confidence: 0.9, turnId: turn.id })
      if (turn.audience === null) nicknames.push(nickname)
    }
  }
  return { nicknames, facts }
}

/**
 * Returns the facts that the extractor finds in the turns. All turns must have the same viewers, because the extractor
 * chooses the source turn of each fact, and only viewers of the source turn see the fact. Drops facts whose source turn
 * is not one of the given turns.
 * @param people the names of the participants
 * @throws ProviderFailed
 */
async function extract(
  { factServices: { extractor }, log }: FactDeps,
  unread: readonly UnreadTurn[],
  people: readonly string[],
  signal?: AbortSignal,
): Promise<ExtractedFact[]> {
  const turns = unread.map(({ id, actor, displayName, kind, role, text, createdAt }) => ({
    id,
    actor,
    displayName: displayName ?? actor,
    kind: lessTrusted(kind, kindOfRole(role))!,
    text,
    at: createdAt,
  }))
  const { facts } = await askProvider(log, 'extract facts', extractor.name, () =>
    extractor.extract(turns, { people, signal }),
  )
  const ids = new Set(unread.map((turn) => turn.id))
  return facts.filter(({ turnId }) => ids.has(turnId))
}

/**
 * Returns the facts in turns of a conversation, in no order. In place of a short name of a participant, their subjects
 * have its name, if all participants see the whole conversation: otherwise the facts of a turn could depend on a turn that
 * a viewer does not see.
 * @throws ProviderFailed
 */
export async function factsOfTurns(
  deps: FactDeps,
  { tenant, conversationId, participants, members }: ReadConversation,
  turns: readonly UnreadTurn[],
  signal?: AbortSignal,
): Promise<ExtractedFact[]> {
  const known = await readOtherNames(deps.db, tenant, { conversationId, predicate: GOES_BY, members })
  const { nicknames, facts } = learnNicknames(turns, participants, known)
  const isShared = participants.every(({ windows }) => windows.length === 1 && windows[0] === 1)
  const used = isShared ? nicknames : []
  const people = [...participants.map(nameOf), ...used.map(({ name }) => name)]
  for (const set of visibilitySets(turns, participants)) {
    for (const fact of await extract(deps, set, people, signal))
      facts.push({ ...fact, subject: withoutNickname(fact.subject, used, participants) })
  }
  return facts
}
