// Random writes of all kinds to two conversations, for tests that compare the past with copies.

import type { Deps } from '../../../../src/domain/deps.ts'
import { openVersion } from '../../../../src/domain/turn/open-version.ts'
import { DomainError } from '../../../../src/errors.ts'
import * as domain from '../../../../src/index.ts'
import { WRITER } from '../../../support/writer.ts'

/** A write: its kind, and numbers that choose its objects. */
export type Step = { kind: (typeof KINDS)[number]; a: number; b: number }

type World = {
  deps: Deps
  tenant: string
  conversations: readonly string[]
  /** Ids of the turns by conversation, of the open turns, and of the facts that were written. */
  turns: string[][]
  open: string[]
  facts: string[]
}

/** Actors whose membership does not change, and actors who come and go. */
export const MEMBERS = ['ann', 'bob'] as const
const GUESTS = ['eve', 'fay'] as const
const WORDS = ['harbour', 'tulips', 'Rome', 'Lisbon', 'sailing', 'garden', 'bridge', 'festival', 'ferry', 'violin']
const pick = <T>(from: readonly T[], n: number): T => from[n % from.length]!
const [EARLIER, LATER] = [new Date('2020-01-01'), new Date('2024-01-01')]
const PERIODS = [{}, {}, {}, { validFrom: EARLIER }, { validTo: LATER }, { validFrom: EARLIER, validTo: LATER }]
const sentence = (n: number) =>
  pick(
    [
      `I live in ${pick(WORDS, n >> 2)}.`,
      `We saw the ${pick(WORDS, n)} near the ${pick(WORDS, n >> 3)} on May ${(n % 27) + 1}.`,
      `My favourite colour is ${pick(['red', 'blue', 'green'], n >> 1)}.`,
      `Where is the ${pick(WORDS, n >> 1)}?`,
      `Bob likes ${pick(WORDS, n >> 2)} and the ${pick(WORDS, n)}.`,
    ],
    n,
  )

type Write = (world: World, step: { a: number; b: number }, as: (actor: string) => domain.Viewer) => Promise<unknown>

