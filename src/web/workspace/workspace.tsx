// The workspace: the list of conversations, the open conversation, and its panels.

import { useEffect } from 'react'
import { Notice } from '../kit/notice.tsx'
import { useStore } from '../kit/store.ts'
import { errorText } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'
import { useUnsentWarning } from '../session/drafts.ts'
import { useRoute } from '../session/route.ts'
import { ConversationList } from '../conversations/list.tsx'
import { Welcome } from '../conversations/welcome.tsx'
import { Conversation } from './conversation.tsx'
import { OpenConversationProvider } from './open-conversation.tsx'
import { Panels } from './panels.tsx'

/** Shows that the connection is lost. It is restored without the person; the text that they write meanwhile is kept. */
function ConnectionNotice({ onRefused }: { onRefused(reason: string): void }) {
  const { state, reason } = useStore(useSession().connection)
  const isRefused = reason?.code === 'UNAUTHENTICATED'
  useEffect(() => {
    if (isRefused) onRefused(errorText(reason))
  }, [isRefused])
  if (state !== 'disconnected' || isRefused) return null
  return <Notice kind="error">The connection to the server is lost. Trying again …</Notice>
}

/** `onLeave`: called with why the person must enter again, or null if they want to leave. */
export function Workspace({ onLeave }: { onLeave(reason: string | null): void }) {
  const { conversationId, panel } = useRoute()
  useUnsentWarning(false)
  const isPanelOpen = conversationId !== null && panel !== null
  const classes = ['workspace', conversationId !== null && 'reading', isPanelOpen && `with-panel panel-${panel}`]
  return (
    <div className={classes.filter(Boolean).join(' ')}>
      <ConversationList selected={conversationId} onLeave={() => onLeave(null)} />
      <ConnectionNotice onRefused={onLeave} />
      {conversationId === null ? (
        <Welcome />
      ) : (
        <OpenConversationProvider id={conversationId} key={conversationId}>
          <Conversation />
          {panel && <Panels selected={panel} />}
        </OpenConversationProvider>
      )}
    </div>
  )
}
