// All tables: what an export contains of each, or why it does not contain it. A test compares the list with the database,
// so that a new table or column is either exported or listed here with its reason.

import * as columns from '../../src/store/sql/trust/transfer/columns.ts'
import type { Column } from '../../src/store/sql/trust/transfer/columns.ts'

/** The exported tables, with their exported columns, and the other columns with the reason. */
export const EXPORTED: Readonly<
  Record<string, { columns: readonly Column[]; without: Readonly<Record<string, string>> }>
> = {
  conversation: { columns: columns.CONVERSATION, without: { tenant: 'The tenant of the import.' } },
  journal: {
    columns: [],
    without: {
      conversation_id: 'The conversation line contains the properties of the journal.',
      tenant: 'The tenant of the import.',
      visibility: 'A copy of the visibility of the conversation.',
      last_seq: 'Exported as `lastSeq`.',
      updated_at: 'Exported as `updatedAt`.',
      agent_turns: 'Exported as `agentTurns`.',
      turn_count: 'Counted on import.',
      token_count: 'Counted on import.',
      summarized_through: 'Computed from the summaries on import.',
      summarized_turns: 'Computed from the summaries on import.',
      summarized_tokens: 'Computed from the summaries on import.',
      responding: 'Computed from the participants on import.',
      salt: 'Computed from the tenant and the owner on import.',
    },
  },
  entry: {
    columns: columns.ENTRY,
    without: { conversation_id: 'The conversation line.', tenant: 'The tenant of the import.' },
  },
  turn: {
    columns: columns.TURN,
    without: {
      conversation_id: 'The conversation line.',
      tenant: 'The tenant of the import.',
      seq: 'The entry that contains the turn.',
      superseded_by: 'Set on import from `supersedes` of the newer version.',
      context_id: 'Stored contexts are not exported.',
      end_hash: 'Contains a hash of the token of the writer, which ends with its stream.',
      terms: 'Computed on import.',
      cues: 'Computed on import.',
    },
  },
  participant: {
    columns: columns.PARTICIPANT,
    without: { conversation_id: 'The conversation line.', tenant: 'The tenant of the import.' },
  },
  shared_state: {
    columns: columns.SHARED_STATE,
    without: {
      conversation_id: 'The conversation line.',
      tenant: 'The tenant of the import.',
      bytes: 'Computed on import.',
      first_version: 'The version on import: its earlier changes are not imported.',
    },
  },
  attachment: {
    columns: columns.ATTACHMENT,
    without: { conversation_id: 'The conversation line.', tenant: 'The tenant of the import.' },
  },
  summary: {
    columns: columns.SUMMARY,
    without: {
      conversation_id: 'The conversation line.',
      tenant: 'The tenant of the import.',
      seq: 'The entry that contains the summary.',
    },
  },
  fact: {
    columns: columns.FACT,
    without: {
      tenant: 'The tenant of the import.',
      conversation_id: 'That of the first source.',
      root_seq: 'That of the first source.',
      seq: 'That of the first source.',
      source_turn_id: 'That of the first source.',
      visibility: 'Computed on import from the conversation and the audience.',
      content_hash: 'Computed on import.',
      terms: 'Computed on import.',
      embedded_by: 'Set when the fact is embedded again.',
      asserted_at: 'Computed on import from the newest source.',
      reconciled_at: 'Set when the fact is compared with the other facts of the server.',
      recalled_on: 'Set when the fact is recalled.',
    },
  },
  fact_source: {
    columns: columns.FACT_SOURCE,
    without: {
      fact_id: 'The fact that contains the source.',
      tenant: 'The tenant of the import.',
      audience: 'That of the fact.',
      fact_created_at: 'That of the fact.',
    },
  },
  user_profile: { columns: columns.PROFILE, without: { tenant: 'The tenant of the import.' } },
  erasure: {
    columns: columns.ERASURE,
    without: {
      tenant: 'The tenant of the import.',
      through_conversation: 'Progress of an erasure. Only complete erasures are exported.',
      through_position: 'Progress of an erasure. Only complete erasures are exported.',
    },
  },
  held_user: { columns: columns.HELD_USER, without: { tenant: 'The tenant of the import.' } },
}

/** The tables that exports do not contain, with the reason. */
export const NOT_EXPORTED: Readonly<Record<string, string>> = {
  tool_call: 'Written on import from the parts of the turns.',
  tool_result: 'Written on import from the parts of the turns.',
  conversation_progress: 'The conversation line contains `extractedThrough`. Turns are counted again.',
  user_progress: 'Turns are counted again.',
  profile_progress: 'Profiles are refreshed after the next change of their facts.',
  turn_vector: 'Turns are embedded again, by the embedder of the server.',
  fact_vector: 'Facts are embedded again.',
  embedder: 'Names of the embedders of the server.',
  embedding_cursor: 'Turns are embedded again.',
  file_deletion: 'The queue of files whose bytes are to be deleted.',
  file_key: 'The secret of this server that signs URLs.',
  stream: 'The lease of a writer, which cannot continue on another server: an open turn is aborted on import.',
  chunk: 'The text of an open turn and of its parts, which the turn contains in an export.',
  stream_part: 'The parts of an open turn, which the turn contains in an export.',
  held_text: 'Text of an open turn that redaction has not released.',
  run: 'Runs belong to the server that executes them. Their turns are exported.',
  provider_call: 'Calls of providers belong to runs.',
  approval: 'Approvals belong to runs.',
  token_usage: 'Tokens that were used on the server, for its quotas.',
  tenant_usage: 'Tokens that were used on the server, for its quotas.',
  claim: 'Claims are leases, with the hashes of secrets.',
  wake_up: 'An import wakes up no agents, so that old turns are not answered again.',
  tenant_settings: 'The operator of the server chooses them.',
  api_key: 'Hashes of secrets.',
  audit_head: 'The audit log of a server records what was done on this server.',
  audit_line: 'The audit log of a server records what was done on this server.',
  mcp_session: 'Sessions of the clients of this server.',
  stored_context:
    'Contexts show what the models of this server saw, in the views of single actors; an export is in the view of its actor.',
  shared_state_change:
    'Operations between earlier values, and idempotency keys: an import has the present values. Its entries have no event.',
  stored_context_message: 'Belongs to stored contexts.',
  stored_context_source: 'Belongs to stored contexts.',
  former_state: 'Earlier values, for reads of the server as of an earlier time.',
  transfer: 'Progress of exports and imports.',
  _prisma_migrations: 'The migrations of the database.',
}
