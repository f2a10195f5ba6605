// The list of the viewer's conversations, with their unread turns; the search; and the menu of the page.

import { useState } from 'react'
import type { ListedConversation } from '../../client/index.ts'
import { useInbox } from '../../react/index.ts'
import { Empty, Failure } from '../kit/notice.tsx'
import { Menu } from '../kit/menu.tsx'
import { shorten, whenOf } from '../kit/text.ts'
import { needText } from '../session/needs.tsx'
import { navigate } from '../session/route.ts'
import { useSession } from '../session/session.tsx'
import { NewConversation } from './new-conversation.tsx'
import { usePresent } from './present.ts'
import { SearchResults } from './search.tsx'
import { titleOf } from './title.ts'

/** The last turn in one line. The text of a turn that is being written is not part of the list. */
function LastLine({ lastTurn }: Pick<ListedConversation, 'lastTurn'>) {
  if (!lastTurn) return 'No messages yet'
  const { actor, status, text } = lastTurn
  const name = <bdi>{actor}</bdi>
  if (status === 'STREAMING') return <>{name} is writing …</>
  const line = status === 'ERASED' ? 'erased message' : shorten(text, 80) || 'message without text'
  return (
    <>
      {name}: <bdi>{line}</bdi>
    </>
  )
}

function Item({
  conversation,
  isSelected,
  present,
}: {
  conversation: ListedConversation
  isSelected: boolean
  present: readonly string[]
}) {
  const { id, viewerUnreadCount: unread, updatedAt } = conversation
  return (
    <li>
      <a
        href={`#/c/${encodeURIComponent(id)}`}
        aria-current={isSelected ? 'page' : undefined}
        onClick={(event) => {
          // The browser opens another tab or window.
          if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
          // Keeps the open panel.
          event.preventDefault()
          navigate({ conversationId: id, position: null })
        }}
      >
        <span className="title" dir="auto">
          {titleOf(conversation)}
        </span>
        <time dateTime={updatedAt}>{whenOf(updatedAt)}</time>
        <span className="last">
          <LastLine lastTurn={conversation.lastTurn} />
        </span>
        {unread > 0 && (
          <span className="badge">
            {unread}
            <span className="hidden"> unread</span>
          </span>
        )}
        {present.length > 0 && (
          <span className="here">
            ● <bdi>{shorten(present.join(', '), 40)}</bdi> online
          </span>
        )}
      </a>
    </li>
  )
}

/** The conversations of the inbox, most recently active first. */
function Inbox({ selected }: { selected: string | null }) {
  const { conversations, status, error } = useInbox()
  const present = usePresent(conversations)
  if (status === 'loading') return <Empty>Loading …</Empty>
  return (
    <>
      {status === 'failed' && <Failure error={error?.message ?? null} />}
      {conversations.length === 0 && <Empty>You are not in any conversation yet.</Empty>}
      <ul className="plain">
        {conversations.map((each) => (
          <Item
            key={each.id}
            conversation={each}
            isSelected={each.id === selected}
            present={present.get(each.id) ?? []}
          />
        ))}
      </ul>
    </>
  )
}

export function ConversationList({ selected, onLeave }: { selected: string | null; onLeave(): void }) {
  const { viewer } = useSession()
  const mayWrite = viewer.rights.includes('WRITE')
  const [query, setQuery] = useState('')
  const [isCreating, setCreating] = useState(false)
  return (
    <nav className="sidebar" aria-label="Conversations">
      <div className="bar">
        <a className="brand" href="#/">
          Colloquy
        </a>
        <Menu
          label={`Menu of ${viewer.actor}`}
          items={[
            { label: 'Welcome page', onSelect: () => navigate({ conversationId: null, position: null }) },
            { label: 'GraphiQL', onSelect: () => location.assign('/graphiql') },
            { label: `Leave as ${shorten(viewer.actor, 20)}`, onSelect: onLeave },
          ]}
        >
          {shorten(viewer.actor, 16)} ▾
        </Menu>
      </div>
      <div className="find">
        <input
          type="search"
          aria-label="Search titles and what was said"
          placeholder="Search"
          maxLength={200}
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
        <button
          type="button"
          className="primary"
          disabled={!mayWrite}
          title={mayWrite ? undefined : needText('WRITE', 'create a conversation')}
          onClick={() => setCreating(true)}
        >
          New
        </button>
      </div>
      <div className="list">
        {query.trim() === '' ? <Inbox selected={selected} /> : <SearchResults query={query.trim()} />}
      </div>
      {isCreating && <NewConversation onClose={() => setCreating(false)} />}
    </nav>
  )
}
