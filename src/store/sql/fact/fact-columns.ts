// The columns of a fact: its row type and SELECT list.

import { raw, type Sql } from '../sql.ts'
import type { ParticipantKind, SupersedeReason } from '../../generated/enums.ts'

export type FactRow = {
  id: string
  userId: string | null
  conversationId: string | null
  /** `position`, `seq` and `audience` determine who sees the first source. The seqs are null without a conversation. */
  position: number | null
  seq: number | null
  audience: string[] | null
  /** Key of the visibility set (domain/fact/visibility-set.ts): only facts in the same set are compared. */
  visibility: string
  sourceTurnId: string | null
  saidBy: ParticipantKind
  /** The actor who asserted it; null if unknown. */
  assertedBy: string | null
  subject: string
  predicate: string
  object: string
  confidence: number
  /** Token count of the fact as a sentence. */
  tokenCount: number
  contentHash: string
  observedAt: Date
  /** Time at which the server received the assertion, if a client set `observedAt`; null if the server set it. */
  importedAt: Date | null
  createdAt: Date
  supersededBy: string | null
  /** Null while the fact is active. */
  supersededAt: Date | null
  supersedeReason: SupersedeReason | null
  supersedeNote: string | null
  /** Time at which a source last asserted it anew, by the clock of the server. */
  assertedAt: Date
  /** Time at which undoReconciliation made it active again; null if that never happened. */
  restoredAt: Date | null
  restoreNote: string | null
}

/** SELECT list of the fact aliased `f`. */
export const FACT_COLUMNS: Sql = raw(`
  f.id, f.user_id AS "userId", f.conversation_id AS "conversationId", f.root_seq AS "position", f.seq, f.audience,
  f.visibility, f.source_turn_id AS "sourceTurnId", f.said_by AS "saidBy",
  f.asserted_by AS "assertedBy", f.subject, f.predicate, f.object, f.confidence, f.token_count AS "tokenCount", f.content_hash AS "contentHash", f.observed_at AS "observedAt",
  f.imported_at AS "importedAt",
  f.created_at AS "createdAt", f.superseded_by AS "supersededBy", f.superseded_at AS "supersededAt",
  f.supersede_reason AS "supersedeReason", f.supersede_note AS "supersedeNote", f.asserted_at AS "assertedAt",
  f.restored_at AS "restoredAt", f.restore_note AS "restoreNote"`)
