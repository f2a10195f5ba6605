// The turns to which others reply: their texts, and the way to them.

import { useCallback, useState } from 'react'
import type { Turn } from '../../client/index.ts'
import { useAction } from '../kit/load.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { createFinder } from './finder.ts'

/** Returns the function that finds the text of a turn by its id; null if the turn is not loaded. */
export function useTexts(turns: readonly Turn[]): (id: string) => string | null {
  const [find] = useState(createFinder)
  return (id) => find(turns, id)?.text ?? null
}

const READ_POSITION = 'query Place($id: ID!, $as: String) { nodes(ids: [$id], as: $as) { ... on Turn { position } } }'

/** Returns the function that shows the turn with an id, and its error. */
export function useShowReply() {
  const { client } = useSession()
  const { jumpTo } = useOpenConversation()
  const { run, error, clear } = useAction(async (id: string) => {
    const { nodes } = await client.request(READ_POSITION, { id, as: client.as })
    if (!nodes[0]) throw new Error('You do not see the message, or it was erased.')
    jumpTo(nodes[0].position)
  })
  return { show: useCallback((id: string) => void run(id), [run]), error, clear }
}
