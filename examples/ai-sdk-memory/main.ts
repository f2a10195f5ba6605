// Two calls of the AI SDK share a conversation: the prompt of the second call contains the messages of the first. Runs
// offline, with a model that answers with the roles of its prompt. Use any model of the AI SDK in its place.
import { generateText, simulateReadableStream, streamText, wrapLanguageModel } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { createConversation, createDeps, loadConfig } from 'colloquy'
import { memory } from './memory.ts'

const count = { total: 9, noCache: 9, cacheRead: 0, cacheWrite: 0, text: 9, reasoning: 0 }
const usage = { inputTokens: count, outputTokens: count }
const finish = { finishReason: { unified: 'stop', raw: 'stop' }, usage } as const
const answerTo = (prompt: { role: string }[]) => `I read: ${prompt.map(({ role }) => role).join(', ')}.`
const model = new MockLanguageModelV3({
  async doGenerate({ prompt }) {
    return { content: [{ type: 'text', text: answerTo(prompt) }], warnings: [], ...finish }
  },
  async doStream({ prompt }) {
    const texts = answerTo(prompt).split(/(?= )/)
    const deltas = texts.map((delta) => ({ type: 'text-delta', id: '1', delta }) as const)
    const edge = (type: 'text-start' | 'text-end') => ({ type, id: '1' }) as const
    const chunks = [edge('text-start'), ...deltas, edge('text-end'), { type: 'finish', ...finish } as const]
    return { stream: simulateReadableStream({ chunks }) }
  },
})

const { deps, close } = await createDeps({ ...loadConfig({ LOG_LEVEL: 'error' }), dataDir: null })
const agent = { tenant: 'default', actor: 'helper' }
const { conversation } = await createConversation(deps, agent, { systemPrompt: 'Be brief.' })
const scope = { deps, agent, conversationId: conversation.id, user: 'ada', tokenBudget: 4000 }
const remembering = (id: string) => wrapLanguageModel({ model, middleware: memory({ ...scope, id }) })

console.log((await generateText({ model: remembering('call 1'), prompt: 'I am Ada.' })).text)
const { textStream } = streamText({ model: remembering('call 2'), prompt: 'Who am I?' })
for await (const delta of textStream) process.stdout.write(delta)
console.log()
await close()
