// Starts the page for Ada, with the chat that the address names. In production, pass `token` instead of `actor`.
import { connect } from 'colloquy-client'
import { createChatTransport } from 'colloquy-client/ai-sdk'
import { createRoot } from 'react-dom/client'
import { Page } from './Page.tsx'

const client = connect({ url: '/graphql', actor: 'ada' })
const transport = createChatTransport({
  client,
  create: { participants: [{ actor: 'helper', respond: 'ALWAYS', agent: { provider: 'echo' } }] },
})
const id = location.hash.slice(1) || 'first-chat'
const messages = await transport.load(id)
createRoot(document.getElementById('root')!).render(<Page id={id} transport={transport} messages={messages} />)
