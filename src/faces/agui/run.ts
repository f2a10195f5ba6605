// One AG-UI run: does what its input asks for, and yields the events that show the conversation, until nobody is expected
// to answer any more. Whoever answers goes on if the client disconnects; the next run shows it.

import { answersIn, type Answers } from '../../client/chat/answers.ts'
import { changesOf, requireReadable, type ChatState } from '../../client/chat/chat.ts'
import { connect, type Live } from '../../client/index.ts'
import { VerbFailed } from '../call.ts'
import { askAgent } from './agent.ts'
import { isInstruction, type RunInput } from './input.ts'
import { createMessageEvents } from './message-events.ts'
import { endedRuns, nextAction, outcomeOf, waitingCalls, type Question } from './outcome.ts'
import { isOfServer } from './pieces.ts'
import { PROTOCOL_VERSION, type AguiEvent, type Message } from './protocol.ts'
import { request, type Request } from './requests.ts'
import { createStateEvents } from './state.ts'
import { openThread, type Thread } from './thread.ts'

/** Interval at which a run looks whether it is idle, ms. */
const LOOK_MS = 1_000
/** Time without any change after which a run ends although an answer is expected, ms. A running agent has no limit. */
const IDLE_MS = 60_000

/** Time for which an operation is repeated that the server refuses for a moment, ms. */
const RETRY_FOR_MS = 10_000

export type RunOptions = {
  /** URL of the GraphQL endpoint, beside which the files are, as the client of the face sees it. */
  url: string
  /** Sends the operations of the run to the server, as the viewer. */
  fetch: typeof fetch
  /** Agent that answers; null for the participants whom a message wakes up. */
  agent: string | null
  /** Actor for whom the run reads and writes; null for the viewer. */
  as: string | null
}

/** Maximum number of actions of one run for its question. Others may ask the agent at the same time, and be first. */
const MAX_ACTIONS = 10
const UNANSWERED = 'The agent was asked by others each time before it could answer. Run again.'

/** A run whose request has been carried out. */
export type OpenRun = {
  /** Yields the events. Must be called, and read to its end or cancelled. */
  events(signal: AbortSignal): AsyncGenerator<AguiEvent, void>
}

/**
 * Opens the thread, and does what the input asks for. Nothing is sent before, so that a refused input is no run.
 * @throws ColloquyError @throws InvalidInput
 */
export async function openRun(input: RunInput, { url, fetch, agent, as }: RunOptions): Promise<OpenRun> {
  const client = connect({
    url,
    fetch,
    webSocket: null,
    retryForMs: RETRY_FOR_MS,
    // Each failure ends the run, which reports it.
    onError: () => {},
    // A client names another actor in its operations only if it has a token.
    ...(as !== null && { token: '', actor: as }),
  })
  let thread: Thread | undefined
  try {
    const newest = input.messages.map(({ id }) => id)
    thread = await openThread(client, { threadId: input.threadId, agent, newest })
    const endedBefore = endedRuns(thread.chat.get().answering!)
    const run = { thread, input, request: await request(thread, input), endedBefore }
    return { events: (signal) => runEvents(run, signal) }
  } catch (error) {
    thread?.release()
    await client.close()
    throw error
  }
}

type Run = { thread: Thread; input: RunInput; request: Request; endedBefore: ReadonlySet<string> }

/**
 * Returns the messages of the client that a snapshot keeps besides those of the conversation: its instructions, a greeting
 * of the application, and messages from before the first one that is shown.
 */
function keptOf({ messages }: RunInput, hasOlder: boolean) {
  return (shown: readonly Message[]) => {
    const ids = new Set(shown.map(({ id }) => id))
    const found = messages.findIndex(({ id }) => ids.has(id))
    const first = found < 0 ? messages.length : found
    return messages.filter((message, index) => {
      if (ids.has(message.id)) return false
      const isGreeting = message.role === 'assistant' && !isOfServer(message.id)
      return isInstruction(message) || (index < first && (hasOlder || isGreeting))
    })
  }
}

/** Returns the events that show the messages, of which the client has some already. */
function createMessages({ chat, viewer }: Thread, input: RunInput, { asked }: Request) {
  const state = chat.get()
  // A client executes its tools when it receives the events of their calls.
  const waiting = waitingCalls(state, answersIn(state, asked), viewer)
  return createMessageEvents(
    input.messages,
    keptOf(input, state.transcript.hasOlder),
    (piece) => piece.kind === 'call' && waiting.has(piece.toolCallId),
  )
}

