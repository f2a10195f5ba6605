// The commands that follow a conversation: tail prints its events, and ask prints the answer to a turn as it is written.

import type { Client, ConversationHandle, FollowedEvent } from '../client/index.ts'
import { linesOfTurn } from '../text/turn-lines.ts'
import { plain } from './text.ts'
import type { Output } from './output.ts'

/** The command has no result: for example, nobody has answered. The message says why. */
export class CommandFailed extends Error {}

/** Returns the lines of an event for people; none for events that show nothing new. */
function linesOf(event: FollowedEvent): string[] {
  switch (event.__typename) {
    case 'TurnAppended':
    case 'TurnCommitted':
    case 'TurnAborted':
      return linesOfTurn(event.turn)
    case 'TurnSuperseded':
      return event.by.status === 'STREAMING'
        ? [`${event.seq}  regenerates turn ${event.turn.seq}`]
        : [`${event.seq}  edited turn ${event.turn.seq}:`, ...linesOfTurn(event.by)]
    case 'TurnErased':
      return [`${event.seq}  erased turn ${event.turn.seq}`]
    case 'ParticipantJoined':
      return [`${event.seq}  ${event.participant.actor} joined`]
    case 'ParticipantLeft':
      return [`${event.seq}  ${event.participant.actor} left`]
    case 'ConversationUpdated':
      return [`${event.seq}  the conversation was updated`]
    case 'ConversationDeleted':
      return ['the conversation was deleted']
    case 'Gap':
      return [`entries up to ${event.resumeAfterSeq} were skipped`]
    default:
      return []
  }
}

/** Prints the events of the conversation until it is deleted or the command is stopped: with --json, one per line. */
export async function tail(
  conversation: ConversationHandle,
  { after }: { after?: number },
  output: Output,
): Promise<void> {
  for await (const event of conversation.follow({ afterSeq: after, signal: output.signal })) {
    const lines = output.isJson ? [JSON.stringify(event)] : linesOf(event)
    if (lines.length > 0) await output.write(output.isJson ? `${lines.join('\n')}\n` : `${plain(lines.join('\n'))}\n`)
  }
}

type Asked = { text: string; agent?: string; provider?: string; timeoutSeconds: number }

/** Returns the failure of a run that ended, or waits, without an answer in text; null for other events. */
function failureIn(event: FollowedEvent, runId: string | undefined): CommandFailed | null {
  if (event.__typename !== 'RunChanged' || event.run.id !== runId || event.run.state === 'RUNNING') return null
  const { error, state } = event.run
  return new CommandFailed(error ? `${error.code}: ${error.message}` : `The run is ${state}, and has written no text.`)
}

/**
 * Returns a function that prints the first answer by another actor than `author`: its text as it is written, or the whole
 * turn with --json. The function returns true after the end of the answer.
 */
function createPrinter(author: string, runId: string | undefined, output: Output) {
  /** The streaming turn whose text is printed. */
  let streaming: string | null = null
  return async (event: FollowedEvent): Promise<boolean> => {
    const failure = failureIn(event, runId)
    if (failure) throw failure
    if (event.__typename === 'TurnOpened' && event.turn.actor !== author) streaming ??= event.turn.id
    if (event.__typename === 'TurnDelta' && event.turnId === streaming && !output.isJson)
      await output.write(plain(event.text))
    if (event.__typename === 'TurnAborted' && event.turn.id === streaming) {
      throw new CommandFailed(`The answer was aborted: ${event.turn.abortReason ?? 'no reason was given'}`)
    }
    const isWhole = event.__typename === 'TurnAppended' && event.turn.actor !== author
    const isEnd = event.__typename === 'TurnCommitted' && event.turn.id === streaming
    if (!isWhole && !isEnd) return false
    const { turn } = event
    if (isEnd) streaming = null
    // A reply may consist of tool calls, whose results follow.
    if (turn.text === '') return false
    if (output.isJson) await output.write(`${JSON.stringify(turn, null, 2)}\n`)
    else await output.write(isWhole ? `${plain(turn.text)}\n` : '\n')
    return true
  }
}

/**
 * Appends a turn, and prints the answer as it is written: the reply of `agent`, which the server runs; otherwise the next
 * turn of another participant. Ctrl-C cancels the run.
 * @throws CommandFailed if there is no answer within the time, or the run fails
 */
export async function ask(
  client: Client,
  conversation: ConversationHandle,
  { text, agent, provider, timeoutSeconds }: Asked,
  output: Output,
): Promise<void> {
  const { lastSeq } = await conversation.read()
  const late = AbortSignal.timeout(timeoutSeconds * 1000)
  const signal = AbortSignal.any([output.signal, late])
  const turns = [{ role: 'USER' as const, content: text }]
  const run = agent === undefined ? null : await conversation.run({ actor: agent, provider, turns, wait: false })
  const author = run ? run.startedBy : (await conversation.append(text)).actor
  const print = createPrinter(author, run?.id, output)
  try {
    for await (const event of conversation.follow({ afterSeq: lastSeq, signal })) {
      if (await print(event)) return
    }
  } finally {
    if (run && signal.aborted) await client.cancelRun(run.id).catch(() => {})
  }
  if (late.aborted) throw new CommandFailed(`No one has answered within ${timeoutSeconds} s.`)
}
