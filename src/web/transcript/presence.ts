// The viewer's presence in the open conversation: present while the page is visible, and writing while they type.

import { useCallback, useEffect, useRef, useState } from 'react'
import type { PresenceState } from '../../client/index.ts'
import { useTicks, useVisible } from '../kit/visible.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'

/** Time after which presence is renewed, ms. It expires after 60 s by default. */
const RENEW_MS = 20_000
/** Time without a key press after which the person no longer writes, ms. */
const IDLE_MS = 4_000

/** `typed`: to call when the person types. `stopped`: to call when they have sent the message. */
export function usePresence(): { typed(): void; stopped(): void } {
  const { conversation, transcript } = useOpenConversation()
  const { viewer } = useSession()
  const isVisible = useVisible()
  const ticks = useTicks(RENEW_MS)
  const [isTyping, setTyping] = useState(false)
  const idle = useRef<ReturnType<typeof setTimeout>>(undefined)
  const mayTell = transcript.viewer !== null && transcript.status === 'live' && viewer.rights.includes('WRITE')
  const state: PresenceState = !isVisible ? 'AWAY' : isTyping ? 'TYPING' : 'ONLINE'

  useEffect(() => {
    // A presence that is lost is told again with the next renewal.
    if (mayTell) conversation.setPresence(state).catch(() => {})
  }, [mayTell, conversation, state, ticks])
  useEffect(() => () => clearTimeout(idle.current), [])

  const stopped = useCallback(() => {
    clearTimeout(idle.current)
    setTyping(false)
  }, [])
  const typed = useCallback(() => {
    clearTimeout(idle.current)
    setTyping(true)
    idle.current = setTimeout(stopped, IDLE_MS)
  }, [stopped])
  return { typed, stopped }
}
