// How a run ends, and what must be done before an agent can answer. Pure.

import type { Answers, Asked } from '../../client/chat/answers.ts'
import type { Answering, ChatAnswer, ChatRun, ChatState } from '../../client/chat/chat.ts'
import type { TranscriptTurn } from '../../client/index.ts'
import { callKey } from './pieces.ts'
import type { Interrupt, Outcome } from './protocol.ts'

/** The form of the answer to an interrupt. */
const DECISION = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
}

/** Whether the answer is one to the viewer, so that its pages execute the tools and ask for the decisions. */
const isTo = (viewer: string, { turn, run }: ChatAnswer): boolean => turn?.actor === viewer || run?.startedBy === viewer

/** The runs that have failed or were cancelled. */
export const endedRuns = ({ runs }: Answering): Set<string> =>
  new Set(runs.flatMap(({ id, state }) => (state === 'FAILED' || state === 'CANCELLED' ? [id] : [])))

/** The turn that an agent is to answer. `endedBefore`: the runs that had ended before the client asked, perhaps again. */
export type Question = { agent: string; viewer: string; position: number; endedBefore: ReadonlySet<string> }

/** Whether the agent has answered the turn, or a run of it does. */
function isAnswered({ transcript, answering }: ChatState, { agent, position, endedBefore }: Question): boolean {
  const positions = new Map(transcript.turns.map((turn) => [turn.id, turn.position]))
  const isAnswer = (turn: TranscriptTurn) =>
    turn.actor === agent
    && turn.role === 'ASSISTANT'
    && turn.status !== 'ABORTED'
    && turn.position > position
    && (turn.replyTo === null || (positions.get(turn.replyTo.id) ?? 0) >= position)
  const isRun = ({ id, actor, state, replyTo }: ChatRun) =>
    actor === agent && (replyTo?.position ?? -1) >= position && (state === 'COMPLETED' || !endedBefore.has(id))
  return transcript.turns.some(isAnswer) || answering!.runs.some(isRun)
}

/** What is done for a question: the agent is asked, after a run that waits for tools of the viewer was cancelled. */
export type Action = { do: 'ask'; turn: TranscriptTurn; attempt: number } | { do: 'cancel'; runId: string }

/** Returns what is done next; null if the question is answered or will be, or the agent waits for somebody. */
export function nextAction(state: ChatState, question: Question): Action | null {
  const { transcript, answering } = state
  const turn = transcript.turns.find(({ position }) => position === question.position)
  if (!answering || !turn || isAnswered(state, question)) return null
  const active = answering.pendingAnswers.find(({ run }) => run?.actor === question.agent)
  if (!active) {
    const attempt = answering.runs.filter(({ replyTo }) => replyTo?.position === question.position).length
    return { do: 'ask', turn, attempt }
  }
  const { id, state: waitsFor, startedBy } = active.run!
  // The person goes on without the result.
  return waitsFor === 'WAITING_FOR_TOOLS' && startedBy === question.viewer ? { do: 'cancel', runId: id } : null
}

/** Returns the tool calls that wait for results of the viewer, in order. */
export function waitingCalls({ transcript }: ChatState, { waiting }: Answers, viewer: string): Set<string> {
  const own = waiting.filter((answer) => isTo(viewer, answer) && answer.run?.state === 'WAITING_FOR_TOOLS')
  const replies = new Set(own.flatMap(({ run }) => run!.replies.map(({ id }) => id)))
  const calls = new Set<string>()
  for (const { id, parts } of transcript.turns) {
    for (const part of parts) {
      if (part.__typename === 'ToolCallPart' && replies.has(id)) calls.add(callKey(id, part.callId))
      if (part.__typename === 'ToolResultPart') calls.delete(callKey(part.callTurnId ?? id, part.callId))
    }
  }
  return calls
}

/** Returns the decisions that answers to the viewer wait for. */
function interruptsOf({ transcript, answering }: ChatState, { waiting }: Answers, viewer: string): Interrupt[] {
  const own = waiting.filter((answer) => isTo(viewer, answer))
  const replies = new Set(own.flatMap(({ run }) => run?.replies.map(({ id }) => id) ?? []))
  const pending = answering!.approvals.filter(({ state, turn }) => state === 'PENDING' && replies.has(turn.id))
  const unique = [...new Map(pending.map((approval) => [approval.id, approval])).values()]
  return unique.map(({ id, callId, turn }) => {
    const { parts = [] } = transcript.turns.find((each) => each.id === turn.id) ?? {}
    const call = parts.find((part) => part.__typename === 'ToolCallPart' && part.callId === callId)
    const name = call?.__typename === 'ToolCallPart' ? call.name : callId
    const message = `Approve the call of ${name}?`
    return { id, reason: 'tool_call', message, toolCallId: callKey(turn.id, callId), responseSchema: DECISION }
  })
}

/** Returns the newest run of each agent that was asked and has begun since. */
function newRuns({ runs }: Answering, { to }: Asked, endedBefore: ReadonlySet<string>): ChatRun[] {
  const own = runs.filter(({ id, replyTo }) => replyTo && replyTo.position >= to && !endedBefore.has(id))
  return [...new Map(own.toReversed().map((run) => [run.actor, run])).values()]
}

type Failure = { type: 'error'; code: string; message: string }

/** Returns why the question stays open: the agent waits for somebody else. Null if it does not. */
function blockedBy(state: ChatState, { waiting }: Answers, question: Question | null): Failure | null {
  if (!question || isAnswered(state, question)) return null
  const run = waiting.find((answer) => answer.run?.actor === question.agent)?.run
  if (!run) return null
  const awaited = run.state === 'WAITING_FOR_TOOLS' ? 'the result of a tool' : 'a decision about a tool call'
  const message = `${run.actor} waits for ${awaited} in a run that ${run.startedBy} started. Run again later.`
  return { type: 'error', code: 'CONFLICT', message }
}

/** Returns how the run ends, or why it failed. @param question the turn that an agent was asked to answer, if any */
export function outcomeOf(
  state: ChatState,
  { asked, answers, viewer }: { asked: Asked; answers: Answers; viewer: string },
  { question, endedBefore }: { question: Question | null; endedBefore: ReadonlySet<string> },
): Outcome | Failure {
  const interrupts = interruptsOf(state, answers, viewer)
  if (interrupts.length > 0) return { type: 'interrupt', interrupts }
  const runs = newRuns(state.answering!, asked, endedBefore)
  const failed = runs.find((run) => run.state === 'FAILED')
  if (failed) return { type: 'error', code: 'RUN_FAILED', message: failed.error?.message ?? 'The run failed.' }
  const blocked = blockedBy(state, answers, question)
  if (blocked) return blocked
  if (runs.length > 0 && runs.every((run) => run.state === 'CANCELLED')) return { type: 'cancelled' }
  const pendingToolCallIds = [...waitingCalls(state, answers, viewer)]
  return { type: 'success', ...(pendingToolCallIds.length > 0 && { pendingToolCallIds }) }
}
