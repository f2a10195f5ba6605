// The part of the register in derivatives.ts for facts, profiles and stored contexts, which are last in the order of
// locks. A stored context quotes turns, facts, summaries and profiles, of other conversations too; a message loses its
// whole content with any of its sources.

import {
  loseConversations,
  loseDeletedSummaries,
  loseSources,
} from '../../../store/sql/trust/erasure/stored-contexts.ts'
import { CASCADE, type Derivative } from './derivative.ts'
import {
  deleteProfiles,
  removeConversationSources,
  supersedeFactsOfTurn,
  type PrepareDelete,
} from './derivative-steps.ts'
import { eraseFacts, eraseProfiles, type PrepareErase } from './erase-steps.ts'

/**
 * Erases the messages that quote the versions, the deleted summaries that cover them, or the facts to delete. Runs
 * after `eraseFacts`, when only these facts still have sources in the versions.
 */
const eraseMessages: PrepareErase = async (tx, { conversationId, turns }) => {
  const turnIds = turns.map(({ id }) => id)
  const facts = await tx.factSource.findMany({ where: { turnId: { in: turnIds } }, select: { factId: true } })
  const quoting = await loseSources(tx, [...turnIds, ...facts.map(({ factId }) => factId)])
  return { rows: quoting + (await loseDeletedSummaries(tx, conversationId)) }
}

/**
 * Erases the messages of other conversations that quote a turn or a fact of the conversation. Runs after
 * `removeConversationSources`, when only the facts to delete are left in the conversation.
 */
const eraseQuotes: PrepareDelete = async (tx, { conversationId }) => {
  const facts = await tx.fact.findMany({ where: { conversationId }, select: { id: true } })
  const quoting = await loseConversations(tx, [conversationId])
  return {
    rows:
      quoting
      + (await loseSources(
        tx,
        facts.map(({ id }) => id),
      )),
  }
}

const countContexts: PrepareDelete = async (tx, { conversationId }) => ({
  rows: await tx.storedContext.count({ where: { conversationId } }),
})

export const MEMORY_DERIVATIVES: readonly Derivative[] = [
  {
    table: 'fact',
    data: 'Statements extracted from the text, with their terms and the id of the turn.',
    onEdit: {
      how:
        'Active facts whose only source is the older version are superseded with reason UPDATED; their duplicates from '
        + 'other turns become active again.',
      update: supersedeFactsOfTurn,
    },
    onErase: {
      how:
        'Facts whose only sources are versions of the turn are deleted, including superseded ones. The facts that they '
        + 'superseded become active again, as on delete.',
      erase: eraseFacts,
    },
    onDelete: {
      how:
        'Facts without a source in another conversation are deleted with the conversation. Facts of other '
        + 'conversations that they superseded become active again.',
      by: 'CASCADE',
      prepare: removeConversationSources,
    },
  },
  {
    table: 'fact_source',
    data: 'The turns and conversations that assert a fact, with the audience, author, time and number of assertions.',
    onEdit: { how: 'The older version is removed from the sources of facts that have others.' },
    onErase: {
      how: 'Every version is removed from the sources of facts that have others; the other facts are deleted.',
    },
    onDelete: CASCADE,
  },
  {
    table: 'fact_vector',
    data: 'Vectors of the facts.',
    onEdit: { how: 'Kept with the fact: recall searches active facts only.' },
    onErase: { how: 'Deleted with the facts, by ON DELETE CASCADE.' },
    onDelete: { how: 'Deleted with the facts.', by: 'CASCADE' },
  },
  {
    table: 'user_profile',
    data: 'A text written from the facts of one visibility set, its key, and the ids of these facts.',
    onEdit: { how: 'Kept until the next refresh, which writes it again without the superseded facts.' },
    onErase: {
      how: 'Profiles made from a deleted fact are deleted; the next refresh writes them again.',
      erase: eraseProfiles,
    },
    onDelete: {
      how: 'Profiles made from any fact of the conversation are deleted; the next refresh writes them again.',
      by: 'STATEMENT',
      prepare: deleteProfiles,
    },
  },
  {
    table: 'user_progress',
    data: "The number of a user's turns in all conversations, and how many of them background work has handled.",
    onEdit: { how: 'Kept: a newer version is not counted as a turn.' },
    onErase: { how: 'Kept: the numbers name no turn.' },
    onDelete: {
      how: 'Kept: the numbers determine when background work runs next, and name no conversation.',
      by: 'KEPT',
    },
  },
  {
    table: 'profile_progress',
    data:
      'The number of changes of the facts about a user in one visibility set, whose key may contain the id of a '
      + 'conversation, and how many of them the profile accounts for.',
    onEdit: { how: 'A change of the facts of the turn is counted.' },
    onErase: { how: 'A change of the facts of the turn is counted; the numbers name no turn.' },
    onDelete: {
      how: 'Rows of the visibility sets of the conversation are deleted with its profiles; the others are kept.',
      by: 'KEPT',
    },
  },
  {
    table: 'former_state',
    data:
      'Values that rows had before an update, for reads as of an earlier time: system prompts, texts of profiles, names and '
      + 'kinds of participants, pins, states of facts and summaries, and the sources of facts that edits removed.',
    onEdit: {
      how: 'A source that is removed from a fact is kept here. An update by the edit keeps the values before it.',
    },
    onErase: {
      how:
        'Sources that are versions of the turn are deleted, with the facts; so are the texts of profiles that were made '
        + 'from deleted facts, and the values of deleted facts.',
    },
    onDelete: {
      how:
        'Deleted with the conversation and its facts. Texts of profiles that were made from its facts are deleted with the '
        + 'profiles.',
      by: 'CASCADE',
    },
  },
  {
    table: 'stored_context',
    data: 'The manifest of a context: ids of sources, token counts and reasons, and no text.',
    onEdit: { how: 'Kept: the context shows the version that the model saw.' },
    onErase: {
      how: 'Kept: it then names sources without content. The contexts in the view of an erased user are deleted.',
    },
    onDelete: { ...CASCADE, prepare: countContexts },
  },
  {
    table: 'stored_context_message',
    data: 'The text and the name of each message of a context.',
    onEdit: { how: 'Kept: the context shows the version that the model saw.' },
    onErase: {
      how:
        'A message loses its content if it quotes a version of the turn, a summary or a fact that is deleted, or a profile '
        + 'made from such a fact, in contexts of any conversation. So does a message with a turn whose content retention '
        + 'removes.',
      erase: eraseMessages,
    },
    onDelete: {
      how: 'Deleted with the contexts. Messages of other conversations that quote its turns or facts lose their content.',
      by: 'CASCADE',
      prepare: eraseQuotes,
    },
  },
  {
    table: 'stored_context_source',
    data: 'Ids of the sources of each message, and of their conversations.',
    onEdit: { how: 'Kept: ids contain no content.' },
    onErase: { how: 'Marked as gone: the ids contain no content.' },
    onDelete: {
      how: 'Deleted with the contexts. Sources of contexts of other conversations are marked as gone.',
      by: 'CASCADE',
    },
  },
]