/** Returns the events of steps: an agent is a step while it runs. */
function createSteps() {
  const open = new Set<string>()
  return (names: ReadonlySet<string>): AguiEvent[] => {
    const ended = [...open].filter((name) => !names.has(name))
    const started = [...names].filter((name) => !open.has(name))
    for (const name of ended) open.delete(name)
    for (const name of started) open.add(name)
    return [
      ...ended.map((stepName): AguiEvent => ({ type: 'STEP_FINISHED', stepName })),
      ...started.map((stepName): AguiEvent => ({ type: 'STEP_STARTED', stepName })),
    ]
  }
}

/** Returns the function that returns the events of what has changed since its last call. */
function createView({ thread, input, request: asked }: Run) {
  const messages = createMessages(thread, input, asked)
  const stateEvents = createStateEvents()
  let seen: ChatState['transcript'] | null = null
  return {
    /** Time of the newest change, ms since 1970. */
    changedAt: Date.now(),
    next({ transcript }: ChatState): AguiEvent[] {
      const isChanged = transcript !== seen
      seen = transcript
      if (isChanged) this.changedAt = Date.now()
      const { pieces, from } = isChanged ? thread.shown() : { pieces: [], from: 0 }
      return [...(isChanged ? messages.next(pieces, from) : []), ...stateEvents(thread.states.get().value ?? [])]
    },
    end: messages.end,
  }
}

/** Whether nobody is about to answer, or nothing has changed for a long time. */
function isOver({ answering }: ChatState, { turns, busy, isDone }: Answers, changedAt: number): boolean {
  const isOpen = turns.some(({ status }) => status === 'STREAMING')
  const isIdle = Date.now() - changedAt > IDLE_MS && busy.every(({ run }) => run?.state !== 'RUNNING')
  return answering !== null && ((isDone && !isOpen) || isIdle)
}

/** Returns what notifies of the changes of both values. */
const eitherOf = (one: Live<unknown>, other: Live<unknown>): Pick<Live<unknown>, 'subscribe'> => ({
  subscribe(listener) {
    const removers = [one.subscribe(listener), other.subscribe(listener)]
    return () => removers.forEach((remove) => remove())
  },
})

/** Returns the question to the agent; null if there is none, or if messages wake up who answers them. */
function questionOf({ thread: { agent, viewer }, request: { question }, endedBefore }: Run): Question | null {
  return agent === null || question === null ? null : { agent, viewer, position: question, endedBefore }
}

async function* runEvents(run: Run, signal: AbortSignal): AsyncGenerator<AguiEvent, void> {
  const { thread, input, endedBefore } = run
  const { asked, events } = run.request
  const { client, chat, states, viewer } = thread
  const { threadId, runId, parentRunId } = input
  const question = questionOf(run)
  const view = createView(run)
  const steps = createSteps()
  const changes = changesOf(eitherOf(chat, states), signal)
  let actions = 0
  try {
    const parent = parentRunId === undefined ? null : { parentRunId }
    yield { type: 'RUN_STARTED', threadId, runId, ...parent, protocolVersion: PROTOCOL_VERSION }
    while (!signal.aborted) {
      const state = chat.get()
      requireReadable(state)
      yield* [...view.next(state), ...events.splice(0)]
      const answers = answersIn(state, asked)
      yield* steps(new Set(answers.busy.flatMap((each) => (each.run?.state === 'RUNNING' ? [each.run.actor] : []))))
      const action = question && nextAction(state, question)
      if (action && ++actions > MAX_ACTIONS) throw new VerbFailed('CONFLICT', UNANSWERED)
      if (action?.do === 'ask') events.push(...(await askAgent(thread, input, { ...action, turnId: action.turn.id })))
      if (action?.do === 'cancel') await client.cancelRun(action.runId).catch(() => {})
      if (action) await chat.refresh()
      else if (isOver(state, answers, view.changedAt)) {
        yield* [...view.end(), ...steps(new Set())]
        const outcome = outcomeOf(state, { asked, answers, viewer }, { question, endedBefore })
        if (outcome.type === 'error') yield { ...outcome, type: 'RUN_ERROR' }
        else yield { type: 'RUN_FINISHED', threadId, runId, outcome }
        return
      }
      await changes.next(LOOK_MS)
    }
  } finally {
    changes.close()
    thread.release()
    await client.close()
  }
}
