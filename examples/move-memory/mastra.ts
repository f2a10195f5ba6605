// The turns of messages as Mastra's `memory.recall` returns them: texts, and tools that were called. Other parts, such as
// reasoning and step markers, are left out.
import type { MovedTurn, Thread } from './move.ts'

type Call = { toolCallId: string; toolName: string; args: unknown; state: string; result?: unknown }
type Part = { type: string; text?: string; toolInvocation?: Call }
export type MastraMessage = { id: string; role: string; createdAt: Date | string; content: { parts: Part[] } }
type Turn = Pick<MovedTurn, 'role' | 'parts'>

function turnsOf({ type, text, toolInvocation: call }: Part, role: MovedTurn['role']): Turn[] {
  if (type === 'text' && text) return [{ role, parts: [{ text }] }]
  if (type !== 'tool-invocation' || !call) return []
  const { toolCallId: callId, toolName: name, args, state, result } = call
  const called: Turn = { role: 'ASSISTANT', parts: [{ toolCall: { callId, name, arguments: args } }] }
  return state === 'result' ? [called, { role: 'TOOL', parts: [{ toolResult: { callId, name, result } }] }] : [called]
}

export function fromMastra(messages: MastraMessage[], { key, title, user, agent }: Omit<Thread, 'turns'>): Thread {
  const turns = messages.flatMap(({ id, role, createdAt, content }) =>
    content.parts
      .flatMap((part) => turnsOf(part, role === 'user' ? 'USER' : 'ASSISTANT'))
      .map((turn, index) => ({
        ...turn,
        clientId: `mastra:${id}:${index}`,
        actor: turn.role === 'USER' ? user : agent,
        createdAt: new Date(createdAt).toISOString(),
      })),
  )
  return { key, title, user, agent, turns }
}
