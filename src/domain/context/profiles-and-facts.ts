// Reads the profiles and facts of a context: of the conversation and of the people in it. They do not depend on the query,
// so they stay the same from call to call. Only what the viewer sees, and nothing inferred from more than that.

import { readContextFacts } from '../../store/sql/context/read-context-facts.ts'
import { readParticipants } from '../../store/sql/participant/read-participants.ts'
import type { RecallDeps } from '../recall/deps.ts'
import { sentenceOf } from '../fact/write.ts'
import { getProfiles } from '../profile/profile.ts'
import type { Viewer } from '../view.ts'
import { factLine, type QuotedFact, type QuotedProfile } from './quote.ts'

/** Facts that are looked at: the last observed ones. */
const FACTS = 500
/** Profiles that a context may hold. */
const PROFILES = 10
/** Tokens that a fact takes on its line besides its sentence, and a profile between its fences: mostly at most. */
const AROUND = { fact: 12, profile: 20 }

export type ProfilesAndFacts = {
  profiles: QuotedProfile[]
  facts: QuotedFact[]
  areAllFacts: boolean
  /** Stored tokens of both, as they are about to be told. */
  tokens: { profiles: number; facts: number }
}

/** The people who are in the conversation now: its owner first, then by joining. */
async function peopleIn({ pool }: RecallDeps, { tenant }: Viewer, conversationId: string, owner: string | null) {
  const all = await readParticipants(pool, tenant, [conversationId])
  const people = all.filter(({ kind, leftAt }) => kind === 'HUMAN' && leftAt === null)
  return [...people.filter(({ actor }) => actor === owner), ...people.filter(({ actor }) => actor !== owner)]
}

/**
 * Profiles of the people in the conversation, other than of `as`; and facts of the conversation and about its people.
 */
export async function readProfilesAndFacts(
  deps: RecallDeps,
  viewer: Viewer,
  conversation: { id: string; owner: string | null },
  { as, withProfiles, withFacts }: { as: string | null; withProfiles: boolean; withFacts: boolean },
): Promise<ProfilesAndFacts> {
  const people = withProfiles || withFacts ? await peopleIn(deps, viewer, conversation.id, conversation.owner) : []
  const others = people.filter(({ actor }) => actor !== as)
  const [profiles, read] = await Promise.all([
    withProfiles
      ? getProfiles(
          deps,
          viewer,
          others.map(({ actor }) => actor),
        )
      : null,
    withFacts
      ? readContextFacts(
          deps.db,
          viewer,
          conversation.id,
          people.map(({ actor }) => actor),
          FACTS + 1,
        )
      : [],
  ])
  const facts = read.slice(0, FACTS)
  const told = others
    .flatMap(({ actor, displayName }) => {
      const profile = profiles?.get(actor)
      return profile && profile.content.trim() !== '' ? [{ ...profile, name: displayName ?? actor }] : []
    })
    .slice(0, PROFILES)
  return {
    profiles: told.map(({ userId, name, content }) => ({ id: userId, name, text: content })),
    facts: facts.map((fact) => ({ id: fact.id, text: factLine({ ...fact, sentence: sentenceOf(fact) }) })),
    areAllFacts: read.length <= FACTS,
    tokens: {
      profiles: told.reduce((sum, { tokenCount }) => sum + tokenCount + AROUND.profile, 0),
      facts: facts.reduce((sum, { tokenCount }) => sum + tokenCount + AROUND.fact, 0),
    },
  }
}
