// The tools of the MCP server. Each tool calls one verb; its arguments, its schemas and their descriptions come from the
// verb's inputs and answer. The answer is returned as structured content, and as text that a model can read.

import type { ToolAnnotations } from '@modelcontextprotocol/sdk/types.js'
import type { Right } from '../../domain/kernel/rights/principal.ts'
import type { JsonSchema } from '../json-schema.ts'
import type { Caller } from './caller.ts'
import {
  textOfAppended,
  textOfContext,
  textOfConversations,
  textOfFacts,
  textOfHits,
  textOfHistory,
  textOfProfile,
  textOfRecorded,
  textOfSummary,
  textOfWait,
} from './text.ts'
import type { ToolInput } from './tool-input.ts'
import { TIMEOUT, waitForTurns, WAIT_OUTPUT } from './wait.ts'
import { VerbFailed } from '../call.ts'

/**
 * Appends the turn. If there is no conversation with the key, creates one first: the call then needs the rights of both
 * verbs. A conversation that the caller may not see stays hidden, because creating one with the same key is allowed.
 * @throws VerbFailed
 */
async function appendTurn(caller: Caller, input: Record<string, any>): Promise<object> {
  const { conversationKey: key } = input
  try {
    return await caller.call('appendTurn', input)
  } catch (error) {
    if (!(error instanceof VerbFailed) || error.code !== 'NOT_FOUND' || key === undefined) throw error
    // The turn that it replies to may be missing instead.
    if (input.turn?.replyToId != null) throw error
  }
  await caller.call('createConversation', { key })
  return caller.call('appendTurn', input)
}

export type Tool = ToolInput & {
  title: string
  /** Tells a model what the tool does, and when to use it. */
  description: string
  right: Right
  annotations: ToolAnnotations
  /** Calls the verb in another way than once with the input. @throws VerbFailed */
  call?(caller: Caller, input: Record<string, any>, signal: AbortSignal): Promise<object>
  /** The schema of the answer, if it is not that of the verb. */
  output?: JsonSchema
  /** Returns the answer as text. */
  toText(answer: any): string
}

const READ: ToolAnnotations = { readOnlyHint: true, openWorldHint: false }
const WRITE: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, openWorldHint: false }

const ONE = { isRequired: true, description: 'Key or id of the conversation.' }
const ANY = { isRequired: false, description: 'Key or id of the conversation. Omit it for all conversations.' }

const CURSOR_BEFORE = 'Cursor `pageInfo.startCursor` of the page after the one to read. Omit it for the newest.'
const AS_OF = {
  input: 'asOf.time',
  description: 'Time: the answer is what was known then, for example "2026-03-01T09:30:00Z". Omit it for the present.',
}
const CURSOR_AFTER = 'Cursor `pageInfo.endCursor` of the page before the one to read. Omit it for the first.'

