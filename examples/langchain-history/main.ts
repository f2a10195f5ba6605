// LangChain and LangGraph on Colloquy: a chat history that a model reads, and a store that a graph writes. Runs offline,
// with a model that says how many messages it got. Use any chat model of LangChain in its place.
import { RunnableWithMessageHistory, RunnableLambda } from '@langchain/core/runnables'
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages'
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import { createDeps, loadConfig, openTranscript } from 'colloquy'
import { ColloquyConversationStore } from 'colloquy/conversation-core'
import { ColloquyChatMessageHistory } from './history.ts'
import { ColloquyStore } from './store.ts'

const { deps, close } = await createDeps({ ...loadConfig({ LOG_LEVEL: 'error' }), dataDir: null })
const transcript = openTranscript(deps, { tenant: 'default', actor: 'app' })
const conversations = new ColloquyConversationStore(transcript)
await conversations.createConversation({ id: 'chat' })

const model = RunnableLambda.from((messages: BaseMessage[]) => new AIMessage(`I read ${messages.length} messages.`))
const chain = new RunnableWithMessageHistory<BaseMessage[], BaseMessage>({
  runnable: model,
  getMessageHistory: (id: string) => new ColloquyChatMessageHistory(conversations, id),
})
for (const text of ['I am Ada.', 'Who am I?']) {
  const reply = await chain.invoke([new HumanMessage(text)], { configurable: { sessionId: 'chat' } })
  console.log(`ai: ${reply.text}`)
}
const history = new ColloquyChatMessageHistory(conversations, 'chat')
const tool_calls = [{ id: 'call 1', name: 'weather', args: { city: 'Oslo' } }]
const result = new ToolMessage({ tool_call_id: 'call 1', name: 'weather', content: 'snow' })
await history.addMessages([new AIMessage({ content: '', tool_calls }), result])
console.log((await history.getMessages()).map(({ type }) => type).join(' '))

const graph = new StateGraph(MessagesAnnotation)
  .addNode('remember', async ({ messages }, { store }) => {
    await store!.put(['users', 'ada'], 'name', { text: messages.at(-1)!.text })
    return { messages: [new AIMessage('Noted.')] }
  })
  .addEdge('__start__', 'remember')
  .compile({ store: new ColloquyStore(transcript) })
await graph.invoke({ messages: ['I am Ada.'] })
for (const { key, value } of await new ColloquyStore(transcript).search(['users'])) console.log(`${key}: ${value.text}`)
await close()
