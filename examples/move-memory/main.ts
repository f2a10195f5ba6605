// Moves a history of LangChain and a thread of Mastra to a server in this process, twice. In your project, connect to your
// server, and read the messages from your own stores.
import { InMemoryChatMessageHistory } from '@langchain/core/chat_history'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { createDeps, createServer, loadConfig } from 'colloquy'
import { connect } from 'colloquy-client'
import { fromLangChain } from './langchain.ts'
import { fromMastra } from './mastra.ts'
import { messages } from './mastra-thread.ts'
import { move } from './move.ts'

const config = { ...loadConfig({ LOG_LEVEL: 'error', PORT: '0' }), dataDir: null }
const { deps, health, close } = await createDeps(config)
const server = createServer(deps, config, health)
const client = connect({ url: `http://127.0.0.1:${await server.listen()}/graphql`, actor: 'importer' })

const history = new InMemoryChatMessageHistory([new HumanMessage('I live in Porto.'), new AIMessage('A fine city.')])
const chat = await fromLangChain(history, { key: 'chat', user: 'ada', agent: 'helper' })

const trip = fromMastra(messages, { key: 'trip', title: 'Trip', user: 'ada', agent: 'helper' })

for (const thread of [chat, trip, chat, trip]) console.log(`${thread.key}: ${await move(client, thread)} turns`)
const { nodes } = await client.conversation({ key: 'trip' }).turns()
for (const { role, text, createdAt } of nodes) console.log(createdAt.slice(11, 19), role, text || '(a tool)')
const facts = (await client.conversation({ key: 'chat' }).facts()).nodes
for (const { subject, predicate, object } of facts) console.log('fact:', subject, predicate, object)
const { hits } = await client.recall('What about snow?', { scope: 'TENANT', kinds: ['TURN'], k: 1 })
for (const { memory } of hits) if (memory.__typename === 'Turn') console.log('recalled:', memory.text)

await client.close()
await server.close()
await close()
