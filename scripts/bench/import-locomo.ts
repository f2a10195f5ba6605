// Imports conversations of LoCoMo in this process, and waits for their vectors.

import { createConversation } from '../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../src/domain/deps.ts'
import { appendTurns } from '../../src/domain/turn/append/append.ts'
import type { Turn } from '../../src/domain/turn/turn.ts'
import type { Viewer } from '../../src/domain/kernel/view.ts'
import { contentOf, type LocomoTurn } from './locomo.ts'

const BATCH = 500
const POLL_MS = 100

/** Creates a conversation with the turns. Returns its id, and the stored turns in the given order. */
export async function importTurns(
  deps: Deps,
  viewer: Viewer,
  speakers: readonly string[],
  turns: readonly LocomoTurn[],
): Promise<{ conversationId: string; written: Turn[] }> {
  const { conversation } = await createConversation(deps, viewer, {
    participants: speakers.map((actor) => ({ actor })),
  })
  const written: Turn[] = []
  for (let from = 0; from < turns.length; from += BATCH) {
    const batch = turns
      .slice(from, from + BATCH)
      .map((turn) => ({
        actor: turn.speaker,
        role: 'USER' as const,
        content: contentOf(turn),
        createdAt: new Date(turn.at),
      }))
    written.push(...(await appendTurns(deps, viewer, { conversationId: conversation.id, turns: batch })).turns)
  }
  return { conversationId: conversation.id, written }
}

/** Waits until every turn is embedded. */
export async function waitForVectors(deps: Deps, conversationIds: readonly string[]): Promise<void> {
  deps.embedding.nudge([...conversationIds])
  while ((await deps.embedding.progress()).remaining > 0) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
