// Deletes the former values of rows (former_state) that contain erased data, or that tell of erased turns. Runs in the
// transactions that erase and delete. The values of deleted facts and conversations are deleted with them.

import type { Tx } from '../../../db/db.ts'

/** Deletes the removed sources of facts that are one of the turn versions. Uses the index former_state_conversation. */
export const deleteFormerSources = (tx: Tx, conversationId: string, turnIds: readonly string[]): Promise<number> =>
  tx.$executeRaw`
    DELETE FROM former_state f
    WHERE f.conversation_id = ${conversationId}::text AND f.relation = 'removed_source'
      AND f.state->>'turn_id' = ANY (${turnIds}::text[])`

/** Deletes the removed sources of facts that an actor asserted, of the given facts. Uses the index former_state_fact. */
export const deleteFormerSourcesOf = (tx: Tx, factIds: readonly string[], actor: string): Promise<number> =>
  tx.$executeRaw`
    DELETE FROM former_state f
    WHERE f.fact_id = ANY (${factIds}::text[]) AND f.state->>'asserted_by' = ${actor}::text`

/** Deletes the former texts of the tenant's profiles that were made from one of the facts. Reads all of them. */
export const deleteFormerProfiles = async (tx: Tx, tenant: string, factIds: readonly string[]): Promise<number> =>
  factIds.length === 0
    ? 0
    : tx.$executeRaw`
        DELETE FROM former_state f
        WHERE f.tenant = ${tenant}::text AND f.user_id IS NOT NULL AND f.state->'made_of' ?| ${factIds}::text[]`

/** Deletes the former texts of all profiles of the user. Uses the index former_state_user. */
export const deleteFormerProfilesOf = (tx: Tx, tenant: string, userId: string): Promise<number> =>
  tx.$executeRaw`DELETE FROM former_state f WHERE f.tenant = ${tenant}::text AND f.user_id = ${userId}::text`

/** Deletes the former names and kinds of the participant. Uses the primary key. */
export const deleteFormerParticipant = (tx: Tx, conversationId: string, actor: string): Promise<number> =>
  tx.$executeRaw`
    DELETE FROM former_state f
    WHERE f.relation = 'participant' AND f.key = ${`${conversationId} ${actor}`}::text`
