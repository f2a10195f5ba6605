// Finds items of a LangGraph store, by conditions on their metadata or by recall. Each put of an item also appends a
// turn with the item's key, value and metadata to its conversation, because recall searches turns.
import type { Item } from '@langchain/langgraph'
import { recall, type Deps, type Viewer } from 'colloquy'
import { conversationsOf, type Transcript } from 'colloquy/conversation-core'
import { toItem, type conditionsOf, type toMetadata } from './items.ts'

type Conditions = ReturnType<typeof conditionsOf>
interface ScoredItem extends Item {
  score: number
}
export type Backing = { deps: Deps; viewer: Viewer; transcript: Transcript }

export async function itemsOf(transcript: Transcript, metadata: Conditions, limit = Infinity): Promise<Item[]> {
  const items: Item[] = []
  for await (const stored of conversationsOf(transcript, { metadata })) if (items.push(toItem(stored)) >= limit) break
  return items
}

export async function recallItems(on: Backing, query: string, metadata: Conditions, limit: number): Promise<Item[]> {
  const { hits } = await recall(on.deps, on.viewer, { query, scope: 'OWNER', kinds: ['TURN'], k: 100, metadata })
  const items = new Map<string, ScoredItem>()
  for (const { memory, relevance } of hits) {
    if (memory.kind !== 'TURN' || items.size >= limit) continue
    const stored = await on.transcript.findConversation(memory.turn.conversationId)
    // Skip turns of earlier values of the item.
    if (!stored || JSON.stringify(stored.metadata) !== JSON.stringify(memory.turn.metadata)) continue
    if (!items.has(stored.id)) items.set(stored.id, { ...toItem(stored), score: relevance })
  }
  return [...items.values()]
}

export function turnOf(actor: string, metadata: ReturnType<typeof toMetadata>) {
  const { key, value } = metadata.item
  const texts = Object.values(value).map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
  return {
    ...{ actor, metadata, role: 'USER' as const, clientId: crypto.randomUUID() },
    parts: [{ text: [key, ...texts].join('\n') }],
  }
}