export const TOOLS: Readonly<Record<string, Tool>> = {
  get_context: {
    title: 'Get the context of a conversation',
    description:
      'Returns what a model needs to continue a conversation, within a token budget: instructions, known facts, a '
      + 'summary of older turns, and the newest turns. Use it first when you take up a conversation. Give `query` to '
      + 'include older turns about a topic.',
    verb: 'buildContext',
    right: 'read',
    annotations: READ,
    conversation: ONE,
    arguments: {
      tokenBudget: {
        input: 'tokenBudget',
        description: 'Maximum number of tokens of the messages. Defaults to the setting of the server.',
      },
      query: {
        input: 'query',
        description: 'Question or topic; the older turns that are relevant to it are quoted. 1 to 10,000 characters.',
      },
      includeFacts: {
        input: 'includeFacts',
        default: true,
        description: 'Whether to include facts from the conversation and about the people in it. Defaults to true.',
      },
      includeProfile: 'includeProfile',
      asOf: AS_OF,
    },
    // The API quotes older turns only on request.
    call: (caller, input) =>
      caller.call('buildContext', input.query == null ? input : { semanticRecall: {}, ...input }),
    toText: textOfContext,
  },
  recall: {
    title: 'Recall what was said',
    description:
      'Searches earlier turns, facts and summaries by meaning and by words, and returns the most relevant ones. Use it '
      + 'before you answer a question about something that was said, decided or learned before.',
    verb: 'recall',
    right: 'read',
    annotations: READ,
    conversation: ANY,
    arguments: {
      query: 'query',
      k: 'k',
      kinds: 'kinds',
      neighbours: 'neighbours',
      threshold: 'threshold',
      createdAfter: 'createdAfter',
      createdBefore: 'createdBefore',
      asOf: AS_OF,
      after: { input: 'after', description: CURSOR_AFTER },
    },
    // Without a conversation, the search includes all conversations that the viewer owns.
    call: (caller, input) =>
      caller.call(
        'recall',
        'conversationId' in input || 'conversationKey' in input ? input : { ...input, scope: 'OWNER' },
      ),
    toText: textOfHits,
  },
  append_turn: {
    title: 'Append a turn',
    description:
      'Writes a message into a conversation, where it is kept, and its participants see it at once. A conversation '
      + 'with a key that does not exist yet is created. Use it to record what the user said and what you answered.',
    verb: 'appendTurn',
    right: 'write',
    annotations: WRITE,
    conversation: { isRequired: true, description: 'Key or id of the conversation. A new key creates a conversation.' },
    arguments: {
      content: { input: 'turn.content', description: 'Text of the turn, in plain text or Markdown.', isRequired: true },
      role: {
        input: 'turn.role',
        default: 'ASSISTANT',
        description: 'ASSISTANT for your own words, USER for the words of a person. Defaults to ASSISTANT.',
      },
      audience: 'turn.audience',
      replyToId: 'turn.replyToId',
      metadata: 'turn.metadata',
      clientId: 'turn.clientId',
    },
    call: appendTurn,
    toText: textOfAppended,
  },
  read_history: {
    title: 'Read the history of a conversation',
    description:
      'Returns turns of a conversation word by word, oldest first. Use it to read exact words; get_context is shorter '
      + 'and includes a summary of older turns.',
    verb: 'turns',
    right: 'read',
    annotations: READ,
    conversation: ONE,
    arguments: {
      last: { input: 'last', default: 20, description: 'Maximum number of turns, the newest ones. Defaults to 20.' },
      before: { input: 'before', description: CURSOR_BEFORE },
      actors: 'filter.actors',
      createdAfter: 'filter.createdAfter',
      createdBefore: 'filter.createdBefore',
      sinceSeq: 'filter.sinceSeq',
      asOf: AS_OF,
    },
    toText: textOfHistory,
  },
  list_conversations: {
    title: 'List conversations',
    description:
      'Returns the conversations that you can see, the most recently active first, with their keys and titles. Use it '
      + 'to find the conversation to continue.',
    verb: 'conversations',
    right: 'read',
    annotations: READ,
    arguments: {
      search: 'filter.search',
      owner: 'filter.owner',
      participant: 'filter.participant',
      hasUnread: 'filter.hasUnread',
      orderBy: { input: 'orderBy', default: 'UPDATED_AT' },
      first: { input: 'first', default: 20 },
      after: { input: 'after', description: CURSOR_AFTER },
    },
    toText: textOfConversations,
  },
  wait_for_turns: {
    title: 'Wait for new turns',
    description:
      'Waits until turns are written in a conversation, and returns them. Call it again with the '
      + 'returned `lastSeq` as `afterSeq`, so that no turn is missed. Use it to take part in a live conversation.',
    verb: 'conversationEvents',
    right: 'read',
    annotations: READ,
    conversation: ONE,
    arguments: {
      afterSeq: {
        input: 'afterSeq',
        description:
          'Journal number after which turns are returned: the `lastSeq` of an earlier call, or 0 for all. Defaults to '
          + 'the newest entry, so that only later turns are returned.',
      },
    },
    ownArguments: { timeoutSeconds: TIMEOUT },
    call: waitForTurns,
    output: WAIT_OUTPUT,
    toText: textOfWait,
  },
  remember_fact: {
    title: 'Remember a fact',
    description:
      'Records a fact as subject, predicate and object, for example "ada" "prefers" "tea". It is found by recall and '
      + 'included in contexts. Use it for what stays true beyond the conversation: preferences, decisions, names.',
    verb: 'recordFacts',
    right: 'write',
    annotations: { ...WRITE, idempotentHint: true },
    conversation: { isRequired: true, description: 'Key or id of the conversation whose viewers see the fact.' },
    arguments: {
      subject: 'facts.0.subject',
      predicate: 'facts.0.predicate',
      object: 'facts.0.object',
      confidence: 'facts.0.confidence',
      sourceTurnId: 'facts.0.sourceTurnId',
      userId: {
        input: 'userId',
        description: 'Id of the user whom the fact is about. Defaults to the participant that the subject names.',
      },
    },
    toText: textOfRecorded,
  },
  list_facts: {
    title: 'List facts',
    description:
      'Returns known facts, newest first. Use it to see what is known about a person or a subject; recall finds facts '
      + 'by meaning.',
    verb: 'facts',
    right: 'read',
    annotations: READ,
    conversation: { ...ANY, at: 'filter' },
    arguments: {
      userId: 'filter.userId',
      subject: 'filter.subject',
      predicate: 'filter.predicate',
      text: 'filter.text',
      includeSuperseded: 'filter.includeSuperseded',
      asOf: AS_OF,
      first: { input: 'first', default: 50 },
      after: { input: 'after', description: CURSOR_AFTER },
    },
    toText: textOfFacts,
  },
  get_profile: {
    title: 'Get the profile of a user',
    description: 'Returns the text of what is known about a user. Use it to address a person according to it.',
    verb: 'userProfile',
    right: 'read',
    annotations: READ,
    arguments: { userId: 'userId', asOf: AS_OF },
    toText: textOfProfile,
  },
  summarise: {
    title: 'Summarise a conversation',
    description:
      'Summarises the turns that no summary covers yet, and stores the summary, which later contexts include in place '
      + 'of the turns. The turns are kept. Use it at the end of a topic or a session.',
    verb: 'summarize',
    right: 'write',
    annotations: WRITE,
    conversation: ONE,
    arguments: { through: 'through' },
    toText: textOfSummary,
  },
}
