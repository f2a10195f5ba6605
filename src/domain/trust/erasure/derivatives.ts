// The register of all tables with data derived from turns, and how that data is corrected or deleted when a turn is
// edited, erased, or deleted with its conversation. run-derivatives.ts runs the steps in the order of DERIVATIVES,
// which is the lock order: journals, facts, profiles, stored contexts. A test fails for a table that neither DERIVATIVES
// nor NOT_DERIVED lists.

import { AGENT_DERIVATIVES } from './agent-derivatives.ts'
import { CASCADE, type Derivative } from './derivative.ts'
import {
  countAttachments,
  countSharedStates,
  countSummaries,
  countTurns,
  recount,
  renewTitle,
  revokeCoverage,
} from './derivative-steps.ts'
import {
  clearTitle,
  endStreams,
  eraseAttachments,
  eraseSummaries,
  eraseToolCalls,
  eraseToolResults,
  eraseTurnContent,
  eraseVectors,
  uncount,
} from './erase-steps.ts'
import { MEMORY_DERIVATIVES } from './memory-derivatives.ts'

export const DERIVATIVES: readonly Derivative[] = [
  {
    table: 'journal',
    data: 'Totals over the turns: turn_count, token_count and the summarized_ columns.',
    onEdit: { how: 'The newer version replaces the older one in turn_count and token_count.', update: recount },
    onErase: {
      how: 'turn_count and token_count are reduced by the turn; count_summarized() recomputes the other totals.',
      erase: uncount,
    },
    onDelete: CASCADE,
  },
  {
    table: 'conversation',
    data: 'The automatic title, with the first position and the greatest seq that it was made from.',
    onEdit: {
      how: 'Background work rewrites an automatic title that may quote the older version.',
      update: renewTitle,
    },
    onErase: {
      how: 'An automatic title that may quote the turn is set to null; background work writes another one without it.',
      erase: clearTitle,
    },
    onDelete: {
      how: 'deleteWithDerivatives deletes the row itself.',
      by: 'STATEMENT',
      prepare: async () => ({ rows: 1 }),
    },
  },
  {
    table: 'entry',
    data: 'Ids of the turn, the summary or the facts that the entry is about, and no text.',
    onEdit: {
      how: 'Kept: the journal is append-only, and readers get the current state of the objects that an entry names.',
    },
    onErase: { how: 'Kept: the entry then names a turn without content. Each version gets an entry ERASED.' },
    onDelete: CASCADE,
  },
  {
    table: 'participant',
    data: 'Participants added by an append, last_read_seq, and whether any audience ever included the participant.',
    onEdit: { how: 'Kept: an edit changes neither author nor audience.' },
    onErase: { how: 'Kept: nothing in it depends on the content.' },
    onDelete: CASCADE,
  },
  {
    table: 'turn',
    data:
      'The text itself, and data computed from it: mentions, terms, cues, token_count and the digests client_hash and '
      + 'end_hash.',
    onEdit: {
      how: 'Kept for viewers whose history window closes before the edit; other viewers see the newer version.',
    },
    onErase: {
      how:
        'In every version, text, parts, mentions, sources, metadata, abort_reason, trace_id, context_id, client_hash, '
        + 'end_hash and token_count are emptied, terms and cues are set to null, and status is set to ERASED. Only '
        + 'COMMITTED turns are indexed, so terms and cues stay null. Replies keep reply_to_id, which contains no '
        + 'content; the API returns no turn for it. client_id is kept, so that a retry of the append does not write the content again.',
      erase: eraseTurnContent,
    },
    onDelete: { ...CASCADE, prepare: countTurns },
  },
  {
    table: 'tool_call',
    data: 'Ids and tools of the tool calls among the parts.',
    onEdit: { how: 'Kept, so that turns with results of these calls still refer to existing calls.' },
    onErase: { how: 'Rows of every version are deleted by turn_id.', erase: eraseToolCalls },
    onDelete: CASCADE,
  },
  {
    table: 'tool_result',
    data: 'Ids of the tool calls that the results among the parts answer.',
    onEdit: { how: 'Kept: only results in the newest versions of turns are counted as answers.' },
    onErase: { how: 'Rows of every version are deleted by turn_id.', erase: eraseToolResults },
    onDelete: CASCADE,
  },
  {
    table: 'stream',
    data: "The lease of an open turn's writer.",
    onEdit: { how: 'Nothing to do: an open turn cannot be superseded.' },
    onErase: {
      how: 'The row of an open turn is deleted, so that its writer can neither append nor commit.',
      erase: endStreams,
    },
    onDelete: CASCADE,
  },
  {
    table: 'stream_part',
    data: 'A part of an open turn other than its text, such as a tool call.',
    onEdit: { how: 'Nothing to do: an open turn cannot be superseded.' },
    onErase: { how: 'Deleted with the stream, by ON DELETE CASCADE.' },
    onDelete: CASCADE,
  },
  {
    table: 'chunk',
    data: 'The text of an open turn and of its parts.',
    onEdit: { how: 'Nothing to do: an open turn cannot be superseded.' },
    onErase: { how: 'Deleted with the stream, by ON DELETE CASCADE.' },
    onDelete: CASCADE,
  },
  {
    table: 'held_text',
    data: 'The last text of an open turn or of a part of it, which redaction has not released yet.',
    onEdit: { how: 'Nothing to do: an open turn cannot be superseded.' },
    onErase: { how: 'Deleted with the stream, by ON DELETE CASCADE.' },
    onDelete: CASCADE,
  },
  {
    table: 'embedding_cursor',
    data: 'The seq up to which an embedder has processed the journal.',
    onEdit: { how: 'Kept: the SUPERSEDED entry comes after it, so the newer version is embedded next.' },
    onErase: { how: 'Kept: a seq contains no content.' },
    onDelete: CASCADE,
  },
  {
    table: 'turn_vector',
    data: 'The vector of the text, by each embedder.',
    onEdit: { how: 'Kept, like the turn, for viewers whose history window closes before the edit.' },
    onErase: {
      how:
        'Vectors of every version are deleted by position, and vectors in memory are released as on delete. Only '
        + 'COMMITTED turns are embedded, so none is written again.',
      erase: eraseVectors,
    },
    onDelete: {
      how: 'Deleted with the conversation; the embedded database also keeps vectors in memory.',
      by: 'CASCADE',
      release: ({ vectors }, conversationId) => vectors.forget(conversationId),
    },
  },
  {
    table: 'summary',
    data: 'A text written from turns without an audience, and the number of these turns and their tokens.',
    onEdit: {
      how:
        'Summaries that cover the turn or a later one become stale; summaries that they replaced become current again '
        + 'if they end before the turn.',
      update: revokeCoverage,
    },
    onErase: {
      how: 'As on edit. All summaries that cover the turn, including stale ones, are then deleted: they may quote it.',
      erase: eraseSummaries,
    },
    onDelete: { ...CASCADE, prepare: countSummaries },
  },
  ...AGENT_DERIVATIVES,
  {
    table: 'shared_state',
    data: 'The values that participants have written by updateSharedState, not from turns.',
    onEdit: { how: 'Kept: no value is computed from a turn.' },
    onErase: {
      how:
        'Kept: no value is computed from a turn. deleteSharedState deletes a value. Erasing a user deletes the values that '
        + 'only this user, one of the writers, has changed or sees.',
    },
    onDelete: { ...CASCADE, prepare: countSharedStates },
  },
  {
    table: 'shared_state_change',
    data:
      'The actor, the version and the patch of each change of a value, the value that it replaced if a legal hold keeps it, '
      + 'and the digest client_hash.',
    onEdit: { how: 'Kept, like the values.' },
    onErase: {
      how:
        'Kept, like the values. Deleting a value, or erasing the user who made the change, sets patch, replaced and '
        + 'client_hash to null.',
    },
    onDelete: CASCADE,
  },
  {
    table: 'attachment',
    data: 'The name, type, size and hash of a file that was uploaded for a turn. Its bytes are in the file store.',
    onEdit: { how: 'Kept, like the older version: the newer one may use the attachments again.' },
    onErase: {
      how:
        'Rows at the positions are deleted. The trigger queue_file_deletion queues their files, whose bytes a sweep deletes '
        + 'unless another attachment of the tenant has them.',
      erase: eraseAttachments,
    },
    onDelete: { ...CASCADE, prepare: countAttachments },
  },
  {
    table: 'conversation_progress',
    data: 'The seqs up to which the journal was read for facts, and up to which turns were counted.',
    onEdit: { how: 'Kept: the SUPERSEDED entry comes after them, so facts are extracted from the newer version.' },
    onErase: { how: 'Kept: seqs contain no content.' },
    onDelete: CASCADE,
  },
  ...MEMORY_DERIVATIVES,
]

