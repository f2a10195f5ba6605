// What a chat page asks for: a new message, an edited one, another answer, decisions about tool calls, or their results.
// Each request changes the conversation, and returns the answers to stream.

import type { Client, ConversationVerbs, Turn, TurnInput } from '../client/index.ts'
import type { Chat } from '../client/chat/chat.ts'
import { filePart } from '../client/chat/files.ts'
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
  /** The fields of messages whose request has failed or runs, by the id of the message. */
  unsent: Map<string, ChatTurnOptions>
}

type Answered = Pick<Wanted, 'to' | 'runId' | 'isOneRun' | 'includes' | 'known'>
type PartInput = NonNullable<TurnInput['parts']>[number]

/**
 * Returns a part of a message of the page as content of a turn; null for a part that has none. The file of a data URL is
 * uploaded. `key` identifies the part in all messages.
 */
async function partInput(requests: Requests, part: MessagePart, key: string): Promise<PartInput | null> {
  if (part.type === 'text') return { text: part.text }
  if (part.type === 'file') {
    const { url, mediaType, filename } = part
    // An edited message may have another file in this place.
    return filePart(requests.chat.conversation, { url, mediaType, fileName: filename }, `${key}:${url.length}`)
  }
  return part.type.startsWith('data-') ? { data: (part as { data: unknown }).data } : null
}

/** Returns the content of a message of the page. @throws TypeError for a message without content */
async function contentOf(
  requests: Requests,
  { id, parts: given }: ConversationMessage,
): Promise<{ content: string } | { parts: PartInput[] }> {
  const inputs = await Promise.all(given.map((part, index) => partInput(requests, part, `${id}:${index}`)))
  const parts = inputs.filter((part) => part !== null)
  const [first] = parts
  if (!first) throw new TypeError(`The message ${JSON.stringify(id)} has neither text, files nor data.`)
  return parts.length === 1 && 'text' in first ? { content: first.text } : { parts }
}

/** The messages of the transcript, in its present state. */
const messagesOf = ({ client, chat, pageTools }: Requests): ConversationMessage[] => {
  const { transcript, answering } = chat.get()
  return toUIMessages(transcript.turns, { approvals: answering?.approvals ?? [], pageTools, fileUrl: client.fileUrl })
}

type SentTurn = Pick<Turn, 'id' | 'position' | 'role'>

/** The prefix of the ids of turns. */
const TURN = 'turn_'

/**
 * Returns the turn of a message of a person, in its newest version, and reads the history back to it. Undefined if the
 * message was not sent.
 */
async function turnOf({ client, chat, sent }: Requests, { id }: ConversationMessage): Promise<SentTurn | undefined> {
  let position = sent.get(id)?.position
  if (position === undefined && id.startsWith(TURN)) {
    // The message is one of the conversation: the page has loaded it.
    const read = 'query Position($ids: [ID!]!, $as: String) { nodes(ids: $ids, as: $as) { ... on Turn { position } } }'
    const { nodes } = await client.request(read, { ids: [id], as: client.as })
    position = nodes[0]?.position as number | undefined
  }
  if (position === undefined) return undefined
  await chat.reach(position)
  return chat.get().transcript.turns.find((turn) => turn.position === position)
}

/** The position of the last message of a person among the messages; 0 if there is none. */
async function positionAnswered(requests: Requests, messages: readonly ConversationMessage[]): Promise<number> {
  const asked = messages.findLast(({ role }) => role === 'user')
  return (asked && (await turnOf(requests, asked))?.position) ?? 0
}

/** Maximum number of messages of a chat about which something is kept. The oldest is dropped. */
const MAX_KEPT = 1_000

/** Makes space for another entry. */
function bound<Value>(kept: Map<string, Value>): Map<string, Value> {
  if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value!)
  return kept
}

