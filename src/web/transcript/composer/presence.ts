// The viewer's presence in the open conversation: online while the page is visible, typing while they write, and
// offline when they leave the conversation.

import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { PresenceState } from '../../../client/index.ts'
import { useTicks, useVisible } from '../../kit/visible.ts'
import { useSession } from '../../session/session.tsx'
import { useOpenConversation } from '../../workspace/open-conversation.tsx'
import { createSender } from './newest.ts'

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
  // AWAY is not renewed: the presence of a page in the background expires.
  const state: PresenceState = !isVisible ? 'AWAY' : isTyping ? 'TYPING' : 'ONLINE'
  // A presence that is lost is sent again with the next renewal.
  const send = useMemo(() => createSender((next: PresenceState) => conversation.setPresence(next)), [conversation])

  useEffect(() => {
    if (mayTell) send(state)
  }, [mayTell, send, state, ticks])
  useEffect(() => {
    if (mayTell) return () => send('OFFLINE')
  }, [mayTell, send])
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
