// Facts and profiles from the conversations of story-lines.ts: a person moves twice, changes jobs and has a nickname,
// and agents make false claims. The final facts are the same for any order and batch size of extraction, regardless of
// when facts are reconciled and profiles refreshed.

import { describe, expect, it } from 'vitest'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { extractFacts, extractNext } from '../../src/domain/memory/fact/extract/extract.ts'
import { getFactPage, type Fact } from '../../src/domain/memory/fact/fact.ts'
import { reconcileFacts } from '../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import { refreshUserProfile } from '../../src/domain/memory/profile/refresh.ts'
import { appendTurns } from '../../src/domain/turn/append/append.ts'
import type { Viewer } from '../../src/domain/kernel/view.ts'
import { backends } from '../support/backend.ts'
import { useWorld } from '../support/world.ts'
import { STORY } from './story-lines.ts'
import { casesOf } from '../support/long.ts'

const PEOPLE = [
  { actor: 'mara', displayName: 'Mara', kind: 'HUMAN' },
  { actor: 'theo', displayName: 'Theo', kind: 'HUMAN' },
  { actor: 'aide', displayName: 'Aide', kind: 'AGENT' },
  { actor: 'scout', displayName: 'Scout', kind: 'AGENT' },
  { actor: 'clock', displayName: 'Clock', kind: 'TOOL' },
] as const
const USERS = ['mara', 'theo']
const CONVERSATIONS = [...new Set(STORY.map(([conversation]) => conversation))]

/** The facts that are active at the end, by user, with the kind of their author unless it is HUMAN. */
const ACTIVE = [
  'mara: Mara decided to use Postgres',
  'mara: Mara goes by Mimi',
  'mara: Mara has a cat named Pixel',
  'mara: Mara has a sister named Ingrid',
  'mara: Mara is allergic to peanuts',
  'mara: Mara is named Mara',
  'mara: Mara likes Lisbon',
  'mara: Mara likes cardamom buns',
  'mara: Mara lives in Tromsø',
  'mara: Mara no longer works at Nordlys Shipping',
  'mara: Mara speaks Norwegian',
  'mara: Mara speaks Portuguese',
  'mara: Mara works at Fjord Analytics',
  'theo: Theo dislikes flying',
  'theo: Theo dislikes slugs',
  'theo: Theo has birthday on 3 May',
  'theo: Theo likes jazz music',
  'theo: Theo lives in Oslo',
  'theo: Theo prefers tea',
  'theo: Theo speaks Norwegian',
  'theo: Theo wants remembered the water butt leaks',
  'theo: Theo works at Fjord Analytics (AGENT)',
  'theo: Theo works at Nordlys Shipping',
]

/** The superseded facts, each with its reason. */
const SUPERSEDED = [
  'Mara lives in Bergen: CONTRADICTED',
  'Mara lives in Helsinki: CONTRADICTED',
  'Mara lives in Trondheim: CONTRADICTED',
  'Mara works at Nordlys Shipping: CONTRADICTED',
  'Theo likes jazz music: DUPLICATED',
  'Theo likes jazz: DUPLICATED',
]

const PROFILES = {
  mara: `## About
- has a sister named Ingrid
- speaks Norwegian
- speaks Portuguese
- has a cat named Pixel
- goes by Mimi
- is named Mara

## Preferences
- likes cardamom buns
- likes Lisbon

## Work
- works at Fjord Analytics
- no longer works at Nordlys Shipping

## Environment
- lives in Tromsø

## Constraints
- is allergic to peanuts

## Other
- decided to use Postgres`,
  theo: `## About
- wants remembered the water butt leaks
- speaks Norwegian
- has birthday on 3 May

## Preferences
- dislikes flying
- dislikes slugs
- likes jazz music
- prefers tea

## Work
- Claimed by "scout": "works at Fjord Analytics"
- works at Nordlys Shipping

## Environment
- lives in Oslo`,
}

/** Returns a generator of pseudo-random numbers from 0 to 1 (Mulberry32). Equal seeds produce equal numbers. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

const sentenceOf = ({ subject, predicate, object }: Fact) => `${subject} ${predicate} ${object}`

describe.each(backends)('the story on $name', (backend) => {
  const world = useWorld(backend)

  async function appendStory(viewer: Viewer): Promise<string[]> {
    const conversationIds: string[] = []
    for (const name of CONVERSATIONS) {
      const {
        conversation: { id },
      } = await createConversation(world.deps, viewer, { participants: PEOPLE.map((each) => ({ ...each })) })
      const turns = STORY.filter(([conversation]) => conversation === name).map(([, day, actor, content], minute) => ({
        actor,
        content,
        role: actor === 'clock' ? ('TOOL' as const) : ('USER' as const),
        createdAt: new Date(`2026-${day}T12:${String(minute).padStart(2, '0')}:00Z`),
      }))
      await appendTurns(world.deps, viewer, { conversationId: id, turns })
      conversationIds.push(id)
    }
    return conversationIds
  }

  async function runJobs(viewer: Viewer, conversationIds: readonly string[], seed: number): Promise<void> {
    const { deps } = world
    const next = random(seed)
    const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)]!
    for (let step = 0; step < 30; step++) {
      const userId = pick(USERS)
      await pick([
        () =>
          extractNext(
            deps,
            { tenant: viewer.tenant, conversationId: pick(conversationIds) },
            1 + Math.floor(next() * 7),
          ),
        () => reconcileFacts(deps, viewer, { userId, n: 2 + Math.floor(next() * 48) }),
        () => refreshUserProfile(deps, viewer, { userId }),
      ])()
    }
    for (const conversationId of conversationIds.toSorted(() => next() - 0.5))
      await extractFacts(deps, viewer, { conversationId })
    for (const userId of USERS) {
      await reconcileFacts(deps, viewer, { userId })
      expect(await reconcileFacts(deps, viewer, { userId })).toMatchObject({ merged: 0, contradicted: 0 })
    }
  }

  it('has sixty turns in four conversations', () => {
    expect([STORY.length, CONVERSATIONS.length]).toEqual([60, 4])
  })

  it.each(Array.from({ length: casesOf(12) }, (_, seed) => seed))(
    'results in the same facts and profiles for seed %i',
    async (seed) => {
      const { deps } = world
      const viewer = world.tenant().as('mara')
      const conversationIds = await appendStory(viewer)
      await runJobs(viewer, conversationIds, seed)

      const { items } = await getFactPage(deps, viewer, { filter: { includeSuperseded: true }, first: 200 })
      const active = items.filter(({ supersededAt }) => supersededAt === null)
      expect(
        active
          .map((fact) => `${fact.userId}: ${sentenceOf(fact)}${fact.saidBy === 'HUMAN' ? '' : ` (${fact.saidBy})`}`)
          .sort(),
      ).toEqual(ACTIVE)
      const superseded = items.filter(({ supersededAt }) => supersededAt !== null)
      expect([...new Set(superseded.map((fact) => `${sentenceOf(fact)}: ${fact.supersedeReason}`))].sort()).toEqual(
        SUPERSEDED,
      )
      const byId = new Map(items.map((fact) => [fact.id, fact]))
      for (let fact of superseded) {
        while (fact.supersededAt !== null) fact = byId.get(fact.supersededBy!)!
        expect(active).toContain(fact)
      }
      for (const userId of USERS) {
        const { content } = await refreshUserProfile(deps, viewer, { userId })
        expect(content).toBe(PROFILES[userId as keyof typeof PROFILES])
      }
    },
  )
})
