// One chat: the turns, those that are being written or sent included, and a field for the next one.
import { useConversation, useTranscript } from 'colloquy-client/react'
import { useEffect, type FormEvent } from 'react'

export function Chat({ id }: { id: string }) {
  const conversation = useConversation(id)
  const { turns, pending, status, hasOlder, older } = useTranscript(conversation)
  const newest = turns.at(-1)
  useEffect(() => {
    // Marks everything as read: the entry that commits a streaming turn comes after the turn itself.
    if (newest?.status === 'COMMITTED') void conversation.markRead()
  }, [conversation, newest])
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('text'))
    event.currentTarget.reset()
    // A turn that cannot be sent is shown in `pending`, with a function that sends it again.
    if (text.trim()) conversation.append(text).catch(() => {})
  }
  return (
    <main>
      {hasOlder && <button onClick={older}>Older</button>}
      {turns.map(({ position, author, actor, text, status }) => (
        <p key={position}>
          <b>{author?.displayName ?? actor}</b> {text} {status === 'STREAMING' && '…'}
        </p>
      ))}
      {pending.map(({ clientId, turn, retry }) => (
        <p key={clientId}>
          {turn.content} <button onClick={retry}>Retry</button>
        </p>
      ))}
      <form onSubmit={send}>
        <input name="text" placeholder={status === 'live' ? 'Message' : 'Connecting …'} autoFocus />
      </form>
    </main>
  )
}