/**
 * The other tables, with their contents. A table outside the Postgres schema `public` has its schema in the name.
 * @internal
 */
export const NOT_DERIVED: Readonly<Record<string, string>> = {
  tenant_settings: 'Defaults of new conversations, the redaction mode and the token quota.',
  tenant_usage: 'Sums of tokens by day, without conversations.',
  erasure: 'Requests to erase, and receipts: ids, numbers and hashes.',
  held_user: 'Ids of users whose data must be kept.',
  mcp_session: 'The actor of each session, and the keys of conversations; deleted a week after its last use.',
  transfer:
    'Progress of exports and imports: ids, numbers and hashes, and the key of a conversation that is being imported.',
  api_key: 'The actor, the rights and the conversations of each API key, and hashes of its secrets.',
  audit_head: 'Numbers and hashes of lines of the audit log.',
  audit_line: 'Records of operations: names of actors, times, ids, numbers and hashes, and no text of turns.',
  embedder: 'Names and dimensions of models.',
  file_deletion: 'Hashes of files whose bytes are to be deleted.',
  file_key: 'The secret that signs the URLs of attachments.',
  _prisma_migrations: 'The migrations that were applied.',
  'pgboss.job': 'Jobs: the tenant, the id of the conversation or user, and the last error, which quotes no turn.',
  'pgboss.archive': 'Jobs that ended over an hour ago; deleted after a day.',
  'pgboss.queue': 'Names and settings of queues.',
  'pgboss.schedule': 'Not used.',
  'pgboss.subscription': 'Not used.',
  'pgboss.version': "The version of pg-boss's schema.",
}
