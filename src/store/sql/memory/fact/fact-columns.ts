// The columns of a fact: its row type and SELECT list.

import { raw, sql, type Sql } from '../../kernel/sql.ts'
import type { ParticipantKind, SupersedeReason } from '../../../generated/enums.ts'

export type FactRow = {
  id: string
  userId: string | null
  conversationId: string | null
  /** `position`, `seq` and `audience` determine who sees the first source. The seqs are null without a conversation. */
  position: number | null
  seq: number | null
  audience: string[] | null
  /** Key of the visibility set (domain/memory/fact/write.ts): only facts in the same set are compared. */
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
  /** Time at which the statement became true; null if that was not stated. */
  validFrom: Date | null
  /** Time at which it ceased to be true; null if that was not stated. */
  validTo: Date | null
  createdAt: Date
  supersededBy: string | null
  /** Null while the fact is active. */
  supersededAt: Date | null
  supersedeReason: SupersedeReason | null
  supersedeNote: string | null
  /** Time at which the fact that contradicted it became true; null for none, and if it was not true before. */
  contradictedFrom: Date | null
  /** Time at which a source last asserted it anew, by the clock of the server. */
  assertedAt: Date
  /** Time at which undoReconciliation made it active again; null if that never happened. */
  restoredAt: Date | null
  restoreNote: string | null
}

/** A fact with its importance, 0 to 1 (prisma/functions/fact_importance.sql). */
export type RatedFactRow = FactRow & { importance: number }

/** SELECT list of the fact aliased `f`. */
export const FACT_COLUMNS: Sql = raw(`
  f.id, f.user_id AS "userId", f.conversation_id AS "conversationId", f.root_seq AS "position", f.seq, f.audience,
  f.visibility, f.source_turn_id AS "sourceTurnId", f.said_by AS "saidBy",
  f.asserted_by AS "assertedBy", f.subject, f.predicate, f.object, f.confidence, f.token_count AS "tokenCount", f.content_hash AS "contentHash", f.observed_at AS "observedAt",
  f.imported_at AS "importedAt", f.valid_from AS "validFrom", f.valid_to AS "validTo",
  f.created_at AS "createdAt", f.superseded_by AS "supersededBy", f.superseded_at AS "supersededAt",
  f.supersede_reason AS "supersedeReason", f.supersede_note AS "supersedeNote", f.asserted_at AS "assertedAt",
  f.contradicted_from AS "contradictedFrom", f.restored_at AS "restoredAt", f.restore_note AS "restoreNote"`)

/** The importance of the fact aliased `f`. The ids are an array, because OR with a subquery would use no index. */
export const IMPORTANCE: Sql = raw(`fact_importance((
    SELECT count(DISTINCT o.source) FROM fact_source o
    WHERE o.fact_id = ANY (ARRAY(
      SELECT f.id UNION ALL
      SELECT d.id FROM superseded_fact m JOIN fact d ON d.id = m.id
      WHERE m.superseded_by = f.id AND d.superseded_by = f.id AND d.supersede_reason = 'DUPLICATED'))),
  f.recall_days, f.recalled_on, f.observed_at)`)
/** SELECT list of the fact aliased `f`, with its importance. */
export const RATED_FACT_COLUMNS: Sql = sql`${FACT_COLUMNS}, ${IMPORTANCE} AS importance`
