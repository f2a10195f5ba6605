// What a chat page asks for: a new message, an edited one, another answer, decisions about tool calls, or their results.
// Each request changes the conversation, and returns the answers to stream.

import type { Client, ConversationVerbs, Turn, TurnInput } from '../client/index.ts'
import type { Chat } from './chat.ts'
import { callOf, toUIMessages, turnIdOf, type ConversationMessage, type MessagePart } from './messages.ts'
import type { Wanted } from './answer-stream.ts'

type RunInput = Parameters<ConversationVerbs['run']>[0]
/** The options of `conversation.run` that apply to every message. */
export type ChatRunOptions = Omit<
  RunInput,
  'turns' | 'replyTo' | 'runId' | 'supersedes' | 'clientId' | 'wait' | 'signal'
>
/** Fields of the turn of one message, given as the option `body` of `sendMessage`. */
export type ChatTurnOptions = Pick<TurnInput, 'audience' | 'replyToId' | 'metadata' | 'pinned'>

export type Requests = {
  client: Client
  chat: Chat
  run: ChatRunOptions | undefined
  pageTools: ReadonlySet<string>
  /** The turns of the messages that the page has sent, by the id of the message. */
  sent: Map<string, Pick<Turn, 'id' | 'position'>>
}

type Answered = Pick<Wanted, 'to' | 'runId' | 'includes' | 'known'>
type PartInput = NonNullable<TurnInput['parts']>[number]

/** Returns a part of a message of the page as content of a turn; null for a part that has none. */
function partInput(part: MessagePart): PartInput | null {
  if (part.type === 'text') return { text: part.text }
  if (part.type === 'file') {
    const { url, mediaType, filename } = part
    return { file: { url, mediaType, fileName: filename ?? null } }
  }
  return part.type.startsWith('data-') ? { data: (part as { data: unknown }).data } : null
}

/** Returns the content of a message of the page. @throws TypeError for a message without content */
function contentOf({ id, parts: given }: ConversationMessage): { content: string } | { parts: PartInput[] } {
  const parts = given.map(partInput).filter((part) => part !== null)
  const [first] = parts
  if (!first) throw new TypeError(`The message ${JSON.stringify(id)} has neither text, files nor data.`)
  return parts.length === 1 && 'text' in first ? { content: first.text } : { parts }
}

/** The messages of the transcript, in its present state. */
const messagesOf = ({ chat, pageTools }: Requests): ConversationMessage[] => {
  const { transcript, answering } = chat.get()
  return toUIMessages(transcript.turns, { approvals: answering?.approvals ?? [], pageTools })
}

type SentTurn = Pick<Turn, 'id' | 'position' | 'role'>

/**
 * Returns the turn of a message of a person, in its newest version, and reads the history back to it. Undefined if the
 * message was not sent.
 */
async function turnOf({ chat, sent }: Requests, message: ConversationMessage): Promise<SentTurn | undefined> {
  const position = sent.get(message.id)?.position ?? message.metadata?.position
  if (position === undefined) return undefined
  await chat.reach(position)
  return chat.get().transcript.turns.find((turn) => turn.position === position)
}

/** The position of the last message of a person among the messages; 0 if there is none. */
async function positionAnswered(requests: Requests, messages: readonly ConversationMessage[]): Promise<number> {
  const asked = messages.findLast(({ role }) => role === 'user')
  return (asked && (await turnOf(requests, asked))?.position) ?? 0
}

/** Appends a message, and starts the run of the agent, if one is configured. Repeated, it appends nothing again. */
async function sendMessage(
  requests: Requests,
  message: ConversationMessage,
  fields: ChatTurnOptions = {},
): Promise<Answered> {
  const { chat, run, sent } = requests
  const turn = { ...fields, ...contentOf(message), role: 'USER' as const, clientId: message.id }
  const { conversation } = chat
  if (!run) {
    const appended = await conversation.append(turn)
    sent.set(message.id, appended)
    return { to: appended.position }
  }
  const started = await conversation.run({ ...run, turns: [turn], clientId: message.id, wait: false })
  const [appended] = started.turns
  sent.set(message.id, appended!)
  return { to: appended!.position, runId: started.id }
}

/** The answer to the turn at the position, as a message; undefined if the transcript has none. */
const answerTo = (requests: Requests, to: number) =>
  messagesOf(requests).find(({ role, metadata }) => role === 'assistant' && metadata!.position > to)

/** Replaces an answer by another one of the same agent, whose last reply supersedes that of the answer. */
async function replaceAnswer(requests: Requests, to: number, answer: ConversationMessage): Promise<Answered> {
  const { actor, position } = answer.metadata!
  const { run, chat } = requests
  const supersedes = answer.parts.map(turnIdOf).findLast((turnId) => turnId !== undefined) ?? answer.id
  const options = run && (run.actor === undefined || run.actor === actor) ? run : {}
  const { id } = await chat.conversation.run({ ...options, actor, supersedes, wait: false })
  return {
    to,
    runId: id,
    includes: ({ metadata, parts }) =>
      metadata!.position === position && parts.every((part) => turnIdOf(part) !== supersedes),
  }
}

