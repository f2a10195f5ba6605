// Asks an agent to answer for a client, which adds instructions, context and tools of its own to the agent's settings.

import { ColloquyError, itemsOf, type Page } from '../../client/index.ts'
import { instructionsOf, toolsOf, type RunInput, type ToolInput } from './input.ts'
import type { AguiEvent } from './protocol.ts'
import type { Thread } from './thread.ts'

/** The settings of an agent that a client may add to. */
type Settings = { instructions: string | null; tools: ToolInput[] | null }

const READ = `query Agents($id: ID!, $after: String, $as: String) {
  conversation(id: $id, as: $as) { participants(first: 200, after: $after) {
    nodes { actor agent { instructions tools { name description schema requiresApproval approvalSeconds } } }
    pageInfo { hasNextPage endCursor }
  } }
}`

/** Returns the settings of the agent, as far as the viewer sees them. */
async function settingsOf({ client, chat, agent }: Thread): Promise<Settings> {
  const { id } = chat.get().transcript.conversation!
  const read = async (after: string | null) => {
    const { conversation } = await client.request(READ, { id, after, as: client.as })
    return conversation.participants as Page<{ actor: string; agent: Settings | null }>
  }
  for await (const participant of itemsOf(read))
    if (participant.actor === agent && participant.agent) return participant.agent
  return { instructions: null, tools: null }
}

/** Returns what the client adds, as options of the run: the settings of the agent with the additions; null for none. */
async function additionsOf(
  thread: Thread,
  input: RunInput,
): Promise<{ instructions?: string; tools?: ToolInput[] } | null> {
  const [added, tools] = [instructionsOf(input), toolsOf(input)]
  if (added.length === 0 && tools.length === 0) return null
  const settings = await settingsOf(thread)
  const own = settings.tools ?? []
  const names = new Set(own.map(({ name }) => name))
  const instructions = [settings.instructions ?? '', ...added].filter((text) => text !== '').join('\n\n')
  return {
    ...(added.length > 0 && { instructions }),
    // The agent's own tool is not replaced by one of the client with its name.
    ...(tools.length > 0 && { tools: [...own, ...tools.filter(({ name }) => !names.has(name))] }),
  }
}

const isCode = (error: unknown, code: string) => error instanceof ColloquyError && error.code === code

/**
 * Asks the agent to answer the turn. Repeated for the same attempt, it asks once. Without the right to change what an agent
 * is asked, the additions of the client are left out. Returns the events about that. Does nothing if the agent has begun
 * to answer something else.
 * @param attempt number of runs for the turn so far
 * @throws ColloquyError
 */
export async function askAgent(
  thread: Thread,
  input: RunInput,
  { turnId, attempt }: { turnId: string; attempt: number },
): Promise<AguiEvent[]> {
  const { chat, agent } = thread
  const additions = await additionsOf(thread, input)
  const options = {
    actor: agent!,
    replyTo: turnId,
    clientId: `agui:${turnId}:${attempt}`,
    wait: false,
    ...(input.forwardedProps !== undefined && { agentContext: input.forwardedProps }),
  }
  try {
    await chat.conversation.run({ ...options, ...additions })
    return []
  } catch (error) {
    // Another page of the person has asked, or the agent answers somebody else.
    if (isCode(error, 'CONFLICT')) return []
    if (!additions || !isCode(error, 'NOT_ALLOWED')) throw error
    const { code, message } = error as ColloquyError
    await chat.conversation.run(options).catch((failure: unknown) => {
      if (!isCode(failure, 'CONFLICT')) throw failure
    })
    return [{ type: 'CUSTOM', name: 'inputRefused', value: { fields: Object.keys(additions), code, message } }]
  }
}
