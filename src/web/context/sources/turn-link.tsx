// A button that shows a turn at its place, in the open conversation or in another one.

import type { Named } from '../../kit/result.ts'
import { navigate } from '../../session/route.ts'
import { useOpenConversation } from '../../workspace/open-conversation.tsx'

/** `conversation`: the conversation of the turn; null for the open one. `label`: defaults to the turn's position. */
export function TurnLink({
  position,
  conversation = null,
  label,
}: {
  position: number
  conversation?: Named | null
  label?: string
}) {
  const { id, jumpTo } = useOpenConversation()
  const isOther = conversation !== null && conversation.id !== id
  const text = label ?? `Turn ${position}`
  return (
    <button
      type="button"
      className="link"
      onClick={() => (isOther ? navigate({ conversationId: conversation.id, position }) : jumpTo(position))}
    >
      {isOther ? `${text} in ${conversation.title ?? 'another conversation'}` : text}
    </button>
  )
}
