// What `(await memory.recall({ threadId: 'trip', perPage: false })).messages` of Mastra returns.
import type { MastraMessage } from './mastra.ts'

const question = [{ type: 'text', text: 'And Oslo?' }]
const call = { state: 'result', toolCallId: 'c1', toolName: 'weather', args: { city: 'Oslo' }, result: 'snow' }
const answer = [
  { type: 'tool-invocation', toolInvocation: call },
  { type: 'text', text: 'It snows in Oslo.' },
]
export const messages: MastraMessage[] = [
  { id: 'm1', role: 'user', createdAt: '2026-01-01T09:00:00Z', content: { parts: question } },
  { id: 'm2', role: 'assistant', createdAt: '2026-01-01T09:00:02Z', content: { parts: answer } },
]
