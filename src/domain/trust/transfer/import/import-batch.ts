// Decides what an import does with each line of a batch, and collects the rows to write, so that each table is written
// by one statement however many conversations the batch has. Pure, except for the counts and rows that it collects.

import { Conflict } from '../../../../errors.ts'
import type { LateFields } from '../../../../store/sql/trust/transfer/imported-conversation.ts'
import { saltOf } from '../../../../text/words/hashed-terms.ts'
import type { ContentPart } from '../../../turn/content.ts'
import type {
  AttachmentLine,
  BytesLine,
  ConversationLine,
  EntryLine,
  ListLine,
  ParticipantLine,
  StateLine,
  Values,
} from '../format.ts'
import { count, newBatch, type Batch, type Stored } from './batch.ts'
import { isErasedState, withoutContent, withoutDetails, withoutErased, withoutTitle } from './import-erased.ts'
import { addAttachment, addBytes, addMissing } from './import-files.ts'
import type { Numbered, PreparedFact, PreparedTurn } from './import-lines.ts'
import { mayQuote, NO_SHARED_STATE, withErased, withSharedState, type ImportState } from './import-state.ts'

const conflict = (number: number, message: string) => new Conflict(`line ${number}: ${message}`)

/** @throws Conflict if the store has another conversation with the id or the key, or an older state of it */
function modeOf(line: ConversationLine, number: number, { erased, conversations, now }: Stored): ImportState['mode'] {
  const { id, key, keyScope = '' } = line
  if (erased.isConversation(id)) return 'SKIPPED'
  const stored = conversations.find((each) => each.id === id)
  if (stored) {
    if (stored.importId !== null) {
      throw conflict(
        number,
        `the conversation ${id} is being written by the import ${stored.importId}. Cancel that import first.`,
      )
    }
    if (stored.createdAt.toISOString() !== new Date(line.createdAt as string).toISOString()) {
      throw conflict(number, `the store has another conversation with the id ${id}.`)
    }
    if (stored.lastSeq < line.lastSeq) {
      throw conflict(
        number,
        `the store has an older state of the conversation ${id}: ${stored.lastSeq} entries, and the file has `
          + `${line.lastSeq}. Delete the conversation first, or import the file into another tenant.`,
      )
    }
    return 'EXISTING'
  }
  if (line.expiresAt !== undefined && Date.parse(line.expiresAt as string) <= now) return 'SKIPPED'
  const other =
    key === undefined ? undefined : conversations.find((each) => each.key === key && each.keyScope === keyScope)
  if (other) {
    throw conflict(number, `the conversation ${other.id} has the key ${JSON.stringify(key)} of the conversation ${id}.`)
  }
  return 'NEW'
}

function openConversation(batch: Batch, { line, number }: Numbered<ConversationLine>, stored: Stored): void {
  const mode = modeOf(line, number, stored)
  const { id, owner, lastSeq, updatedAt, agentTurns, extractedThrough } = line
  const { key, keyScope, visibility, automaticTitle, expiresAt, legalHold } = line as Values & Partial<LateFields>
  const salt = saltOf(stored.tenant, owner)
  const late = { key, keyScope, visibility: visibility!, automaticTitle, expiresAt, legalHold }
  const journal = { updatedAt, agentTurns, extractedThrough } as ImportState['journal']
  batch.state = {
    id,
    mode,
    salt,
    seq: 0,
    lastSeq,
    hasHead: false,
    participants: 0,
    sharedState: NO_SHARED_STATE,
    fileBytes: 0,
    file: null,
    erased: null,
    late,
    journal,
  }
  if (mode === 'EXISTING') batch.existing.push({ line, number, conversationId: id })
  if (mode === 'SKIPPED') count(batch.report, 'conversation', stored.erased.isConversation(id) ? 'erased' : 'expired')
  if (mode !== 'NEW') return
  const isErased = stored.erased.isUser(owner, line.createdAt)
  batch.conversations.push({ ...(isErased ? withoutTitle(line) : line), salt })
  count(batch.report, 'conversation', 'added')
}

/** Collects the tool calls and the results of a turn, whose parts name the calls that they answer. */
function addToolParts(batch: Batch, conversationId: string, { id: turnId, parts }: PreparedTurn): void {
  for (const part of (parts ?? []) as ContentPart[]) {
    if (part.type === 'toolCall') batch.calls.push({ conversationId, callId: part.callId, turnId, name: part.name })
    if (part.type !== 'toolResult' || part.callPosition === undefined) continue
    const { callId, callPosition, approvalId } = part
    batch.results.push({ conversationId, callId, callPosition, turnId, approvalId })
  }
}

