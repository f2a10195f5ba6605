// What the viewer and the others have read of the open conversation.

import { useEffect, useMemo, useState } from 'react'
import type { Turn } from '../../client/index.ts'
import { shorten } from '../kit/text.ts'
import { useVisible } from '../kit/visible.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { firstUnread, readersByPosition, type Opening } from './separators.ts'

/** Time for which the end must be on the screen before it is marked as read, ms. */
const READ_MS = 400

/** Marks all entries as read while the end of the transcript is on the screen. */
export function useReadMark(isAtEnd: boolean): void {
  const { conversation, transcript } = useOpenConversation()
  const { viewer } = useSession()
  const isVisible = useVisible()
  const mayMark = isAtEnd && isVisible && transcript.viewer !== null && viewer.rights.includes('WRITE')
  // Not the seq of the newest turn: the entry that commits a streaming turn comes later than the turn.
  const { lastSeq } = transcript
  useEffect(() => {
    if (!mayMark || lastSeq === 0) return
    // A mark that fails is set with the next entry.
    const timer = setTimeout(() => void conversation.markRead(lastSeq).catch(() => {}), READ_MS)
    return () => clearTimeout(timer)
  }, [mayMark, lastSeq, conversation])
}

/** Returns the position where the unread turns began when the conversation was opened; null if it is not loaded. */
export function useFirstUnread(): number | null {
  const { turns, hasOlder, conversation, participants, lastSeq } = useOpenConversation().transcript
  const { viewer } = useSession()
  const [opening, setOpening] = useState<Opening | null>(null)
  if (opening === null && conversation !== null) {
    const own = participants.find(({ actor }) => actor === viewer.actor)
    setOpening({ viewer: viewer.actor, readSeq: own?.lastReadSeq ?? 0, lastSeq })
  }
  return useMemo(() => opening && firstUnread(turns, hasOlder, opening), [turns, hasOlder, opening])
}

/** Returns the function that names those whose newest read turn it is. */
export function useReaders(): (turn: Turn) => string {
  const { transcript, nameOf } = useOpenConversation()
  const { viewer } = useSession()
  const { turns, participants } = transcript
  const readers = useMemo(
    () => readersByPosition(turns, participants, viewer.actor),
    [turns, participants, viewer.actor],
  )
  return ({ position }) => shorten(readers.get(position)?.map(nameOf).join(', ') ?? '', 80)
}
