// Does what the input of a run asks for: changes shared state, decides about tool calls, returns the results of tools, and
// appends messages. Each part can be repeated: a client that lost the answer sends the same input again.

import { ColloquyError, type TranscriptTurn } from '../../client/index.ts'
import type { Asked } from '../../client/chat/answers.ts'
import type { Chat } from '../../client/chat/chat.ts'
import { filePart } from '../../client/chat/files.ts'
import { InvalidInput } from '../../errors.ts'
import { isJsonObject } from '../../domain/kernel/merge-patch.ts'
import {
  newResultsOf,
  newTurnsOf,
  type GivenResult,
  type NewTurn,
  type PartInput,
  type ResumeEntry,
  type RunInput,
} from './input.ts'
import { callKey, isOfServer, MESSAGE_ID } from './pieces.ts'
import type { AguiEvent } from './protocol.ts'
import { editsOf } from './state.ts'
import type { Thread } from './thread.ts'

/** Maximum number of new messages in one input. */
const MAX_NEW = 100

const isNotAllowed = (error: unknown) => error instanceof ColloquyError && error.code === 'NOT_ALLOWED'
const isConflict = (error: unknown) => error instanceof ColloquyError && error.code === 'CONFLICT'

/** The event that tells the client that a value of its state was not written, and why. */
const stateRefused = (
  key: string,
  value: unknown,
  { code, message }: { code: string; message: string },
): AguiEvent => ({ type: 'CUSTOM', name: 'stateRefused', value: { key, value, code, message } })

const STALE = { code: 'CONFLICT', message: 'The key has another value than the one that was changed.' }

/** Writes the values of the state that the client has changed. Returns the events about those that were refused. */
async function writeState(
  { chat, states, viewer }: Thread,
  { state, messages }: RunInput,
  known: ReadonlySet<string>,
): Promise<AguiEvent[]> {
  const hasReceived = messages.some(({ id }) => isOfServer(id) || known.has(id))
  const { edits, stale } = editsOf(state, states.get().value ?? [], { viewer, hasReceived })
  const refused = stale.map(({ key, value }) => stateRefused(key, value, STALE))
  for (const { key, value, expectedVersion } of edits) {
    try {
      await chat.conversation.updateSharedState({ key, value, expectedVersion })
    } catch (error) {
      if (!(error instanceof ColloquyError) || error.isRetryable) throw error
      refused.push(stateRefused(key, value, error))
    }
  }
  return refused
}

/** Returns the decision of an answer to an interrupt: only an explicit approval approves the call. @internal */
export function decisionOf({ status, payload }: ResumeEntry): { decision: 'APPROVE' | 'DENY'; reason: string | null } {
  const { approved, reason } = isJsonObject(payload) ? payload : { approved: payload, reason: null }
  if (status === 'resolved' && approved === true) return { decision: 'APPROVE', reason: null }
  if (status === 'cancelled') return { decision: 'DENY', reason: 'The client cancelled the request for approval.' }
  return { decision: 'DENY', reason: typeof reason === 'string' ? reason : null }
}

/** Decides about the pending approvals that the client has answered. Others are ignored, as the protocol demands. */
async function decide({ client, chat }: Thread, entries: readonly ResumeEntry[]): Promise<void> {
  const pending = new Set(chat.get().answering!.approvals.flatMap(({ id, state }) => (state === 'PENDING' ? [id] : [])))
  for (const entry of entries) {
    if (!pending.has(entry.interruptId)) continue
    const { decision, reason } = decisionOf(entry)
    await client.resolveApproval(entry.interruptId, decision, { reason }).catch((error: unknown) => {
      // Somebody else has decided meanwhile.
      if (!isConflict(error)) throw error
    })
  }
}

type ToolTurn = { role: 'TOOL'; clientId: string; metadata: { messageId: string }; parts: PartInput[] }

