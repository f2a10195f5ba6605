// Implements Transcript (transcript/transcript.ts) with the domain's functions, for conversation stores in the
// application's own process.

import type { Deps } from './domain/deps.ts'
import {
  createConversation,
  getConversationByKey,
  getConversations,
  updateConversation,
  type Conversation,
} from './domain/conversation/conversation.ts'
import { conversationCursor, getConversationPage } from './domain/conversation/conversation-page.ts'
import { deleteConversation } from './domain/trust/erasure/delete-conversation.ts'
import { appendTurns } from './domain/turn/append/append.ts'
import { partsOf } from './domain/turn/content.ts'
import { countOfTurns, pageOfTurns, turnCursor } from './domain/turn/history.ts'
import type { Turn } from './domain/turn/turn.ts'
import { actAs, type Viewer } from './domain/kernel/view.ts'
import type { Citation, StoredConversation, StoredTurn, Transcript } from './transcript/transcript.ts'

const turnOf = (turn: Turn): StoredTurn => ({
  id: turn.id,
  actor: turn.actor,
  role: turn.role,
  status: turn.status,
  parts: partsOf(turn),
  metadata: turn.metadata ?? {},
  createdAt: turn.createdAt,
  traceId: turn.traceId,
  citations: (turn.citations ?? []) as Citation[],
})

/**
 * Returns a transcript of the conversations that the viewer sees, for the stores of `colloquy/conversation-core` and
 * `colloquy/conversation-store`.
 */
export function openTranscript(deps: Deps, viewer: Viewer): Transcript {
  const toStored = async (conversations: Conversation[]): Promise<StoredConversation[]> => {
    const uncounted = conversations.filter(({ counts }) => counts === null).map(({ id }) => id)
    const counts = uncounted.length > 0 ? await countOfTurns(deps, viewer, uncounted) : null
    return conversations.map(({ counts: known, ...conversation }) => ({
      id: conversation.id,
      key: conversation.key,
      owner: conversation.owner,
      agentName: conversation.agentName,
      title: conversation.title,
      metadata: conversation.metadata,
      createdAt: conversation.createdAt,
      updatedAt: conversation.updatedAt,
      turnCount: (known ?? counts?.get(conversation.id))?.turnCount ?? 0,
    }))
  }
  const one = async (conversation: Conversation) => (await toStored([conversation]))[0]!
  return {
    actor: viewer.actor,
    async createConversation(input, as) {
      const { conversation, created } = await createConversation(deps, actAs(viewer, as), input)
      return { conversation: await one(conversation), created }
    },
    async findConversation(idOrKey) {
      const byId = (await getConversations(deps, viewer, [idOrKey])).get(idOrKey)
      const found = byId ?? (await getConversationByKey(deps, viewer, idOrKey))
      return found && one(found)
    },
    async updateConversation(conversationId, updates, as) {
      return one(await updateConversation(deps, actAs(viewer, as), { conversationId, ...updates }))
    },
    async listConversations(filter, after) {
      const page = await getConversationPage(deps, viewer, { filter, after, orderBy: 'UPDATED_AT' })
      const last = page.items.at(-1)
      return {
        conversations: await toStored(page.items),
        after: page.hasNextPage && last ? conversationCursor(last, 'UPDATED_AT') : null,
      }
    },
    async appendTurns(conversationId, turns, as) {
      await appendTurns(deps, actAs(viewer, as), { conversationId, turns })
    },
    async readTurns(id, { before, atMost, as }) {
      const last = Math.min(atMost, deps.limits.pageSize)
      const page = (await pageOfTurns(deps, actAs(viewer, as), [id], { last, before })).get(id)!
      const [first] = page.items
      return { turns: page.items.map(turnOf), before: page.hasPreviousPage && first ? turnCursor(first) : null }
    },
    async deleteConversation(id, as) {
      await deleteConversation(deps, actAs(viewer, as), id)
    },
  }
}