function addEntry(batch: Batch, { line, number }: Numbered<EntryLine>, { erased }: Stored): void {
  const state = batch.state!
  batch.state = { ...state, seq: line.seq }
  const { id: conversationId, mode } = state
  if (mode === 'EXISTING') return void batch.existing.push({ line, number, conversationId })
  if (mode === 'SKIPPED') return
  const { turn: given, summary, seq, type: _type, ...entry } = line
  batch.entries.push({
    ...entry,
    seq,
    conversationId,
    turnId: given?.id ?? entry.turnId,
    summaryId: summary?.id ?? entry.summaryId,
  })
  if (given) {
    const isErased = given.status !== 'ERASED' && erased.isUser(given.actor, given.createdAt)
    const turn: PreparedTurn = isErased ? withoutContent(given) : given
    if (isErased) batch.state.erased = withErased(state.erased, given.position)
    batch.turns.push({ ...turn, conversationId, seq })
    addToolParts(batch, conversationId, turn)
    count(batch.report, 'turn', isErased ? 'erased' : 'added')
  }
  if (summary) {
    const isErased = mayQuote(state.erased, summary)
    if (!isErased) batch.summaries.push({ ...summary, conversationId, seq })
    count(batch.report, 'summary', isErased ? 'erased' : 'added')
  }
}

/** Writes the head of the journal after the last entry. */
function closeJournal(batch: Batch): void {
  const state = batch.state!
  if (state.hasHead) return
  batch.state = { ...state, hasHead: true }
  if (state.mode === 'NEW') {
    batch.heads.push({ conversationId: state.id, lastSeq: state.lastSeq, ...state.journal })
  }
}

function addParticipant(batch: Batch, { line, number }: Numbered<ParticipantLine>, { erased }: Stored): void {
  closeJournal(batch)
  batch.state = { ...batch.state!, participants: batch.state!.participants + 1 }
  const { id: conversationId, mode } = batch.state
  if (mode === 'EXISTING') return void batch.existing.push({ line, number, conversationId })
  if (mode === 'SKIPPED') return
  const isErased = erased.isUser(line.actor, line.joinedAt)
  const { type: _type, ...participant } = isErased ? withoutDetails(line) : line
  batch.participants.push({ ...participant, conversationId })
  count(batch.report, 'participant', isErased ? 'erased' : 'added')
}

function addSharedState(batch: Batch, { line, number }: Numbered<StateLine>, { erased }: Stored): void {
  closeJournal(batch)
  batch.state = { ...batch.state!, sharedState: withSharedState(batch.state!.sharedState, line) }
  const { id: conversationId, mode } = batch.state
  if (mode === 'EXISTING') return void batch.existing.push({ line, number, conversationId })
  if (mode === 'SKIPPED') return
  const isErased = isErasedState(line, erased)
  const { type: _type, ...state } = line
  if (!isErased) batch.sharedStates.push({ ...state, conversationId })
  count(batch.report, 'sharedState', isErased ? 'erased' : 'added')
}

function endConversation(batch: Batch): void {
  closeJournal(batch)
  const { id, mode, late, erased } = batch.state!
  batch.state = null
  if (mode === 'NEW') batch.published.push({ id, ...late, dropsTitle: erased !== null })
}

function addFact(batch: Batch, line: PreparedFact, { erased }: Stored): void {
  const fact = withoutErased(line, erased)
  if (fact) batch.facts.push(fact as PreparedFact)
  else count(batch.report, 'fact', 'erased')
}

function addListed(batch: Batch, line: ListLine, { erased }: Stored): void {
  if (line.type === 'profile' && erased.isUser(line.userId, line.updatedAt)) count(batch.report, 'profile', 'erased')
  else batch.lists.push(line)
}

/**
 * Collects what the lines write. `report` and `state` are those before the batch.
 * @throws Conflict with the number of the line
 */
export function collect(
  lines: readonly Numbered[],
  stored: Stored,
  report: Record<string, number>,
  state: ImportState | null,
): Batch {
  const batch = newBatch(report, state)
  for (const numbered of lines) {
    const { line } = numbered
    switch (line.type) {
      case 'conversation':
        openConversation(batch, numbered as Numbered<ConversationLine>, stored)
        break
      case 'attachment':
        addAttachment(batch, numbered as Numbered<AttachmentLine>, stored)
        break
      case 'fileBytes':
        addBytes(batch, numbered as Numbered<BytesLine>, stored)
        break
      case 'fileMissing':
        addMissing(batch)
        break
      case 'entry':
        addEntry(batch, numbered as Numbered<EntryLine>, stored)
        break
      case 'participant':
        addParticipant(batch, numbered as Numbered<ParticipantLine>, stored)
        break
      case 'sharedState':
        addSharedState(batch, numbered as Numbered<StateLine>, stored)
        break
      case 'conversationEnd':
        endConversation(batch)
        break
      case 'fact':
        addFact(batch, line as PreparedFact, stored)
        break
      case 'end':
        batch.isEnd = true
        break
      default:
        addListed(batch, line, stored)
    }
  }
  return batch
}