/** Writes the results of the calls that wait for them, and continues their runs. */
async function returnResults({ chat }: Thread, results: readonly GivenResult[]): Promise<void> {
  const { transcript, answering } = chat.get()
  const calls = new Map<string, string>()
  const answered = new Set<string>()
  for (const { id, parts } of transcript.turns) {
    for (const part of parts) {
      if (part.__typename === 'ToolCallPart') calls.set(callKey(id, part.callId), part.name)
      if (part.__typename === 'ToolResultPart') answered.add(callKey(part.callTurnId ?? id, part.callId))
    }
  }
  const byRun = new Map<string | null, ToolTurn[]>()
  for (const { messageId, turnId, callId, result } of results) {
    const key = callKey(turnId, callId)
    const name = calls.get(key)
    if (name === undefined || answered.has(key)) continue
    const toolResult = { callId, name, result, callTurnId: turnId }
    const turn = { role: 'TOOL' as const, clientId: messageId, metadata: { messageId }, parts: [{ toolResult }] }
    const waiting = answering!.pendingAnswers.find(({ run }) => run?.replies.some(({ id }) => id === turnId))
    const runId = waiting?.run?.id ?? null
    byRun.set(runId, [...(byRun.get(runId) ?? []), turn])
  }
  for (const [runId, turns] of byRun) {
    try {
      if (runId !== null) await chat.conversation.run({ runId, turns, wait: false })
      else for (const turn of turns) await chat.conversation.append(turn)
    } catch (error) {
      // The run was cancelled, another client has returned the result, or the run is one of somebody else.
      if (!isConflict(error) && !isNotAllowed(error)) throw error
    }
  }
}

/** Returns the parts of a message, whose files are uploaded. */
const partsOf = ({ conversation }: Chat, id: string, parts: readonly PartInput[]): Promise<PartInput[]> =>
  Promise.all(
    parts.map(async (part, index) => {
      if (!('file' in part) || !part.file) return part
      const { url, mediaType, fileName } = part.file
      return filePart(conversation, { url: url!, mediaType: mediaType!, fileName: fileName ?? null }, `${id}:${index}`)
    }),
  )

/** Appends the new messages. Returns the positions of the turns, and of those that the conversation had already. */
async function appendAll({ chat }: Thread, turns: readonly NewTurn[]): Promise<Map<string, number>> {
  const positions = new Map<string, number>()
  for (const turn of turns) {
    try {
      const parts = turn.parts && (await partsOf(chat, turn.clientId, turn.parts))
      positions.set(turn.clientId, (await chat.conversation.append({ ...turn, ...(parts && { parts }) })).position)
    } catch (error) {
      // The conversation has a turn with the id of the message, whose content was changed since.
      if (!isConflict(error)) throw error
    }
  }
  return positions
}

/** What the input asks for. `question` is the position of the turn that is to be answered; null if there is none. */
export type Request = { asked: Asked; question: number | null; events: AguiEvent[] }

/** Returns the position of the first turn of the viewer that waits for an answer, or else of its newest one. */
function toResume({ chat, viewer }: Thread): number {
  const { transcript, answering } = chat.get()
  const own = transcript.turns.findLast(({ actor, role }) => actor === viewer && role === 'USER')
  const asked = answering!.pendingAnswers.flatMap(({ turn }) => (turn?.actor === viewer ? [turn.position] : []))
  return Math.min(own?.position ?? transcript.lastSeq, ...asked)
}

/** Returns the position of the newest message that a page of the viewer has sent; null if there is none. */
function newestSent({ chat, viewer }: Thread): number | null {
  const isSent = ({ actor, role, metadata }: TranscriptTurn) =>
    actor === viewer && role === 'USER' && isJsonObject(metadata) && typeof metadata[MESSAGE_ID] === 'string'
  return chat.get().transcript.turns.findLast(isSent)?.position ?? null
}

/** Does what the input asks for. @throws InvalidInput, before anything is written @throws ColloquyError */
export async function request(thread: Thread, input: RunInput): Promise<Request> {
  const { chat, agent } = thread
  const { messages, resume } = input
  const { lastSeq } = chat.get().transcript
  const known = new Map(thread.shown().pieces.map(({ messageId, position }) => [messageId, position]))
  const ids = new Set(known.keys())
  const turns = newTurnsOf(messages, ids)
  if (turns.length > MAX_NEW) throw InvalidInput.at('messages', `has ${turns.length} new messages; at most ${MAX_NEW}`)
  const results = newResultsOf(messages, ids)
  const events = await writeState(thread, input, ids)
  await decide(thread, resume)
  await returnResults(thread, results)
  const positions = await appendAll(thread, turns)
  await chat.refresh()
  const [to = toResume(thread), ...others] = [...positions.values()].filter((position) => position > lastSeq)
  const last = messages.at(-1)
  const isContinued = resume.length > 0 || results.length > 0
  const question = isContinued
    ? newestSent(thread)
    : (last?.role === 'user' && (positions.get(last.id) ?? known.get(last.id))) || null
  return { asked: { to, others, ...(agent !== null && { agent }) }, question, events }
}
