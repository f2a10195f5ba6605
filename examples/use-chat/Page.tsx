// A chat page with the AI SDK's useChat. Only its transport knows of Colloquy.
import { useChat } from '@ai-sdk/react'
import { lastAssistantMessageIsCompleteWithApprovalResponses as isDecided } from 'ai'
import type { ConversationMessage, ConversationTransport } from 'colloquy-client/ai-sdk'
import { useEffect, type FormEvent } from 'react'
import { Part } from './Part.tsx'

type Props = { id: string; transport: ConversationTransport; messages: ConversationMessage[] }

export function Page({ id, transport, messages: initial }: Props) {
  const chat = useChat({ id, transport, messages: initial, resume: true, sendAutomaticallyWhen: isDecided })
  const { messages, setMessages, sendMessage, regenerate, stop, status, error } = chat
  // Shows at once what other people and agents write.
  useEffect(() => transport.follow(id, setMessages), [id, transport, setMessages])
  const isBusy = status === 'submitted' || status === 'streaming'
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('text'))
    event.currentTarget.reset()
    if (text.trim()) void sendMessage({ text })
  }
  return (
    <main>
      {messages.map(({ id, role, parts, metadata }) => (
        <section key={id}>
          <b>{metadata?.name ?? 'You'}</b>
          {parts.map((part, index) => (
            <Part key={index} part={part} decide={chat.addToolApprovalResponse} />
          ))}
          {role === 'assistant' && !isBusy && <button onClick={() => regenerate({ messageId: id })}>Again</button>}
        </section>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input name="text" placeholder="Message" disabled={isBusy} autoFocus />
        {isBusy && <input type="button" value="Stop" onClick={stop} />}
      </form>
    </main>
  )
}
