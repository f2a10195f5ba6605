// Reads the profiles and facts of a context: profiles of the people in the conversation, and facts about them or from
// the conversation. Those that precede the turns do not depend on the query, so they usually stay the same from call to
// call. Reads only facts that the viewer sees, and only profiles made from such facts; facts of other conversations, and
// profiles, must also be in the view of the reader, on whose behalf the context is built.

import { readContextFacts, type ContextFact } from '../../../../store/sql/memory/context/read-context-facts.ts'
import { readParticipants } from '../../../../store/sql/conversation/participant/read-participants.ts'
import { isWithinReach, trusted } from '../../../kernel/rights/authorize.ts'
import type { RecallDeps } from '../../recall/deps.ts'
import { getFacts } from '../../fact/fact.ts'
import { hadEnded } from '../../fact/period.ts'
import { sentenceOf } from '../../fact/write.ts'
import { getProfiles } from '../../profile/profile.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { isStated } from '../../fact/trust.ts'
import { recallFactsOfContext } from '../../recall/facts-of-context.ts'
import { factLine, type QuotedFact, type QuotedProfile } from '../quote.ts'
import type { ContextEnd } from './recent-turns.ts'

/** Maximum number of facts in a context: the most recently observed ones. */
export const MAX_FACTS = 500
/** Maximum number of profiles in a context. */
export const MAX_PROFILES = 10

export type ProfilesAndFacts = {
  profiles: Omit<QuotedProfile, 'name'>[]
  /** The users of `profiles`, in the same order. `displayName` is null if the participant has none. */
  people: { actor: string; displayName: string | null }[]
  /** The facts from which the profiles were made, by user. */
  profileFacts: ReadonlyMap<string, readonly string[]>
  facts: QuotedFact[]
  /** The people whose facts from other conversations are included. */
  factUsers: string[]
  /** Whether all facts were read; false if more than MAX_FACTS exist. */
  hasAllFacts: boolean
  /** Whether some of these facts have ended. `facts` does not contain them: they are included only if relevant. */
  hasEndedFacts: boolean
}

/** Returns the people in the conversation: its owner first, then the others in the order in which they last joined. */
async function peopleIn({ pool }: RecallDeps, viewer: Viewer, conversationId: string, owner: string | null) {
  const all = await readParticipants(pool, viewer, [conversationId])
  const people = all.filter(({ kind, leftAt }) => kind === 'HUMAN' && leftAt === null)
  return [...people.filter(({ actor }) => actor === owner), ...people.filter(({ actor }) => actor !== owner)]
}

/** Returns the ids of the facts whose first source is in the conversation, but not before the end. */
async function factsAfter(
  { db }: RecallDeps,
  { tenant }: Viewer,
  { conversationId, end }: { conversationId: string; end: ContextEnd },
  facts: readonly ContextFact[],
): Promise<Set<string>> {
  const where = { id: { in: facts.map(({ id }) => id) }, conversationId, position: { gte: end.before } }
  const rows = await db.of(tenant).fact.findMany({ where, select: { id: true } })
  return new Set(rows.map(({ id }) => id))
}

/**
 * Returns the facts of the conversation from before the end, and those of other conversations that the reader sees and
 * may read.
 */
async function readableFacts(
  deps: RecallDeps,
  { viewer, reader }: { viewer: Viewer; reader: Viewer },
  { conversationId, end }: { conversationId: string; end: ContextEnd | null },
  facts: readonly ContextFact[],
): Promise<ContextFact[]> {
  const later = end === null ? new Set<string>() : await factsAfter(deps, viewer, { conversationId, end }, facts)
  const within = facts.filter((fact) => isWithinReach(reader, fact.conversationId) && !later.has(fact.id))
  const outside = within.filter((fact) => fact.conversationId !== conversationId).map(({ id }) => id)
  if (reader.actor === viewer.actor || outside.length === 0) return within
  const seen = await getFacts(deps, trusted(reader), outside)
  return within.filter((fact) => fact.conversationId === conversationId || seen.has(fact.id))
}

/** Returns the fact as a context quotes it. */
function toQuoted(fact: ContextFact): QuotedFact {
  const { id, userId, sourceTurnId, subject, predicate, object, observedAt } = fact
  const text = factLine({ ...fact, sentence: sentenceOf(fact) })
  return { id, userId, sourceTurnId, subject, predicate, object, observedAt, text, stated: isStated(fact) }
}

/** Maximum number of facts that are ranked by relevance. */
const MAX_RANKED = 64

/**
 * Returns the facts of the conversation and about the given users that are most relevant to the query, best first.
 * @param readers see MaterialRequest @param query null if there is nothing to search for
 */
export async function findRelevantFacts(
  deps: RecallDeps,
  readers: { viewer: Viewer; reader: Viewer },
  scope: { conversationId: string; users: readonly string[]; end: ContextEnd | null },
  query: string | null,
): Promise<QuotedFact[]> {
  if (query === null) return []
  const ranked = await recallFactsOfContext(deps, readers.viewer, scope, { query, limit: MAX_RANKED })
  return (await readableFacts(deps, readers, scope, ranked)).map(toQuoted)
}

/**
 * Reads the profiles of the people in the conversation, and the facts about these people or from the conversation.
 * Omits the profile of the actor `as`; if it is null, omits no profile. @param reader see MaterialRequest
 */
export async function readProfilesAndFacts(
  deps: RecallDeps,
  viewer: Viewer,
  conversation: { id: string; owner: string | null },
  {
    as,
    reader,
    withProfiles,
    withFacts,
    end,
  }: { as: string | null; reader: Viewer; withProfiles: boolean; withFacts: boolean; end: ContextEnd | null },
): Promise<ProfilesAndFacts> {
  const people = withProfiles || withFacts ? await peopleIn(deps, viewer, conversation.id, conversation.owner) : []
  const otherPeople = people.filter(({ actor }) => actor !== as)
  const users = otherPeople.map(({ actor }) => actor)
  const ofReader = reader.actor === viewer.actor ? undefined : trusted(reader)
  const [profiles, rows] = await Promise.all([
    withProfiles ? getProfiles(deps, trusted(viewer), users, ofReader) : null,
    withFacts
      ? readContextFacts(
          deps.pool,
          viewer,
          { conversationId: conversation.id, userIds: people.map(({ actor }) => actor) },
          MAX_FACTS + 1,
        )
      : [],
  ])
  const facts = await readableFacts(
    deps,
    { viewer, reader },
    { conversationId: conversation.id, end },
    rows.slice(0, MAX_FACTS),
  )
  const now = new deps.clock.Date()
  const current = facts.filter((fact) => !hadEnded(fact, now))
  const quoted = otherPeople
    .flatMap(({ actor, displayName }) => {
      const profile = profiles?.get(actor)
      return profile && profile.content.trim() !== '' ? [{ ...profile, displayName }] : []
    })
    .slice(0, MAX_PROFILES)
  return {
    profiles: quoted.map(({ userId, content }) => ({ id: userId, text: content })),
    people: quoted.map(({ userId, displayName }) => ({ actor: userId, displayName })),
    profileFacts: new Map(quoted.map(({ userId, madeOf }) => [userId, madeOf])),
    facts: current.map(toQuoted),
    factUsers: people.map(({ actor }) => actor),
    hasAllFacts: rows.length <= MAX_FACTS,
    hasEndedFacts: current.length < facts.length,
  }
}
