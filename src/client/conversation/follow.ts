// Follows a conversation: delivers each journal entry once and in order, also after lost connections, and joins the
// deltas of open turns.

import { fieldsOf, notFound, type ConversationName, type ResumeOptions } from '../verbs/calls.ts'
import type { Connection } from '../transport/connection.ts'
import { FOLLOW, FOLLOW_SHARED, READ_HEAD } from '../verbs/documents.ts'
import type { ConversationEvent, ConversationEventType, TurnDelta, TurnPartDelta } from '../generated.ts'

/** A delta, with the whole text of its turn up to `end`. Deltas of one turn follow one another without overlap. */
export type JoinedDelta = TurnDelta & { joined: string }
/** A delta of a part, with the whole text of the part up to `end`. */
export type JoinedPartDelta = TurnPartDelta & { joined: string }
export type FollowedEvent = Exclude<ConversationEvent, TurnDelta | TurnPartDelta> | JoinedDelta | JoinedPartDelta

export type FollowOptions = ResumeOptions & {
  /** Seq of the entry after which delivery starts; 0 for all entries. Defaults to the conversation's newest entry. */
  afterSeq?: number
  /** Types of the events to deliver. Defaults to all. `Gap` and `ConversationDeleted` are always delivered. */
  types?: readonly ConversationEventType[]
  /**
   * Whether turns have `replyTo`, which differs by viewer. With false, the server renders each event once for all
   * viewers, which saves time in conversations with many of them. Defaults to true.
   */
  replies?: boolean
}

/** Types of the events that end an open turn. Its joined texts are then dropped. */
const ENDS: readonly ConversationEventType[] = ['TURN_COMMITTED', 'TURN_ABORTED', 'TURN_ERASED']

/**
 * Creates a function that joins the deltas of open turns and of their parts. It returns the event to deliver, and of a
 * delta only the text that was not delivered before; null if all of it was delivered; undefined if text before the delta
 * is missing.
 * @internal
 */
export function createJoiner() {
  /** The delivered text of each part, by turn and number of the part; 0 is the text of the turn. */
  const texts = new Map<string, Map<number, { joined: string; isComplete?: boolean | undefined }>>()

  function joinDelta(delta: TurnDelta | TurnPartDelta): FollowedEvent | null | undefined {
    const { number = 0, isComplete } = delta as Partial<TurnPartDelta>
    const parts = texts.get(delta.turnId) ?? new Map<number, { joined: string; isComplete?: boolean | undefined }>()
    const known = parts.get(number)
    const start = known?.joined.length ?? 0
    if (delta.start > start) return undefined
    const text = delta.text.slice(start - delta.start)
    if (text === '' && (known ? known.isComplete === isComplete : number === 0)) return null
    const joined = (known?.joined ?? '') + text
    texts.set(delta.turnId, parts.set(number, { joined, isComplete }))
    return { ...delta, start, text, joined }
  }

  return (event: ConversationEvent): FollowedEvent | null | undefined => {
    if (event.__typename === 'TurnDelta' || event.__typename === 'TurnPartDelta') return joinDelta(event)
    if (
      event.__typename === 'TurnCommitted'
      || event.__typename === 'TurnAborted'
      || event.__typename === 'TurnErased'
    ) {
      texts.delete(event.turn.id)
    }
    if (event.__typename === 'Gap') texts.clear()
    return event
  }
}

/** Reads the id and the seq of the newest entry. @throws ColloquyError with the code NOT_FOUND */
export async function readHead(connection: Connection, name: ConversationName, options?: ResumeOptions) {
  const { conversation } = await connection.send(READ_HEAD, { ...name, as: connection.as }, options)
  if (conversation) return conversation as { id: string; lastSeq: number }
  throw notFound(name)
}

const typeNameOf = (type: string) =>
  type.toLowerCase().replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())

/**
 * Yields the events of a conversation after the entry `afterSeq`. Ends after `ConversationDeleted`, when the viewer no
 * longer sees the conversation, or when the signal is aborted. `Gap` means that entries were skipped: read the history
 * again.
 * @throws ColloquyError for a permanent failure
 */
export async function* follow(
  connection: Connection,
  name: ConversationName,
  { afterSeq, types, replies = true, ...options }: FollowOptions = {},
): AsyncGenerator<FollowedEvent, void> {
  let last = afterSeq ?? (await readHead(connection, name, options)).lastSeq
  const wanted = types && new Set([...types.map(typeNameOf), 'Gap', 'ConversationDeleted'])
  const requested = types?.some((type) => type.endsWith('_DELTA')) ? [...new Set([...types, ...ENDS])] : types
  const join = createJoiner()
  const variables = () => ({ ...fieldsOf(name), afterSeq: last, types: requested })
  for (let isComplete = false; !isComplete;) {
    isComplete = true
    const events = connection.subscribe(replies ? FOLLOW : FOLLOW_SHARED, variables, options)
    for await (const received of events as AsyncIterable<ConversationEvent>) {
      if (received.seq !== null && received.seq <= last) continue
      last = received.seq ?? ('resumeAfterSeq' in received ? received.resumeAfterSeq : last)
      const event = join(received)
      if (event === undefined) {
        // Subscribing again delivers the text from its start.
        isComplete = false
        break
      }
      if (event && (!wanted || wanted.has(event.__typename))) yield event
      if (received.__typename === 'ConversationDeleted') return
    }
  }
}
