// The open conversation: its title and who is there, its transcript, what waits for a decision, and the composer.

import { useCallback, useState } from 'react'
import type { Turn } from '../../client/index.ts'
import { useSampleTools } from '../conversations/sample-tools.ts'
import { titleOf } from '../conversations/title.ts'
import { Avatar } from '../kit/avatar.tsx'
import { Failure, Notice } from '../kit/notice.tsx'
import { countOf } from '../kit/text.ts'
import { Menu } from '../kit/menu.tsx'
import { Approvals } from '../participants/approvals.tsx'
import { navigate, useRoute } from '../session/route.ts'
import { useSession } from '../session/session.tsx'
import { Composer, type Task } from '../transcript/composer/composer.tsx'
import { TranscriptView } from '../transcript/transcript.tsx'
import { Activity } from './activity.tsx'
import { useOpenConversation } from './open-conversation.tsx'
import { Rename } from './rename.tsx'

/** Maximum number of participants whose avatars the header shows. */
const SHOWN = 5

function Header() {
  const { transcript, present } = useOpenConversation()
  const { viewer } = useSession()
  const { panel } = useRoute()
  const { conversation } = transcript
  const [isRenaming, setRenaming] = useState(false)
  return (
    <div className="bar">
      <button
        type="button"
        className="quiet only-narrow"
        aria-label="Back to the list"
        onClick={() => navigate({ conversationId: null, position: null, panel: null })}
      >
        ←
      </button>
      <h1 dir="auto">{conversation ? titleOf(conversation) : 'Loading …'}</h1>
      {viewer.rights.includes('WRITE') && (
        <Menu label="Actions for the conversation" items={[{ label: 'Rename', onSelect: () => setRenaming(true) }]}>
          ⋯
        </Menu>
      )}
      {isRenaming && <Rename onClose={() => setRenaming(false)} />}
      <button
        type="button"
        className="people"
        onClick={() => navigate({ panel: panel === null ? 'participants' : null })}
      >
        <span className="hidden">
          {countOf(present.length, 'participant')}: {panel === null ? 'show' : 'hide'} the panels
        </span>
        {present.slice(0, SHOWN).map(({ actor, displayName, kind, presence }) => (
          <Avatar key={actor} name={displayName ?? actor} isAgent={kind !== 'HUMAN'} presence={presence} />
        ))}
        {present.length > SHOWN && (
          <span className="muted" aria-hidden="true">
            +{present.length - SHOWN}
          </span>
        )}
        <span aria-hidden="true">⟩</span>
      </button>
    </div>
  )
}

/** Why the conversation cannot be shown; null if it can. */
function goneText(status: string, code: string | undefined): string | null {
  if (status === 'deleted') return 'This conversation was deleted.'
  if (status !== 'failed') return null
  if (code === 'NOT_FOUND') return 'You do not see this conversation: it does not exist, or you were removed from it.'
  return null
}

export function Conversation() {
  const { transcript, reopen } = useOpenConversation()
  const [task, setTask] = useState<Task>(null)
  const onReply = useCallback((turn: Turn) => setTask({ kind: 'reply', turn }), [])
  const onEdit = useCallback((turn: Turn) => setTask({ kind: 'edit', turn }), [])
  useSampleTools()
  const gone = goneText(transcript.status, transcript.error?.code)
  if (gone !== null) {
    return (
      <main className="conversation">
        <div className="bar">
          <h1>Conversation not available</h1>
        </div>
        <div className="panel">
          <Notice kind="error">{gone}</Notice>
          <a href="#/">Back to the conversations</a>
        </div>
      </main>
    )
  }
  return (
    <main className="conversation">
      <Header />
      {transcript.status === 'failed' && <Failure error={transcript.error?.message ?? null} onRetry={reopen} />}
      <TranscriptView onReply={onReply} onEdit={onEdit} />
      <Activity />
      <Approvals />
      <Composer task={task} onTask={setTask} />
    </main>
  )
}
