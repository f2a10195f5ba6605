// The part of the register in derivatives.ts for stored contexts, which is last in the order of locks. A stored context
// quotes turns, facts, summaries and profiles, of other conversations too; a message loses its whole content with any
// of its sources.

import {
  loseConversations,
  loseDeletedSummaries,
  loseSources,
} from '../../../store/sql/trust/erasure/stored-contexts.ts'
import { CASCADE, type Derivative } from './derivative.ts'
import type { PrepareDelete } from './derivative-steps.ts'
import type { PrepareErase } from './erase-steps.ts'

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

export const CONTEXT_DERIVATIVES: readonly Derivative[] = [
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
