// Tells screen readers the newest complete message of somebody else, once.

import { useState } from 'react'
import { shorten } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'

export function Announcement() {
  const { viewer } = useSession()
  const { transcript, nameOf } = useOpenConversation()
  const { turns, conversation } = transcript
  const newest = turns.findLast(({ status, actor }) => status === 'COMMITTED' && actor !== viewer.actor)
  /** Id of the newest message when the conversation was opened; undefined before. */
  const [first, setFirst] = useState<string | null | undefined>(undefined)
  if (first === undefined && conversation !== null) setFirst(newest?.id ?? null)
  const isNew = first !== undefined && newest !== undefined && newest.id !== first
  return (
    <p className="hidden" role="status">
      {isNew && `${nameOf(newest.actor)}: ${shorten(newest.text, 500)}`}
    </p>
  )
}
