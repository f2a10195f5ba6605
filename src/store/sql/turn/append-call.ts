// The calls of append_turns (append-turns.ts), and the tool calls and results that their turns name.

import type { ParticipantKind } from '../../generated/enums.ts'

/** A turn to append. */
export type AppendedTurn = {
  id: string
  actor: string
  /** The kind of the author's own credential; null or omitted if another credential, or none, writes the turn. */
  authorKind?: ParticipantKind | null
  role: string
  status: 'COMMITTED' | 'STREAMING'
  text: string
  parts?: unknown[] | null
  audience?: string[] | null
  tokens: number
  promptTokens?: number | null
  completionTokens?: number | null
  model?: string | null
  adapter?: string | null
  traceId?: string | null
  sources?: unknown[] | null
  pinned?: boolean | null
  metadata?: Record<string, unknown> | null
  clientId?: string | null
  clientHash?: string | null
  /** Hash of the writer's token; required for status STREAMING. */
  writerHash?: string
  /** Duration of the lease, s, for status STREAMING; null or omitted for that of the server. */
  leaseSeconds?: number | null
  /** Hash of the token of the claim with which the turn answers `replyToId`; omitted for a turn without a claim. */
  claimHash?: string
  /** Holder of the run that writes the turn's results; omitted for a turn that no run writes. */
  runHolder?: string
  createdAt?: Date | null
  /** Time at which the server received the turn; required if `createdAt` is given. */
  importedAt?: Date | null
  /** Index entry for recall (domain/memory/indexing/index-entry.ts); if omitted, the turn is indexed later. */
  terms?: number[]
  cues?: number
  /** Id of a turn of the conversation that the author sees. */
  replyToId?: string | null
  /** Id of a stored context of the conversation, built in the view of the author. */
  contextId?: string | null
  /** The tool calls that the turn makes; no callId twice. */
  calls?: ToolCallRef[]
  /** Its tool results. */
  results?: ToolResultRef[]
  /** The names in its text, which may be those of participants; absent for none. */
  mentions?: string[]
}

export type ToolCallRef = { callId: string; name: string }

/** A tool result, and the call that it answers. */
export type ToolResultRef = ToolCallRef & {
  /** Index of the result among the parts. */
  part: number
  /** The turn that made the call, in any version; null or omitted to find it by `callId` and `name`. */
  turnId?: string | null
  /**
   * Index in `turns` of the turn that made the tool call, if the same AppendCall contains that turn; 0 if a ClosedTurn
   * makes the call itself.
   */
  place?: number
}

/**
 * Turns of one conversation that are written atomically. `viewer` is the principal that opens streaming turns;
 * `expected` is the required seq of the newest entry, null for any.
 */
export type AppendCall = {
  conversationId: string
  tenant: string
  viewer: string
  expected?: number | null
  turns: AppendedTurn[]
}

export type AppendLimits = {
  /** Maximum number of current and former participants of a conversation. */
  participants: number
  /** Maximum number of open turns of a conversation. */
  openInConversation: number
  /** Maximum number of open turns that a viewer has opened. Calls that run at the same time may exceed it. */
  openByViewer: number
}
