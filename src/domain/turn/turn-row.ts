// The row of a turn to append, made from its input, and the turn that such a row becomes.

import type { AppendedTurn } from '../../store/sql/turn/append-call.ts'
import type { AppendRow } from '../../store/sql/turn/append-turns.ts'
import type { Role } from '../../store/generated/enums.ts'
import { newId } from '../kernel/id.ts'
import { indexEntry } from '../memory/indexing/index-entry.ts'
import { kindOfCredential } from '../kernel/rights/principal.ts'
import type { Viewer } from '../kernel/view.ts'
import type { Content } from './content.ts'
import { digest } from './append/turn-input.ts'
import type { Turn } from './turn.ts'
import type { ParsedTurn } from './append/turn-input.ts'

/** Returns the import time of a turn: the current time if `createdAt` is given; null if the server sets `createdAt`. */
export const importTime = (createdAt: Date | null | undefined): Date | null => (createdAt == null ? null : new Date())

/** The status of a row, and the fields that depend on its writer: a stream, a claim or a run. */
type WriterFields = Pick<AppendedTurn, 'status' | 'writerHash' | 'leaseSeconds' | 'claimHash' | 'runHolder'>

/** Builds the row of a turn to append. */
export function toRow(
  viewer: Viewer,
  input: ParsedTurn,
  content: Content,
  { status, writerHash, leaseSeconds, claimHash, runHolder }: WriterFields,
): AppendedTurn {
  const actor = input.actor ?? viewer.actor
  return {
    id: newId('turn'),
    actor,
    authorKind: kindOfCredential(viewer, actor),
    role: input.role,
    status,
    ...content,
    calls: content.calls.length > 0 ? content.calls : undefined,
    results: content.results.length > 0 ? content.results : undefined,
    ...(status === 'COMMITTED'
      ? indexEntry(actor, content.text, { parts: content.parts, at: input.createdAt ?? undefined })
      : null),
    audience: input.audience ? [...new Set([actor, ...input.audience])] : null,
    promptTokens: input.tokenUsage?.prompt,
    completionTokens: input.tokenUsage?.completion,
    model: input.model,
    adapter: input.adapter,
    traceId: input.traceId,
    sources: input.citations?.length ? input.citations : null,
    replyToId: input.replyToId,
    contextId: input.contextId,
    pinned: input.pinned ?? false,
    metadata: input.metadata,
    createdAt: input.createdAt,
    importedAt: importTime(input.createdAt),
    clientId: input.clientId,
    clientHash: input.clientId != null ? digest({ ...input, actor, status, writerHash }) : null,
    writerHash,
    leaseSeconds,
    claimHash,
    runHolder,
  }
}

/** Builds a turn that was just written, without reading it. */
export function toTurn(
  conversationId: string,
  turn: AppendedTurn,
  { seq, createdAt, parts, mentions }: AppendRow,
): Turn {
  return {
    id: turn.id,
    conversationId,
    seq,
    position: seq,
    actor: turn.actor,
    role: turn.role as Role,
    status: turn.status,
    text: turn.text,
    parts: parts ?? turn.parts ?? null,
    audience: turn.audience ?? null,
    mentions,
    tokenCount: turn.tokens,
    promptTokens: turn.promptTokens ?? null,
    completionTokens: turn.completionTokens ?? null,
    model: turn.model ?? null,
    adapter: turn.adapter ?? null,
    traceId: turn.traceId ?? null,
    citations: turn.sources ?? null,
    pinned: turn.pinned ?? false,
    metadata: turn.metadata ?? null,
    replyToId: turn.replyToId ?? null,
    contextId: turn.contextId ?? null,
    supersededBy: null,
    abortReason: null,
    createdAt,
    importedAt: turn.importedAt ?? null,
    removedAt: null,
    contentHash: null,
  }
}
