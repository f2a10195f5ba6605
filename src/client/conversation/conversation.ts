// The functions of one conversation: append, edit, write a stream, follow, live values, and calls of verbs.

import {
  fieldsOf,
  randomId,
  type AnsweringOptions,
  type ConversationName,
  type RequestOptions,
} from '../verbs/calls.ts'
import type { Connection } from '../transport/connection.ts'
import { APPEND_TURN, MARK_READ, SET_PRESENCE, SUPERSEDE_TURN } from '../verbs/documents.ts'
import { follow, readHead, type FollowedEvent, type FollowOptions } from './follow.ts'
import type {
  ConversationEventType,
  Participant,
  PresenceState,
  Turn,
  TurnInput,
  TurnVersionInput,
} from '../generated.ts'
import type { Live } from './live.ts'
import type { Source } from './stream-parts.ts'
import { createTranscript, type Transcript, type TranscriptOptions } from './transcript.ts'
import { createConversationVerbs, type ConversationVerbs } from '../verbs/conversation-verbs.ts'
import { createWatch, type Changes, type Watched } from './watch.ts'
import { write, type WriteOptions } from './write.ts'

/** A turn to append: its text, or its fields. `role` defaults to USER. */
export type NewTurn = string | (Omit<TurnInput, 'role'> & { role?: TurnInput['role'] })
/** A newer version of a turn: its text, or its fields. */
export type NewVersion = string | (Omit<TurnVersionInput, 'role'> & { role?: TurnVersionInput['role'] })

/**
 * One conversation. Nothing is requested until a function is called. Every write is repeated until it is acknowledged,
 * for `retryForMs` at most.
 */
export type ConversationHandle = ConversationVerbs & {
  readonly name: ConversationName
  /**
   * Appends a turn, exactly once even if the request is repeated. The turns of a conversation are sent one after
   * another, in the order of the calls. Until a turn is acknowledged, transcripts of the client show it in `pending`.
   * @throws ColloquyError
   */
  append(turn: NewTurn, options?: AnsweringOptions): Promise<Turn>
  /** Replaces one of the actor's turns by a newer version. `role` defaults to the turn's role. @throws ColloquyError */
  edit(turn: Pick<Turn, 'id' | 'role'>, version: NewVersion, options?: RequestOptions): Promise<Turn>
  /**
   * Writes a streaming turn from text, a stream of text, the result or `fullStream` of the AI SDK, or a stream of
   * OpenAI's SDK; see `write`. Resolves with the committed turn. `role` defaults to ASSISTANT.
   * @throws TypeError for any other source, before the turn is opened
   * @throws ColloquyError
   */
  write(source: Source | PromiseLike<Source>, options?: WriteOptions): Promise<Turn>
  /** Yields the events after the entry `afterSeq`, each once and in order; see `follow`. @throws ColloquyError */
  follow(options?: FollowOptions): AsyncGenerator<FollowedEvent, void>
  /** Creates a live list of the turns, with the participants and their presence. */
  transcript(options?: TranscriptOptions): Transcript
  /**
   * Creates a live value: `read` reads it, again after each event of these types. Without types, it is read
   * once. `read` gets the events, from which it may compute the value.
   */
  watch<Value>(
    read: (signal: AbortSignal, changes: Changes<Value>) => Promise<Value>,
    types?: readonly ConversationEventType[],
  ): Live<Watched<Value>>
  /** Marks the entries up to `seq` as read. Defaults to the newest entry. @throws ColloquyError */
  markRead(seq?: number, options?: RequestOptions): Promise<Participant>
  /**
   * Sets the actor's presence. It expires after the server's PRESENCE_TTL_SECONDS, 60 by default, and ends within 2 s of
   * the actor's last WebSocket or event stream.
   * @throws ColloquyError
   */
  setPresence(state: PresenceState, options?: RequestOptions): Promise<Participant>
}

export function createConversationHandle(connection: Connection, name: ConversationName): ConversationHandle {
  const named = fieldsOf(name)
  return {
    name,
    ...createConversationVerbs(connection, name),
    async append(turn, { claimToken, ...options } = {}) {
      const fields = typeof turn === 'string' ? { content: turn } : turn
      return connection.outbox.append(
        name,
        { role: 'USER', ...fields },
        async (turn, before) =>
          (await connection.mutate(APPEND_TURN, { ...named, claimToken, turn }, { ...options, before })).turn,
        options.signal,
      )
    },
    async edit({ id: turnId, role }, version, options) {
      const fields = typeof version === 'string' ? { content: version } : version
      const input = { turnId, turn: { role, clientId: randomId(), ...fields } }
      return (await connection.mutate(SUPERSEDE_TURN, input, options)).turn
    },
    write: (source, options) => write(connection, name, source, options),
    follow: (options) => follow(connection, name, options),
    transcript: (options) => createTranscript(connection, name, options),
    watch: (read, types = []) => createWatch(connection, name, read, types),
    async markRead(seq, options) {
      const newest = seq ?? (await readHead(connection, name, options)).lastSeq
      return (await connection.mutate(MARK_READ, { ...named, seq: newest }, options)).participant
    },
    async setPresence(state, options) {
      return (await connection.mutate(SET_PRESENCE, { ...named, state }, options)).participant
    },
  }
}
