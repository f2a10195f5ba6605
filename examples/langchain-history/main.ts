// LangChain and LangGraph on Colloquy: a chat history that a model reads, and a store that a graph writes. Runs
// offline, with a model that answers with the number of its messages. Use any chat model of LangChain in its place.
import { RunnableWithMessageHistory, RunnableLambda } from '@langchain/core/runnables'
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages'
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import { createDeps, loadConfig, openTranscript } from 'colloquy'
import { ColloquyConversationStore } from 'colloquy/conversation-core'
import { ColloquyChatMessageHistory } from './history.ts'
import { ColloquyStore } from './store.ts'

const { deps, close } = await createDeps({ ...loadConfig({ LOG_LEVEL: 'error' }), dataDir: null })
const viewer = { tenant: 'default', actor: 'app' }
const transcript = openTranscript(deps, viewer)
const conversations = new ColloquyConversationStore(transcript)
await conversations.createConversation({ id: 'chat' })
const chain = new RunnableWithMessageHistory<BaseMessage[], BaseMessage>({
  runnable: RunnableLambda.from((messages: BaseMessage[]) => new AIMessage(`I read ${messages.length} messages.`)),
  getMessageHistory: (id: string) => new ColloquyChatMessageHistory(conversations, id),
})
for (const text of ['I am Ada.', 'Who am I?']) {
  const reply = await chain.invoke([new HumanMessage(text)], { configurable: { sessionId: 'chat' } })
  console.log(`ai: ${reply.text}`)
}
const history = new ColloquyChatMessageHistory(conversations, 'chat')
const call = new AIMessage({ content: '', tool_calls: [{ id: 'call 1', name: 'weather', args: { city: 'Oslo' } }] })
await history.addMessages([call, new ToolMessage({ tool_call_id: 'call 1', name: 'weather', content: 'snow' })])
console.log((await history.getMessages()).map(({ type }) => type).join(' '))
const store = new ColloquyStore({ deps, viewer, transcript })
const graph = new StateGraph(MessagesAnnotation)
  .addNode('remember', async ({ messages }, { store }) => {
    await store!.put(['users', 'ada'], 'name', { text: messages.at(-1)!.text })
    return { messages: [new AIMessage('Noted.')] }
  })
  .addEdge('__start__', 'remember')
  .compile({ store })
await graph.invoke({ messages: ['I am Ada.'] })
for (const text of ['I live in Rome.', 'I live in Oslo.']) await store.put(['users', 'ada'], 'home', { text })
for (const { key, value } of await store.search(['users'])) console.log(`${key}: ${value.text}`)
for (const { value } of await store.search([], { query: 'What is her name?', limit: 1 })) console.log(value.text)
await close()
