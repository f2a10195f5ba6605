// The types of document 002 ("ConversationStore interface"). Fields that the document does not have are optional, and
// marked as additions.

export type ConversationRole = 'user' | 'assistant' | 'system'

export interface Conversation {
  schemaVersion: 1
  conversationId: string
  userId: number
  auditingId: number
  agentName: string
  title?: string
  createdAt: Date
  /** Time of the last write to the conversation, by the clock of the store. */
  updatedAt: Date
  messageCount: number
  // The document declares this type.
  // oxlint-disable-next-line typescript/no-explicit-any
  metadata?: Record<string, any>
}

export interface ConversationMessage {
  schemaVersion: 1
  /** Unique in the conversation. Adding an identical message again changes nothing. */
  messageId: string
  conversationId: string
  role: ConversationRole
  content: string
  timestamp: Date
  /** Id of the trace that produced the message. */
  traceId?: string
  /** Passages of documents on which the message is based. */
  sources?: Array<{ documentId?: string; documentName?: string; chunk?: string; score?: number }>
  // The document declares this type.
  // oxlint-disable-next-line typescript/no-explicit-any
  metadata?: Record<string, any>
}

export interface ConversationFilter {
  userId?: number
  agentName?: string
  /** Maximum number of conversations. Default: 50. */
  limit?: number
  /** Number of conversations to skip. Default: 0. */
  offset?: number
}

export interface MessageQueryOptions {
  /** Maximum number of messages to return; the last added messages are returned. Default: all. */
  limit?: number
  /** Returns messages before this time. Default: all. */
  before?: Date
  /**
   * Id of a message whose time is `before`. Also returns the messages with the same time that were added before it. To
   * read the previous page, pass the time and the id of the first message of the current page.
   * Addition. Default: returns no message whose time is `before`.
   */
  beforeId?: string
}

export interface ConversationStore {
  /** Creates a conversation. The store sets `updatedAt`. @throws IdConflict if the id is in use */
  createConversation(conv: Omit<Conversation, 'messageCount'>): Promise<void>
  /** Appends a message. @throws ConversationNotFound @throws IdConflict if its id is used for another message */
  addMessage(conversationId: string, msg: ConversationMessage): Promise<void>
  /** Replaces the given fields; does not merge metadata. @throws ConversationNotFound */
  updateConversation(conversationId: string, updates: Partial<Pick<Conversation, 'title' | 'metadata'>>): Promise<void>
  getConversation(conversationId: string): Promise<Conversation | null>
  /** Returns messages in ascending order of time; an empty list for an unknown conversation. */
  getMessages(conversationId: string, opts?: MessageQueryOptions): Promise<ConversationMessage[]>
  /** Lists conversations, the newest `updatedAt` first. */
  listConversations(filter: ConversationFilter): Promise<Conversation[]>
  /** Deletes a conversation and its messages. Does nothing for an unknown conversation. */
  deleteConversation(conversationId: string): Promise<void>
}
