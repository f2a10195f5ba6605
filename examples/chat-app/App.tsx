// The chats of the user, the chosen one, and what is remembered of it.
import { useClient, useInbox } from 'colloquy-client/react'
import { useState } from 'react'
import { Chat } from './Chat.tsx'
import { Memory } from './Memory.tsx'

export function App() {
  const client = useClient()
  const { conversations } = useInbox()
  const [chosen, choose] = useState<string | null>(null)
  const create = async () => {
    const { id } = await client.createConversation({
      systemPrompt: 'You are a helpful assistant who remembers what people told you.',
      participants: [
        { actor: 'ada', displayName: 'Ada' },
        { actor: 'helper', kind: 'AGENT', respond: 'ALWAYS' },
      ],
    })
    choose(id)
  }
  return (
    <>
      <nav>
        <button onClick={create}>New chat</button>
        {conversations.map(({ id, title, viewerUnreadCount }) => (
          <button key={id} disabled={id === chosen} onClick={() => choose(id)}>
            {title ?? 'New chat'} {viewerUnreadCount > 0 && `(${viewerUnreadCount})`}
          </button>
        ))}
      </nav>
      {chosen && <Chat key={chosen} id={chosen} />}
      {chosen && <Memory id={chosen} />}
    </>
  )
}