/** Lets an agent answer the turn at the position: that of its answer so far, or else the configured one. */
async function answerAgain(requests: Requests, turn: Pick<Turn, 'id' | 'position'>): Promise<Answered> {
  const { chat, run } = requests
  const answer = answerTo(requests, turn.position)
  if (answer) return replaceAnswer(requests, turn.position, answer)
  if (chat.get().answering?.pendingAnswers.some((expected) => expected.turn?.position === turn.position)) {
    return { to: turn.position }
  }
  const { id } = await chat.conversation.run({ ...run, replyTo: turn.id, wait: false })
  return { to: turn.position, runId: id }
}

/** Replaces the turn of a message by a newer version, and lets an agent answer it again. */
async function editMessage(requests: Requests, message: ConversationMessage): Promise<Answered> {
  const turn = await turnOf(requests, message)
  if (!turn) return sendMessage(requests, message)
  const newer = await requests.chat.conversation.edit(turn, contentOf(message))
  requests.sent.set(message.id, newer)
  return answerAgain(requests, newer)
}

/**
 * Replaces the answer with the id, or the one that followed the last message, which the page no longer has. If the last
 * message was not sent, because its request failed, it is sent now.
 */
async function regenerateAnswer(
  requests: Requests,
  messages: readonly ConversationMessage[],
  messageId: string | undefined,
): Promise<Answered> {
  const asked = messages.findLast(({ role }) => role === 'user')
  const turn = asked && (await turnOf(requests, asked))
  const answer = messagesOf(requests).find(({ id, role }) => id === messageId && role === 'assistant')
  if (answer) return replaceAnswer(requests, turn?.position ?? 0, answer)
  if (!asked) throw new TypeError('There is no message to answer.')
  return turn ? answerAgain(requests, turn) : sendMessage(requests, asked)
}

/** Returns the results of the calls in the message that the conversation waits for, by turn of the calls. */
function resultsOf(requests: Requests, message: ConversationMessage): Map<string, PartInput[]> {
  const open = new Set(
    messagesOf(requests).flatMap(({ parts }) =>
      parts.flatMap((part) => ('toolCallId' in part && part.state === 'input-available' ? [part.toolCallId] : [])),
    ),
  )
  const byTurn = new Map<string, PartInput[]>()
  for (const part of message.parts) {
    if (!('toolCallId' in part) || !open.has(part.toolCallId)) continue
    if (part.state !== 'output-available' && part.state !== 'output-error') continue
    const { turnId, callId } = callOf(part.toolCallId)
    const name = part.type === 'dynamic-tool' ? part.toolName : part.type.slice('tool-'.length)
    const result = part.state === 'output-available' ? (part.output ?? null) : { error: part.errorText }
    const toolResult = { callId, name, result, callTurnId: turnId }
    byTurn.set(turnId, [...(byTurn.get(turnId) ?? []), { toolResult }])
  }
  return byTurn
}

/** Sends the decisions about the calls of an answer and the results of its calls, and continues the answer. */
async function continueAnswer(requests: Requests, messages: readonly ConversationMessage[]): Promise<Answered> {
  const { client, chat } = requests
  const message = messages.at(-1)!
  for (const part of message.parts) {
    if (!('toolCallId' in part) || part.state !== 'approval-responded') continue
    const { id, approved, reason } = part.approval
    await client.resolveApproval(id, approved ? 'APPROVE' : 'DENY', { reason: reason ?? null })
  }
  const waiting = chat.get().answering?.pendingAnswers ?? []
  for (const [turnId, parts] of resultsOf(requests, message)) {
    const turn = { role: 'TOOL' as const, parts }
    const run = waiting.find(({ run }) => run?.replies.some(({ id }) => id === turnId))?.run
    if (run) await chat.conversation.run({ runId: run.id, turns: [turn], wait: false })
    else await chat.conversation.append(turn)
  }
  return { to: await positionAnswered(requests, messages), known: message }
}

/** Maximum number of sent messages of a chat whose turns are kept. The oldest is dropped. */
const MAX_SENT = 1_000

/** A request of `useChat`; see ChatTransport of the AI SDK. */
type Request = {
  trigger: 'submit-message' | 'regenerate-message'
  messageId: string | undefined
  messages: readonly ConversationMessage[]
  body?: object
}

/** Does what the page requests, and returns the answers to stream. @throws ColloquyError @throws TypeError */
export async function request(requests: Requests, { trigger, messageId, messages, body }: Request): Promise<Answered> {
  const { sent } = requests
  if (sent.size >= MAX_SENT) sent.delete(sent.keys().next().value!)
  if (trigger === 'regenerate-message') return regenerateAnswer(requests, messages, messageId)
  const last = messages.at(-1)
  if (!last) throw new TypeError('There is no message to send.')
  if (last.role === 'assistant') return continueAnswer(requests, messages)
  return messageId === undefined ? sendMessage(requests, last, body) : editMessage(requests, last)
}
