// Reads the profiles and facts of a context: about the conversation and the people in it. They do not depend on the
// query, so they stay the same from call to call. Reads only what is in the viewer's view, and nothing derived from
// more.

import { readContextFacts } from '../../store/sql/context/read-context-facts.ts'
import { readParticipants } from '../../store/sql/participant/read-participants.ts'
import type { RecallDeps } from '../recall/deps.ts'
import { sentenceOf } from '../fact/write.ts'
import { getProfiles } from '../profile/profile.ts'
import type { Viewer } from '../view.ts'
import { factLine, type QuotedFact, type QuotedProfile } from './quote.ts'

/** Number of facts that are read: the last observed ones. */
const FACTS = 500
/** Maximum number of profiles in a context. */
const PROFILES = 10
/** Usual maximum of the tokens that a fact's line adds to its sentence, and that a profile's fences and header add. */
const AROUND = { fact: 12, profile: 20 }

export type ProfilesAndFacts = {
  profiles: QuotedProfile[]
  facts: QuotedFact[]
  areAllFacts: boolean
  /** Stored token counts, plus the tokens around each. */
  tokens: { profiles: number; facts: number }
}

/** Returns the people in the conversation: its owner first, then in joining order. */
async function peopleIn({ pool }: RecallDeps, { tenant }: Viewer, conversationId: string, owner: string | null) {
  const all = await readParticipants(pool, tenant, [conversationId])
  const people = all.filter(({ kind, leftAt }) => kind === 'HUMAN' && leftAt === null)
  return [...people.filter(({ actor }) => actor === owner), ...people.filter(({ actor }) => actor !== owner)]
}

/** Reads profiles of the people in the conversation except `as`, and facts of the conversation and about its people. */
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
  const shown = others
    .flatMap(({ actor, displayName }) => {
      const profile = profiles?.get(actor)
      return profile && profile.content.trim() !== '' ? [{ ...profile, name: displayName ?? actor }] : []
    })
    .slice(0, PROFILES)
  return {
    profiles: shown.map(({ userId, name, content }) => ({ id: userId, name, text: content })),
    facts: facts.map((fact) => ({ id: fact.id, text: factLine({ ...fact, sentence: sentenceOf(fact) }) })),
    areAllFacts: read.length <= FACTS,
    tokens: {
      profiles: shown.reduce((sum, { tokenCount }) => sum + tokenCount + AROUND.profile, 0),
      facts: facts.reduce((sum, { tokenCount }) => sum + tokenCount + AROUND.fact, 0),
    },
  }
}
