// Moves the messages of a thread to a conversation. It may be repeated: a turn that was moved before is not written
// again, because its `clientId` is derived from the message.
import type { Client, TurnInput } from 'colloquy-client'

export type MovedTurn = Pick<TurnInput, 'role' | 'parts' | 'createdAt'> & { actor: string; clientId: string }
export type Thread = { key: string; title?: string; user: string; agent: string; turns: MovedTurn[] }

/** Maximum number of turns of one call. */
const BATCH = 500

const APPEND = `mutation ($input: AppendTurnsInput!) {
  appendTurns(input: $input) {
    ... on AppendTurnsPayload { deduplicatedIds }
    ... on UserError { message }
  }
}`

/** Returns the number of turns that were not there before. */
export async function move(client: Client, { key, title, user, agent, turns }: Thread): Promise<number> {
  const participants = [{ actor: user }, { actor: agent, kind: 'AGENT' as const }]
  await client.createConversation({ key, title, owner: user, participants })
  let moved = 0
  for (let start = 0; start < turns.length; start += BATCH) {
    const batch = turns.slice(start, start + BATCH)
    const { appendTurns } = await client.request(APPEND, { input: { conversationKey: key, turns: batch } })
    if (appendTurns.message) throw new Error(appendTurns.message)
    moved += batch.length - appendTurns.deduplicatedIds.length
  }
  // One call reads at most 1,000 turns.
  while ((await client.conversation({ key }).extractFacts()).hasMore);
  return moved
}
