// Small worlds: conversations with facts, and questions with their answers. Recall is tuned on those of worlds/tuning
// only; those of worlds/held-out show whether it carries over.

import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../src/domain/deps.ts'
import { embedFacts } from '../../src/domain/memory/fact/index/index-facts.ts'
import { recordFacts } from '../../src/domain/memory/fact/record.ts'
import { appendTurns } from '../../src/domain/turn/append/append.ts'
import { SYSTEM } from '../../src/store/db/scope.ts'
import type { Viewer } from '../../src/domain/kernel/view.ts'

export type SmallWorld = {
  name: string
  participants: { actor: string; displayName: string; kind: 'HUMAN' | 'AGENT' }[]
  turns: { id: string; actor: string; at: string; text: string }[]
  /** `userId` is the actor whom the fact is about; null for a thing. */
  facts: {
    id: string
    userId: string | null
    subject: string
    predicate: string
    object: string
    assertedBy: string
    at: string
  }[]
  /** `right` contains the ids of all turns and facts that answer the question by themselves. */
  questions: { query: string; right: string[]; tests: string }[]
}

/** Reads the worlds of a directory of test/support/worlds, in the order of their names. */
export function readSmallWorlds(set: 'tuning' | 'held-out'): SmallWorld[] {
  const directory = new URL(`./worlds/${set}/`, import.meta.url)
  return readdirSync(directory)
    .sort()
    .map((file) => JSON.parse(readFileSync(new URL(file, directory), 'utf8')) as SmallWorld)
}

/**
 * Writes a world, and waits for its vectors. Returns the conversation and the ids of the world by those of the stored
 * turns and facts.
 */
export async function writeSmallWorld(
  deps: Deps,
  as: (actor: string) => Viewer,
  { participants, turns, facts }: SmallWorld,
): Promise<{ conversationId: string; ids: ReadonlyMap<string, string> }> {
  const { conversation } = await createConversation(deps, as('owner'), { participants })
  const conversationId = conversation.id
  const { turns: written } = await appendTurns(deps, as('owner'), {
    conversationId,
    turns: turns.map(({ actor, at, text }) => ({
      actor,
      role: participants.some((each) => each.actor === actor && each.kind === 'AGENT') ? 'ASSISTANT' : 'USER',
      content: text,
      createdAt: new Date(at),
    })),
  })
  const ids = new Map(written.map(({ id }, i) => [id, turns[i]!.id]))
  const recorded: string[] = []
  for (const { id, assertedBy, at, ...fact } of facts) {
    const given = { ...fact, observedAt: new Date(at) }
    const result = await recordFacts(deps, as(assertedBy), { conversationId, facts: [given] })
    recorded.push(...result.facts.map((each) => each.id))
    for (const each of result.facts) ids.set(each.id, id)
  }
  deps.embedding.nudge([conversationId])
  while ((await deps.embedding.progress()).remaining > 0) await sleep(20)
  await embedFacts(deps, SYSTEM, recorded)
  return { conversationId, ids }
}
