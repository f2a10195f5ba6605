// The client of a Colloquy server, for browsers and Node: the package `colloquy-client`, and the entry point
// `colloquy/client` of the server's package. Imports neither server code nor other packages.

import { answer, type AnswerHandler, type AnswerOptions } from './conversation/answer.ts'
import type { RequestOptions, ResumeOptions, SendOptions } from './verbs/calls.ts'
import { createConnection, type ConnectOptions } from './transport/connection.ts'
import { createConversationHandle, type ConversationHandle } from './conversation/conversation.ts'
import { CREATE_CONVERSATION } from './verbs/documents.ts'
import type { Attachment, Conversation, CreateConversationInput, InboxEvent } from './generated.ts'
import { createInbox, followInbox, type InboxState } from './conversation/inbox.ts'
import type { Live } from './conversation/live.ts'
import { createClientVerbs, type ClientVerbs } from './verbs/client-verbs.ts'

export type { AnswerHandler, AnswerOptions, Question } from './conversation/answer.ts'
export {
  itemsOf,
  type AnsweringOptions,
  type ConversationName,
  type Page,
  type PageOptions,
  type RequestOptions,
  type ResumeOptions,
  type SendOptions,
} from './verbs/calls.ts'
export type { ConnectOptions } from './transport/connection.ts'
export type { ConversationHandle, NewTurn, NewVersion } from './conversation/conversation.ts'
export { ColloquyError, type Issue } from './transport/errors.ts'
export type { FollowedEvent, FollowOptions, JoinedDelta, JoinedPartDelta } from './conversation/follow.ts'
export type * from './generated.ts'
export { possibleTypes, scalars } from './generated.ts'
export type { InboxState } from './conversation/inbox.ts'
export type { Live } from './conversation/live.ts'
export type { PendingTurn } from './conversation/outbox.ts'
export type { UploadedFile } from './transport/upload.ts'
export type { ConnectionState, ReportOptions } from './transport/reports.ts'
export { resuming, type WebSocketClass, type WebSocketLike } from './transport/socket.ts'
export type { Source } from './conversation/stream-parts.ts'
export type { Transcript, TranscriptOptions } from './conversation/transcript.ts'
export type { TranscriptState, TranscriptTurn } from './conversation/transcript-state.ts'
export { transfersOf, type Transfers } from './verbs/transfers.ts'
export type { ClientVerbs, RequestedApproval } from './verbs/client-verbs.ts'
export { sharedStateOf, type LiveSharedState, type SharedStateValue } from './state/shared-state.ts'
export type { StateChange } from './state/state-writer.ts'
export type { ChangedState, Context, ConversationVerbs, Recall, RunWithReplies } from './verbs/conversation-verbs.ts'
export type { Changes, Watched } from './conversation/watch.ts'
export type { WriteOptions } from './conversation/write.ts'

export type Client = ClientVerbs & {
  /**
   * The option `actor` of a client with a token, else undefined. Pass it as `as` to the operations of `request`; the other
   * functions do so themselves.
   */
  readonly as: string | undefined
  /** Returns a conversation, by its id or `{ key }`. Nothing is requested until one of its functions is called. */
  conversation(name: string | { key: string }): ConversationHandle
  /**
   * Creates a conversation. Only with a `key` is the call repeated after a temporary failure. `created` is false if a
   * conversation with the key existed: it is then returned unchanged, and the rest of the input has no effect. It may
   * also be false if a first call created the conversation, and its answer was lost.
   * @throws ColloquyError
   */
  createConversation(
    input?: CreateConversationInput,
    options?: RequestOptions,
  ): Promise<Conversation & { created: boolean }>
  /** Yields the changes in all conversations of the actor; see `followInbox`. @throws ColloquyError */
  inbox(options?: ResumeOptions): AsyncGenerator<InboxEvent, void>
  /** Creates the live list of the actor's conversations, with their unread counts. */
  conversations(): Live<InboxState>
  /**
   * Answers the turns that wake up the actor, until the signal is aborted. Only one process of the actor answers each
   * turn; see AnswerHandler.
   * @throws ColloquyError
   */
  answer(handler: AnswerHandler, options?: AnswerOptions): Promise<void>
  /**
   * Sends any query or mutation, and returns its data. The call is repeated after a temporary failure, unless `once` is
   * true: set `once` for a mutation that is not safe to repeat. @throws ColloquyError
   */
  request<T = any>(query: string, variables?: Record<string, unknown>, options?: SendOptions): Promise<T>
  /** Returns the absolute URL of an attachment, whose `url` may be a path of the server. */
  fileUrl(attachment: Pick<Attachment, 'url'>): string
  /** Ends the client's subscriptions, and closes its sockets. */
  close(): Promise<void>
}

/**
 * Creates a client. It connects to the server when it is first used.
 * @throws ColloquyError with the code BAD_URL for a malformed URL, or a protocol other than http and https
 */
export function connect(options: ConnectOptions): Client {
  const connection = createConnection(options)
  const conversation = (name: string | { key: string }) =>
    createConversationHandle(connection, typeof name === 'string' ? { id: name } : name)
  return {
    ...createClientVerbs(connection),
    as: connection.as,
    conversation,
    async createConversation(input = {}, given) {
      const once = input.key == null
      const { conversation: found, created } = await connection.mutate(CREATE_CONVERSATION, input, { ...given, once })
      return { ...found, created }
    },
    inbox: (given) => followInbox(connection, given),
    conversations: () => createInbox(connection),
    answer: (handler, given) => answer(connection, conversation, handler, given),
    request: (query, variables = {}, given) => connection.send(query, variables, given) as Promise<any>,
    fileUrl: ({ url }) => connection.resolve(url),
    close: connection.close,
  }
}
