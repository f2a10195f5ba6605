// Converts the turns of a conversation to messages of the AI SDK's `useChat`. Pure.
//
// Each turn of a person is a message. An answer of an agent is one message, too: its replies that call tools, the results,
// and the reply that follows are the steps of this message.

import type { UIMessage } from 'ai'
import type { CallApproval } from '../client/chat/chat.ts'
import type { TranscriptTurn } from '../client/index.ts'

/** The metadata of a message, from the first turn of the message. */
export type ConversationMetadata = {
  /** Name of the author. */
  actor: string
  /** Display name of the author; the name if there is none. */
  name: string
  /** Position of the turn in the conversation. */
  position: number
  /** Time at which the turn was written, ISO 8601. */
  createdAt: string
  /** Run of the agent that wrote the turn; left out for other turns. */
  runId?: string
  /** Actors who may see the turn; left out for a turn that every participant may see. */
  audience?: string[]
  /** Reason for which a turn of the message was aborted; empty if none was given. Left out for other turns. */
  abortReason?: string
}

/** A message of a conversation. Its id is that of its first turn. Its parts name their turns in `providerMetadata`. */
export type ConversationMessage = UIMessage<ConversationMetadata>
export type MessagePart = ConversationMessage['parts'][number]

export type MessageOptions = {
  /** The approvals of the tool calls. Defaults to none. */
  approvals?: readonly CallApproval[]
  /**
   * Names of the tools that the page executes. Their calls are parts of the type `tool-NAME`; all others are executed
   * by the server or another program, and have the type `dynamic-tool`. Defaults to none.
   */
  pageTools?: ReadonlySet<string>
  /** Returns the URL of an attachment. Defaults to its signed URL, which may be a path of the server. */
  fileUrl?: (attachment: { url: string }) => string
}

type ToolPart = Extract<MessagePart, { toolCallId: string }>
type TurnPart = TranscriptTurn['parts'][number]

/** Returns the id of a call in messages. Ids of calls are unique in their turns only. */
const callKey = (turnId: string, callId: string) => `${turnId}:${callId}`

/** Returns the ids that are joined in the id of a call in messages. */
export function callOf(toolCallId: string): { turnId: string; callId: string } {
  const at = toolCallId.indexOf(':')
  return { turnId: toolCallId.slice(0, at), callId: toolCallId.slice(at + 1) }
}

/** The turn of a part; undefined for the start of a step, and for parts that a page has added. */
export function turnIdOf(part: MessagePart): string | undefined {
  if ('toolCallId' in part) return callOf(part.toolCallId).turnId
  if (part.type.startsWith('data-') && 'id' in part) return part.id?.split(':')[0]
  return 'providerMetadata' in part ? (part.providerMetadata?.colloquy?.turnId as string | undefined) : undefined
}

function metadataOf(turn: TranscriptTurn): ConversationMetadata {
  const { actor, author, position, createdAt, traceId, audience } = turn
  return {
    actor,
    name: author?.displayName ?? actor,
    position,
    createdAt,
    ...(traceId?.startsWith('run_') && { runId: traceId }),
    ...(audience && { audience }),
  }
}

/** Returns the part of a call without its result. */
function toolPart(
  turn: TranscriptTurn,
  part: TurnPart & { __typename: 'ToolCallPart' },
  isPageTool: boolean,
): ToolPart {
  const { callId, name, arguments: given } = part
  const streamed = turn.live?.find((delta) => delta?.type === 'TOOL_CALL' && delta.callId === callId)
  const isComplete = turn.status !== 'STREAMING' || !streamed || streamed.isComplete
  return {
    ...(isPageTool ? { type: `tool-${name}` } : { type: 'dynamic-tool', toolName: name, providerExecuted: true }),
    toolCallId: callKey(turn.id, callId),
    ...(isComplete
      ? { state: 'input-available', input: given }
      : { state: 'input-streaming', input: undefined, rawInput: streamed.joined }),
  }
}

/** Sets the state of a call that an approval protects. */
function addApproval(part: ToolPart, { id, state, reason }: CallApproval): void {
  const given = { id, ...(reason === null ? null : { reason }) }
  if (state === 'PENDING') Object.assign(part, { state: 'approval-requested', approval: { id } })
  if (state === 'APPROVED') Object.assign(part, { state: 'approval-responded', approval: { ...given, approved: true } })
  if (state === 'DENIED') Object.assign(part, { state: 'approval-responded', approval: { ...given, approved: false } })
}

/** Adds the result of a call, or the progress of a tool that has not ended. */
function addOutput(part: ToolPart | undefined, output: unknown, isPreliminary = false): void {
  if (!part) return
  if (part.approval?.approved === false) Object.assign(part, { state: 'output-denied' })
  else Object.assign(part, { state: 'output-available', output, preliminary: isPreliminary || undefined })
}

