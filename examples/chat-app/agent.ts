// The agent: answers every turn of its conversations with a stream. Run it as often as you like; each turn is answered
// once.
import { connect } from 'colloquy-client'
import { reply } from './model.ts'

const url = `${process.env.COLLOQUY ?? 'http://127.0.0.1:4000'}/graphql`
const agent = connect({ url, actor: 'helper' })
await agent.answer(async ({ turn, conversation, signal, write }) => {
  // Learns from the turns that were not read before.
  await conversation.extractFacts({ signal })
  const { messages } = await conversation.context({
    answering: turn.id,
    tokenBudget: 4000,
    // What is known about the people in the conversation, from all of their conversations that the agent sees.
    includeFacts: true,
    // Related turns from all conversations of the owner.
    semanticRecall: { k: 3, scope: 'OWNER' },
    format: 'OPENAI',
    signal,
  })
  await write(reply(messages, signal))
})
