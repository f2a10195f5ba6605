// The prompts of the MCP server, which a person chooses in a client: continue a conversation, and a briefing on what
// happened in one.

import type { Prompt, PromptMessage } from '@modelcontextprotocol/sdk/types.js'
import type { ContextMessage, PageInfo, Turn } from '../../client/generated.ts'
import { nearest } from '../../text/nearest.ts'
import { linesOfTurn } from '../../text/turn-lines.ts'
import { conversationOf, type Caller } from './caller.ts'
import { messagesOf } from './messages.ts'
import { RpcError } from './rpc-error.ts'

/** Maximum number of turns in a briefing, the newest ones. */
const TURNS = 200

type Arguments = Readonly<Record<string, string>>

type PromptRow = Omit<Prompt, 'name'> & {
  /** @throws VerbFailed @throws RpcError */
  messages(caller: Caller, args: Arguments): Promise<PromptMessage[]>
}

const CONVERSATION = { name: 'conversation', description: 'Key or id of the conversation.', required: true }

/** Returns the filter for the turns since a time, a seq, or the reader's last visit. @throws RpcError */
function turnsSince(since: string | undefined) {
  if (since === undefined || since === '') return {}
  if (/^\d{1,9}$/.test(since)) return { sinceSeq: Number(since) }
  const time = new Date(since)
  if (!Number.isNaN(time.getTime())) return { createdAfter: time.toISOString() }
  throw new RpcError('invalidParams', 'since must be a date, a time in ISO 8601, or the seq of a turn.')
}

const PROMPTS: Readonly<Record<string, PromptRow>> = {
  continue_conversation: {
    title: 'Continue a conversation',
    description: 'Puts the context of a conversation before your next message.',
    arguments: [CONVERSATION],
    async messages(caller, { conversation }) {
      const input = { ...conversationOf(conversation!), includeFacts: true }
      const { messages }: { messages: ContextMessage[] } = await caller.call('buildContext', input)
      return messagesOf(messages)
    },
  },
  brief_me: {
    title: 'Brief me on a conversation',
    description: 'Asks for a briefing on what happened in a conversation since a time.',
    arguments: [
      CONVERSATION,
      {
        name: 'since',
        description: `A date, a time in ISO 8601, or the seq of a turn. Without it, the newest ${TURNS} turns.`,
        required: false,
      },
    ],
    async messages(caller, { conversation, since }) {
      const input = { ...conversationOf(conversation!), last: TURNS, filter: turnsSince(since) }
      const page: { nodes: Turn[]; pageInfo: PageInfo } = await caller.call('turns', input)
      const lines = page.nodes.flatMap(linesOfTurn)
      const text = [
        `Brief me on what happened in this conversation${since ? ` since ${since}` : ''}: what was decided, what is open, `
          + 'and what concerns me. Quote names and dates as they are written.',
        '',
        ...(page.pageInfo.hasPreviousPage ? [`(only the newest ${TURNS} turns)`] : []),
        ...(lines.length > 0 ? lines : ['(no turns)']),
      ].join('\n')
      return [{ role: 'user', content: { type: 'text', text } }]
    },
  },
}

/** Returns the prompts. For a key of one conversation, they have no argument `conversation`. */
export const listPrompts = ({ conversationId }: Caller): Prompt[] =>
  Object.entries(PROMPTS).map(([name, { title, description, arguments: args = [] }]) => ({
    name,
    title,
    description,
    arguments: args.filter((each) => conversationId === null || each !== CONVERSATION),
  }))

/** Returns the messages of a prompt. @throws RpcError for a wrong name or argument @throws VerbFailed */
export async function getPrompt(caller: Caller, name: string, given: Arguments = {}) {
  const prompt = Object.hasOwn(PROMPTS, name) ? PROMPTS[name]! : null
  const hint = (unknown: string, known: readonly string[]) => {
    const similar = nearest(unknown, known)
    return similar === null ? '' : ` Did you mean ${similar}?`
  }
  if (!prompt) {
    throw new RpcError('invalidParams', `Unknown prompt: ${name}.${hint(name, Object.keys(PROMPTS))}`)
  }
  const { conversationId } = caller
  const known = listPrompts(caller).find((each) => each.name === name)!.arguments!
  const names = known.map((each) => each.name)
  const unknown = Object.keys(given).find((each) => !names.includes(each))
  if (unknown !== undefined) {
    throw new RpcError('invalidParams', `Unknown argument: ${unknown}.${hint(unknown, names)}`)
  }
  const missing = known.find((each) => each.required && !given[each.name])
  if (missing) throw new RpcError('invalidParams', `The argument ${missing.name} is missing.`)
  const args = conversationId === null ? given : { ...given, conversation: conversationId }
  return { description: prompt.description, messages: await prompt.messages(caller, args) }
}