/** Returns a part of a turn as a part of a message; null for the result of a call, which is added to its call. */
function partOf(
  turn: TranscriptTurn,
  index: number,
  { pageTools, fileUrl }: Required<Pick<MessageOptions, 'pageTools' | 'fileUrl'>>,
): MessagePart | null {
  const part = turn.parts[index]!
  const state = turn.status === 'STREAMING' && index === turn.parts.length - 1 ? 'streaming' : 'done'
  const providerMetadata = { colloquy: { turnId: turn.id, actor: turn.actor } }
  switch (part.__typename) {
    case 'TextPart':
      return { type: 'text', text: part.text, state, providerMetadata }
    case 'ReasoningPart': {
      const signed = part.signature === null ? null : { anthropic: { signature: part.signature } }
      return { type: 'reasoning', text: part.reasoning, state, providerMetadata: { ...providerMetadata, ...signed } }
    }
    case 'ToolCallPart':
      return toolPart(turn, part, pageTools.has(part.name))
    case 'ToolResultPart':
      return null
    case 'FilePart': {
      const { mediaType, fileName, attachment } = part
      const url = attachment ? fileUrl(attachment) : part.url
      return { type: 'file', url, mediaType, ...(fileName === null ? null : { filename: fileName }), providerMetadata }
    }
    case 'SourcePart': {
      const { url, title } = part
      return { type: 'source-url', sourceId: url, url, ...(title === null ? null : { title }), providerMetadata }
    }
    case 'DataPart': {
      const before = turn.parts.slice(0, index).filter(({ __typename }) => __typename === 'DataPart').length
      return { type: 'data-json', id: callKey(turn.id, `data-${before + 1}`), data: part.data }
    }
  }
}

/** Whether the turn makes a call that it does not answer itself, so that another reply follows it. */
function hasOpenCalls({ parts }: TranscriptTurn): boolean {
  const answered = new Set(parts.flatMap((part) => (part.__typename === 'ToolResultPart' ? [part.callId] : [])))
  return parts.some((part) => part.__typename === 'ToolCallPart' && !answered.has(part.callId))
}

/** Adds the results of the turn, and the progress of its tools, to the parts of their calls. */
function addOutputs({ id, parts, live = [] }: TranscriptTurn, calls: ReadonlyMap<string, ToolPart>): void {
  for (const { type, callId, joined } of live) {
    if (type === 'TOOL_PROGRESS') addOutput(calls.get(callKey(id, callId!)), joined, true)
  }
  for (const part of parts) {
    if (part.__typename === 'ToolResultPart') {
      addOutput(calls.get(callKey(part.callTurnId ?? id, part.callId)), part.result)
    }
  }
}

/**
 * A message. `isOpen`: whether a turn of it is being written. `isComplete`: whether no reply of it is open or waits for the
 * results of its calls.
 */
export type Answer = { message: ConversationMessage; isOpen: boolean; isComplete: boolean }

/** Converts turns as `toUIMessages` does. */
export function toAnswers(
  turns: readonly TranscriptTurn[],
  { approvals = [], pageTools = new Set(), fileUrl = ({ url }) => url }: MessageOptions = {},
): Answer[] {
  const approvalOf = new Map(approvals.map((each) => [callKey(each.turn.id, each.callId), each]))
  const calls = new Map<string, ToolPart>()
  /** The newest answer of each agent, and of each of its runs: a run that waits does not take in the next one. */
  const newest = new Map<string, Answer>()
  const all: Answer[] = []
  for (const turn of turns) {
    const parts = turn.parts
      .map((_, index) => partOf(turn, index, { pageTools, fileUrl }))
      .filter((part) => part !== null)
    for (const part of parts) {
      if (!('toolCallId' in part)) continue
      calls.set(part.toolCallId, part)
      const approval = approvalOf.get(part.toolCallId)
      if (approval) addApproval(part, approval)
    }
    addOutputs(turn, calls)
    const isOpen = turn.status === 'STREAMING'
    if (turn.role === 'TOOL' || (parts.length === 0 && !isOpen)) continue
    if (turn.role !== 'ASSISTANT') {
      const role = turn.role === 'USER' ? 'user' : 'system'
      all.push({ message: { id: turn.id, role, metadata: metadataOf(turn), parts }, isOpen, isComplete: !isOpen })
      continue
    }
    const ofRun = `${turn.actor} ${turn.traceId ?? ''}`
    // A newer version of a reply belongs to the answer of the older one, which another run wrote.
    let answer = newest.get(ofRun) ?? (turn.isEdited ? newest.get(turn.actor) : undefined)
    if (!answer || answer.isComplete) {
      const message: ConversationMessage = { id: turn.id, role: 'assistant', metadata: metadataOf(turn), parts: [] }
      answer = { message, isOpen, isComplete: false }
      all.push(answer)
    }
    newest.set(turn.actor, answer).set(ofRun, answer)
    answer.message.parts.push({ type: 'step-start' }, ...parts)
    if (turn.status === 'ABORTED') answer.message.metadata!.abortReason = turn.abortReason ?? ''
    answer.isOpen = isOpen
    answer.isComplete = !isOpen && !hasOpenCalls(turn)
  }
  return all
}

/**
 * Converts turns, in order of position, to messages. Leaves out results of calls that are not among the turns, and calls
 * whose arguments are not complete: `useChat` would continue to read them, instead of reading them again.
 */
export const toUIMessages = (turns: readonly TranscriptTurn[], options?: MessageOptions): ConversationMessage[] =>
  toAnswers(turns, options).map(({ message }) => ({
    ...message,
    parts: message.parts.filter((part) => !('toolCallId' in part) || part.state !== 'input-streaming'),
  }))