/** Appends a message, and starts the run of the agent, if one is configured. Repeated, it appends nothing again. */
async function sendMessage(
  requests: Requests,
  message: ConversationMessage,
  fields: ChatTurnOptions = {},
): Promise<Answered> {
  const { chat, run, sent, unsent } = requests
  const { conversation } = chat
  // Sent again after a failure, the message has the same audience.
  const given = { ...unsent.get(message.id), ...fields }
  bound(unsent).set(message.id, given)
  const turn = { ...given, ...(await contentOf(requests, message)), role: 'USER' as const, clientId: message.id }
  const started = run && (await conversation.run({ ...run, turns: [turn], clientId: message.id, wait: false }))
  const appended = started ? started.turns[0]! : await conversation.append(turn)
  unsent.delete(message.id)
  bound(sent).set(message.id, appended)
  return { to: appended.position, ...(started && { runId: started.id }) }
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
    isOneRun: true,
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
async function editMessage(
  requests: Requests,
  message: ConversationMessage,
  fields?: ChatTurnOptions,
): Promise<Answered> {
  const turn = await turnOf(requests, message)
  if (!turn) return sendMessage(requests, message, fields)
  const newer = await requests.chat.conversation.edit(turn, await contentOf(requests, message))
  bound(requests.sent).set(message.id, newer)
  return answerAgain(requests, newer)
}

/**
 * Replaces the answer with the id, or the one that followed the last message, which the page no longer has. If the last
 * message was not sent, because its request failed, it is sent now.
 */
async function regenerateAnswer(requests: Requests, { messages, messageId, body }: Request): Promise<Answered> {
  const asked = messages.findLast(({ role }) => role === 'user')
  const turn = asked && (await turnOf(requests, asked))
  const answer = messagesOf(requests).find(({ id, role }) => id === messageId && role === 'assistant')
  if (answer) return replaceAnswer(requests, turn?.position ?? 0, answer)
  if (!asked) throw new TypeError('There is no message to answer.')
  return turn ? answerAgain(requests, turn) : sendMessage(requests, asked, body)
}

/** Whether the message has a call of the turn. */
const isOfTurn = ({ parts }: ConversationMessage, turnId: string) =>
  parts.some((part) => 'toolCallId' in part && callOf(part.toolCallId).turnId === turnId)

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

/**
 * Sends the decisions about the calls of an answer and the results of its calls, and continues the answer.
 * @throws TypeError if the conversation waits for none of them
 */
async function continueAnswer(
  requests: Requests,
  messages: readonly ConversationMessage[],
  message: ConversationMessage,
): Promise<Answered> {
  const { client, chat } = requests
  const { pendingAnswers, approvals } = chat.get().answering!
  const undecided = new Set(approvals.flatMap(({ id, state }) => (state === 'PENDING' ? [id] : [])))
  let isAwaited = pendingAnswers.some(({ run }) => run?.replies.some(({ id }) => isOfTurn(message, id)))
  for (const part of message.parts) {
    if (!('toolCallId' in part) || part.state !== 'approval-responded' || !undecided.has(part.approval.id)) continue
    const { id, approved, reason } = part.approval
    await client.resolveApproval(id, approved ? 'APPROVE' : 'DENY', { reason: reason ?? null })
    isAwaited = true
  }
  for (const [turnId, parts] of resultsOf(requests, message)) {
    const turn = { role: 'TOOL' as const, parts }
    const run = pendingAnswers.find(({ run }) => run?.replies.some(({ id }) => id === turnId))?.run
    if (run) await chat.conversation.run({ runId: run.id, turns: [turn], wait: false })
    else await chat.conversation.append(turn)
    isAwaited = true
  }
  // The page would send the same again and again.
  if (!isAwaited) throw new TypeError('The answer does not wait any more: it has ended or was cancelled.')
  const { position } = message.metadata ?? { position: 0 }
  const to = await positionAnswered(requests, messages.slice(0, messages.indexOf(message)))
  return { to, known: message, includes: ({ metadata }) => metadata!.position >= position }
}

/** A request of `useChat`; see ChatTransport of the AI SDK. */
type Request = {
  trigger: 'submit-message' | 'regenerate-message'
  messageId: string | undefined
  messages: readonly ConversationMessage[]
  body?: object
}

/** Does what the page requests, and returns the answers to stream. @throws ColloquyError @throws TypeError */
export async function request(requests: Requests, { trigger, messageId, messages, body }: Request): Promise<Answered> {
  if (trigger === 'regenerate-message') return regenerateAnswer(requests, { trigger, messageId, messages, body })
  const last = messages.at(-1)
  if (!last) throw new TypeError('There is no message to send.')
  const named = messages.find(({ id }) => id === messageId) ?? last
  if (named.role === 'assistant') return continueAnswer(requests, messages, named)
  return messageId === undefined ? sendMessage(requests, last, body) : editMessage(requests, named, body)
}
