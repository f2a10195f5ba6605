// Which answers to a turn a chat shows, which are expected, and whether they have ended. Pure.

import type { TranscriptTurn } from '../index.ts'
import type { Answering, ChatAnswer, ChatRun, ChatState } from './chat.ts'

/** The turns whose answers are asked for. */
export type Asked = {
  /** Position of the first of the turns. */
  to: number
  /** Positions of the others. Defaults to none. */
  others?: readonly number[]
  /** Agent that is asked, whatever it answers first. Defaults to none: to all who are expected to answer the turns. */
  agent?: string
  /** Run that was started for the answer, if any. */
  runId?: string
  /** Whether only this run is expected to answer. Defaults to false. */
  isOneRun?: boolean
}

export type Answers = {
  /** The turns of agents after the position, without answers to what other people have written there. */
  turns: TranscriptTurn[]
  /** The answers of agents that are expected and do not wait. */
  busy: ChatAnswer[]
  /** The answers that wait for the results of tools, or for a decision. */
  waiting: ChatAnswer[]
  /** Whether no answer is expected or being written, and the transcript is as new as the expected answers. */
  isDone: boolean
}

/** Whether the answer waits for the results of tools, or for a decision. A run with all decisions is about to continue. */
function waits({ run }: ChatAnswer, { approvals }: Answering): boolean {
  if (run?.state !== 'WAITING_FOR_APPROVAL') return run?.state === 'WAITING_FOR_TOOLS'
  return approvals.some(({ state, turn }) => state === 'PENDING' && run.replies.some(({ id }) => id === turn.id))
}

/** Whether the transcript has every turn after the position `to` in the state in which the server has it. */
function isCurrent({ transcript }: ChatState, { turns }: Answering, to: number): boolean {
  const statuses = new Map(transcript.turns.map(({ id, status }) => [id, status]))
  const after = turns.filter(({ position, status }) => position > to && status !== 'STREAMING')
  return after.every(({ id, status }) => statuses.get(id) === status)
}

/**
 * The turns of agents after the position, without answers to what other people have written there, and answers to these.
 */
function repliesAfter({ turns, viewer }: ChatState['transcript'], to: number): TranscriptTurn[] {
  const others = new Set<string>()
  return turns.filter(({ id, position, role, actor, replyTo }) => {
    if (position <= to) return false
    const isOfOthers = (role === 'USER' && actor !== viewer) || (replyTo !== null && others.has(replyTo.id))
    if (isOfOthers) others.add(id)
    return role !== 'USER' && !isOfOthers
  })
}

/** Returns the answers in the state. */
export function answersIn(state: ChatState, { to, others = [], agent, runId, isOneRun }: Asked): Answers {
  const { transcript, answering } = state
  const turns = repliesAfter(transcript, to)
  const positions = new Set(isOneRun ? [] : [to, ...others, ...turns.map(({ position }) => position)])
  const expected = (answering?.pendingAnswers ?? []).filter(
    ({ turn, run }) => (run && (run.id === runId || run.actor === agent)) || (turn && positions.has(turn.position)),
  )
  const waiting = expected.filter((answer) => waits(answer, answering!))
  // A person may take hours.
  const busy = expected.filter((answer) => answer.participant?.kind !== 'HUMAN' && !waiting.includes(answer))
  return { turns, busy, waiting, isDone: answering !== null && busy.length === 0 && isCurrent(state, answering, to) }
}

/** Returns the newest run of each agent that answers the turn at the position, or only the run with the id. */
export function newestRuns({ runs }: Answering, { to, runId }: Asked): ChatRun[] {
  const own = runs.filter(({ id, replyTo }) => (runId === undefined ? replyTo?.position === to : id === runId))
  return [...new Map(own.toReversed().map((run) => [run.actor, run])).values()]
}
