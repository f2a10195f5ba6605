// Compares the lines of conversations that the store has with the store, and counts the results. Nothing is written.

import { Conflict } from '../../../../errors.ts'
import {
  readConversationSettings,
  readEntries,
  readParticipantsAfter,
  readSharedStatesOf,
  type ExportedObject,
} from '../../../../store/sql/trust/transfer/exported-conversation.ts'
import { findAttachments } from '../../../../store/sql/trust/transfer/exported-attachments.ts'
import type { Platform } from '../../../kernel/platform.ts'
import type { EntryLine, StateLine, Values } from '../format.ts'
import { count, type Batch } from './batch.ts'
import { asLine, compareEntry, isUnchanged } from './import-compare.ts'

type Existing = Batch['existing'][number]
type Deps = Pick<Platform, 'pool' | 'db'>

/** Maximum number of rows that one read returns, and number of bytes after which it ends. */
const READ = { limit: 500, bytes: 4 * 1024 * 1024 }

/** Yields the stored entries from the first to the last of the lines. */
async function* readStored(
  deps: Deps,
  tenant: string,
  conversationId: string,
  { from, to }: { from: number; to: number },
) {
  for (let after = from - 1; after < to;) {
    const found = await readEntries(deps.pool, tenant, { conversationId, after, through: to, ...READ })
    if (found.length === 0) return
    yield* found
    after = found.at(-1)!.seq as number
  }
}

async function compareEntries(
  deps: Deps,
  tenant: string,
  conversationId: string,
  { lines, report }: { lines: readonly Existing[]; report: Record<string, number> },
): Promise<void> {
  const stored = new Map<number, ExportedObject>()
  const range = { from: (lines[0]!.line as EntryLine).seq, to: (lines.at(-1)!.line as EntryLine).seq }
  for await (const entry of readStored(deps, tenant, conversationId, range)) stored.set(entry.seq as number, entry)
  for (const { line, number } of lines) {
    const entry = line as EntryLine
    const found = stored.get(entry.seq)
    const result = compareEntry(entry, found && asLine(found))
    const type = entry.turn ? 'turn' : entry.summary ? 'summary' : 'entry'
    if (result === 'differs') {
      const subject = entry.turn?.id ?? entry.summary?.id ?? `entry ${entry.seq}`
      throw new Conflict(
        `line ${number}: the conversation ${conversationId} exists, but ${subject} has other content in the store. `
          + 'Import the file into another tenant, or delete the conversation first.',
      )
    }
    if (type !== 'entry') count(report, type, result)
  }
}

async function readParticipants(deps: Deps, tenant: string, conversationId: string): Promise<Map<string, Values>> {
  const byActor = new Map<string, Values>()
  for (let after = ''; ;) {
    const found = await readParticipantsAfter(deps.pool, tenant, { conversationId, after, limit: READ.limit })
    for (const each of found) byActor.set(each.actor as string, asLine(each))
    if (found.length < READ.limit) return byActor
    after = found.at(-1)!.actor as string
  }
}

async function compareSharedStates(
  deps: Deps,
  tenant: string,
  conversationId: string,
  { lines, report }: { lines: readonly Existing[]; report: Record<string, number> },
): Promise<void> {
  const stored = new Map(
    (await readSharedStatesOf(deps.pool, tenant, conversationId)).map((each) => [each.key, asLine(each)]),
  )
  for (const { line } of lines) {
    const found = stored.get((line as StateLine).key)
    count(report, 'sharedState', found && isUnchanged(line, found) ? 'unchanged' : 'kept')
  }
}

/**
 * Compares the lines of existing conversations with the store, and adds the results to the report of the batch.
 * @throws Conflict for other content, with the number of the line and the id of the object
 */
export async function compareExisting(deps: Deps, tenant: string, { existing, report }: Batch): Promise<void> {
  const byConversation = new Map<string, Existing[]>()
  for (const each of existing) {
    const lines = byConversation.get(each.conversationId)
    if (lines) lines.push(each)
    else byConversation.set(each.conversationId, [each])
  }
  for (const [id, lines] of byConversation) {
    const conversation = lines.find(({ line }) => line.type === 'conversation')
    if (conversation) {
      const stored = await readConversationSettings(deps.pool, tenant, id)
      if (!stored) throw new Conflict(`line ${conversation.number}: the conversation ${id} was deleted meanwhile.`)
      count(report, 'conversation', isUnchanged(conversation.line, asLine(stored)) ? 'unchanged' : 'kept')
    }
    const entries = lines.filter(({ line }) => line.type === 'entry')
    if (entries.length > 0) await compareEntries(deps, tenant, id, { lines: entries, report })
    const attachments = lines.filter(({ line }) => line.type === 'attachment').map(({ line }) => line.id as string)
    if (attachments.length > 0) {
      const stored = await findAttachments(deps.db.of(tenant), tenant, attachments)
      for (const each of attachments) count(report, 'attachment', stored.has(each) ? 'unchanged' : 'kept')
    }
    const states = lines.filter(({ line }) => line.type === 'sharedState')
    if (states.length > 0) await compareSharedStates(deps, tenant, id, { lines: states, report })
    const participants = lines.filter(({ line }) => line.type === 'participant')
    if (participants.length === 0) continue
    const stored = await readParticipants(deps, tenant, id)
    for (const { line } of participants) {
      const found = stored.get(line.actor as string)
      count(report, 'participant', found && isUnchanged(line, found) ? 'unchanged' : 'kept')
    }
  }
}
