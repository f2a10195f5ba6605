// One conversation of a chat: follows its events, appends turns, runs the agents of this chat, and asks about tool calls.

import type { Client, ConversationHandle, FollowedEvent, RequestedApproval } from '../../client/index.ts'
import { ColloquyError } from '../../client/transport/errors.ts'
import { mentionsIn } from '../../text/mentions.ts'
import { oneLine } from '../output.ts'
import { createPending } from './pending.ts'
import { conversationOf, isConversationId } from '../read.ts'
import { begin, EMPTY, reduce, titleOf, type Change, type ChatState, type Line } from './state.ts'
import { plain } from '../text.ts'

/** Number of turns that are printed when a conversation is opened. */
const FIRST_TURNS = 10

/** The agents that this chat runs for each turn, and their provider if they have no settings. */
export type Agents = { names: readonly string[]; provider: string | undefined }

/** What the session tells the chat. */
export type Notify = {
  print(lines: readonly Line[]): void
  /** The answers that are being written have changed. */
  written(state: ChatState): void
  /** The tool calls that wait for a decision, oldest first. */
  asked(approvals: readonly RequestedApproval[]): void
}

export type Session = {
  readonly key: string
  readonly conversation: ConversationHandle
  readonly state: ChatState
  /** Appends a turn and runs the agents that must answer it. @throws ColloquyError if the turn cannot be appended */
  send(text: string, audience: string[] | null): Promise<void>
  /** Whether a run that this chat has started has not ended. */
  isAnswering(): boolean
  /** Stops the runs that this chat has started. */
  cancel(): Promise<void>
  /** Resolves when each turn of this chat was shown, and each run that it has started has ended or waits. */
  settled(): Promise<void>
  close(): Promise<void>
}

/** Returns the line that reports an error: with its code, if it is one of the server or the connection. */
export const problem = (error: unknown): Line => {
  const { message } = error as Error
  return { text: plain(error instanceof ColloquyError ? `${error.code}: ${message}` : message), tone: 'problem' }
}

/** Reads the conversation, which is created if its key is new, and adds the agents of this chat to it. */
async function enter(client: Client, key: string, agents: Agents) {
  const conversation = conversationOf(client, key)
  if (!isConversationId(key)) await client.createConversation({ key })
  const { nodes } = await conversation.participants({ first: 200 })
  for (const actor of agents.names) {
    const known = nodes.find((each) => each.actor === actor)
    if (!known || known.leftAt !== null) nodes.push(await conversation.addParticipant({ actor, kind: 'AGENT' }))
  }
  const [{ id, lastSeq }, { nodes: turns }, { viewer }] = await Promise.all([
    conversation.read(),
    conversation.turns({ last: FIRST_TURNS }),
    client.request('query { viewer { actor } }'),
  ])
  const started = begin(
    viewer.actor,
    nodes,
    turns.filter(({ seq }) => seq <= lastSeq),
  )
  return { conversation, id, lastSeq, started }
}

/**
 * Returns the agents that must answer: those that the turn mentions, or else all; of a whisper, those that hear it.
 * @internal
 */
export function answering(names: readonly string[], text: string, audience: readonly string[] | null): string[] {
  const hearing = names.filter((name) => !audience || audience.includes(name))
  const mentioned = new Set((mentionsIn(text) ?? []).map((name) => name.toLowerCase()))
  const called = hearing.filter((name) => mentioned.has(name.toLowerCase()))
  return called.length > 0 || audience ? (called.length > 0 ? called : hearing) : mentioned.size > 0 ? [] : hearing
}

/** Returns a function that reports that the connection is lost, and that it is restored. */
function connectionReporter(print: Notify['print']): (status: 'live' | 'waiting') => void {
  let isLost = false
  return (status) => {
    if (status === 'waiting' && !isLost) print([{ text: 'the connection is lost; trying again', tone: 'problem' }])
    if (status === 'live' && isLost) print([{ text: 'connected again', tone: 'note' }])
    isLost = status === 'waiting'
  }
}

/** Opens the conversation with the key or id, prints its newest turns, and follows it until it is closed. */
export async function openSession(client: Client, key: string, agents: Agents, notify: Notify): Promise<Session> {
  const stopping = new AbortController()
  const pending = createPending()
  let state: ChatState = EMPTY

  function apply({ state: next, lines }: Pick<Change, 'state' | 'lines'>): void {
    state = next
    notify.print(lines)
    notify.written(state)
  }

  const { conversation, id, lastSeq, started } = await enter(client, key, agents)
  apply(started)

  async function readApprovals(): Promise<void> {
    const { nodes } = await client.approvals({ conversationId: id, state: 'PENDING', first: 50 })
    notify.asked(nodes.toReversed())
  }

  async function receive(event: FollowedEvent): Promise<void> {
    const change = reduce(state, event)
    apply(change)
    if (change.asks) await readApprovals().catch((error: unknown) => notify.print([problem(error)]))
    if (event.__typename === 'RunChanged') pending.changed(event.run)
    pending.seen(event.seq ?? 0)
  }

  async function follow(): Promise<void> {
    const options = { afterSeq: lastSeq, signal: stopping.signal, onConnection: connectionReporter(notify.print) }
    for await (const event of conversation.follow(options)) await receive(event)
    if (stopping.signal.aborted || state.isEnded) return
    const gone = 'the conversation is no longer visible'
    apply({ state: { ...state, isEnded: true }, lines: [{ text: gone, tone: 'note' }] })
  }
  const following = follow()
    .catch((error: unknown) => {
      if (!stopping.signal.aborted) notify.print([problem(error)])
    })
    .finally(() => pending.end())
  // A credential that may not decide about tool calls is not asked.
  await readApprovals().catch(() => {})

  async function run(actor: string, replyTo: string): Promise<void> {
    try {
      pending.started((await conversation.run({ actor, provider: agents.provider, replyTo, wait: false })).id)
    } catch (error) {
      notify.print([{ ...problem(error), text: `${titleOf(state, actor)}: ${problem(error).text}` }])
    }
  }

  return {
    key,
    conversation,
    get state() {
      return state
    },
    async send(text, audience) {
      const turn = await conversation.append(audience ? { content: text, audience } : text)
      pending.sent(turn.seq)
      await Promise.all(answering(agents.names, text, audience).map((actor) => run(actor, turn.id)))
    },
    async cancel() {
      for (const each of await Promise.allSettled(pending.runs().map((runId) => client.cancelRun(runId)))) {
        if (each.status === 'rejected') notify.print([problem(each.reason)])
      }
    },
    isAnswering: () => pending.runs().length > 0,
    settled: pending.settled,
    async close() {
      stopping.abort()
      await following
    },
  }
}

/** Returns the question about a tool call. */
export const questionOf = ({ toolName, arguments: given, reason }: RequestedApproval): Line => ({
  text: plain(`${toolName} ${oneLine(JSON.stringify(given), 400)}${reason ? ` (${reason})` : ''}`),
  tone: 'note',
})