const WRITES = {
  async append({ deps, conversations, turns }, { a, b }, as) {
    const actor = pick([...MEMBERS, ...MEMBERS, ...GUESTS], b)
    const pinned = a % 7 === 0
    const conversationId = pick(conversations, a)
    const turn = { role: a % 11 === 0 ? ('SYSTEM' as const) : ('USER' as const), content: sentence(a + b), pinned }
    turns[a % 2]!.push((await domain.appendTurn(deps, as(actor), { conversationId, turn })).turn.id)
  },
  async whisper({ deps, conversations, turns }, { a, b }, as) {
    const turn = {
      role: 'USER' as const,
      content: `A secret: ${sentence(b)}`,
      audience: [...MEMBERS].slice(0, 1 + (b % 2)),
    }
    const conversationId = pick(conversations, a)
    turns[a % 2]!.push((await domain.appendTurn(deps, as('ann'), { conversationId, turn })).turn.id)
  },
  async open({ deps, conversations, open }, { a, b }, as) {
    const viewer = as(pick(MEMBERS, b))
    const conversationId = pick(conversations, a)
    const turn = { role: 'ASSISTANT' as const, model: 'm', metadata: { n: a } }
    const { turn: opened } = await domain.openTurn(deps, viewer, { conversationId, turn, writerToken: WRITER })
    await domain.appendDelta(deps, viewer, { turnId: opened.id, writerToken: WRITER, text: sentence(a) })
    open.push(opened.id)
  },
  async close({ deps, open }, { a, b }, as) {
    const turnId = open.splice(a % Math.max(1, open.length), 1)[0]
    if (!turnId) return
    const viewer = as('ann')
    if (b % 3 === 0) await domain.abortTurn(deps, viewer, { turnId, writerToken: WRITER, reason: 'enough' })
    else await domain.commitTurn(deps, viewer, { turnId, writerToken: WRITER, metadata: { end: b } })
  },
  async edit({ deps, turns }, { a, b }, as) {
    const list = turns[a % 2]!
    if (list.length === 0) return
    const at = b % list.length
    const pinned = b % 5 === 0 ? { pinned: b % 2 === 0 } : {}
    const turn = { role: 'USER' as const, content: `Corrected: ${sentence(a + 3)}`, ...pinned }
    list[at] = (await domain.supersedeTurn(deps, as('ann'), { turnId: list[at]!, turn })).turn.id
  },
  async reopen({ deps, turns, open }, { a, b }, as) {
    const list = turns[a % 2]!
    if (list.length === 0) return
    const at = b % list.length
    const version = {
      supersedes: list[at]!,
      turn: { role: 'ASSISTANT' as const, model: 'm', metadata: { n: a } },
      ...{ writerToken: WRITER, leaseSeconds: null },
    }
    list[at] = (await openVersion(deps, as('ann'), version)).id
    await domain.appendDelta(deps, as('ann'), { turnId: list[at], writerToken: WRITER, text: sentence(a) })
    open.push(list[at])
  },
  async pin({ deps, turns }, { a, b }, as) {
    const list = turns[a % 2]!
    if (list.length === 0) return
    const change = b % 3 === 0 ? domain.unpinTurn : domain.pinTurn
    await change(deps, as('ann'), { turnId: list[b % list.length]! })
  },
  async member({ deps, conversations }, { a, b }, as) {
    const conversationId = pick(conversations, a)
    const actor = pick(GUESTS, b)
    if (b % 3 === 0) await domain.removeParticipant(deps, as('ann'), { conversationId, actor })
    else
      await domain.addParticipant(deps, as('ann'), {
        conversationId,
        participant: { actor, displayName: `Guest ${b}` },
      })
  },
  async rename({ deps, conversations }, { a, b }, as) {
    const input = { conversationId: pick(conversations, a), actor: pick(MEMBERS, b), displayName: `Name ${b % 4}` }
    await domain.updateParticipant(deps, as('ann'), input)
  },
  async record({ deps, conversations, facts }, { a, b }, as) {
    const user = pick(MEMBERS, a >> 1)
    const predicate = pick(['lives in', 'likes', 'works at'], b)
    const given = {
      conversationId: b % 5 === 0 ? null : pick(conversations, a),
      userId: user,
      facts: [
        { subject: user, predicate, object: pick(WORDS, a + b), confidence: 0.5 + (b % 5) / 10, ...pick(PERIODS, a) },
      ],
    }
    const recorded = await domain.recordFacts(deps, as(pick(MEMBERS, b)), given)
    facts.push(...recorded.facts.map(({ id }) => id))
  },
  async extract({ deps, conversations, facts }, { a }, as) {
    const extracted = await domain.extractFacts(deps, as('ann'), { conversationId: pick(conversations, a) })
    facts.push(...extracted.facts.map(({ id }) => id))
  },
  async retract({ deps, facts }, { a, b }, as) {
    if (facts.length > 0) await domain.retractFact(deps, as('ann'), { factId: pick(facts, a), reason: `wrong ${b}` })
  },
  reconcile: ({ deps }, { a }, as) => domain.reconcileFacts(deps, as('ann'), { userId: pick(MEMBERS, a) }),
  async undo({ deps, facts }, { a, b }, as) {
    if (facts.length > 0)
      await domain.undoReconciliation(deps, as('ann'), { factId: pick(facts, a), reason: `no ${b}` })
  },
  summarize: ({ deps, conversations }, { a }, as) =>
    domain.summarize(deps, as('ann'), { conversationId: pick(conversations, a) }),
  compact: ({ deps, conversations }, { a }, as) =>
    domain.compact(deps, as('ann'), {
      conversationId: pick(conversations, a),
      policy: { triggerTurns: 4, strategy: a % 3 === 0 ? 'HIERARCHICAL' : 'ROLLING' },
    }),
  profile: ({ deps }, { a }, as) => domain.refreshUserProfile(deps, as('ann'), { userId: pick(MEMBERS, a) }),
  settings: ({ deps, conversations }, { a, b }, as) =>
    domain.updateConversation(deps, as('ann'), {
      conversationId: pick(conversations, a),
      systemPrompt: b % 4 === 0 ? null : `Answer in ${b % 4} words.`,
    }),
} satisfies Record<string, Write>

export const KINDS = Object.keys(WRITES) as (keyof typeof WRITES)[]
/** How often each kind occurs among the steps, relative to the others; 1 by default. */
export const WEIGHTS: Partial<Record<Step['kind'], number>> = {
  append: 8,
  edit: 2,
  record: 4,
  extract: 2,
  reopen: 2,
  close: 4,
}

/** Creates the conversations, an OPEN one and a MEMBERS one. */
export async function createHistory(deps: Deps, tenant: string): Promise<World> {
  const create = async (visibility: 'OPEN' | 'MEMBERS') => {
    const participants = [{ actor: 'ann', administrator: true }, { actor: 'bob' }]
    const input = { visibility, participants, systemPrompt: 'Be kind.' }
    return (await domain.createConversation(deps, { tenant, actor: 'ann' }, input)).conversation.id
  }
  const conversations = [await create('OPEN'), await create('MEMBERS')]
  return { deps, tenant, conversations, turns: [[], []], open: [], facts: [] }
}

/** Writes the steps. A step that the domain refuses changes nothing. */
export async function write(world: World, steps: readonly Step[]): Promise<void> {
  const as = (actor: string) => ({ tenant: world.tenant, actor })
  for (const { kind, a, b } of steps) {
    try {
      await (WRITES[kind] as Write)(world, { a, b }, as)
    } catch (error) {
      if (!(error instanceof DomainError)) throw error
    }
  }
}
