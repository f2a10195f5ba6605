// Writes the rows of a batch inside the transaction that also stores the progress of the import, so that a batch is
// written completely or not at all, and exactly once.

import { Conflict } from '../../../../errors.ts'
import type { Tx } from '../../../../store/db/db.ts'
import {
  insertConversations,
  insertEntries,
  insertParticipants,
  insertSharedStates,
  insertSummaries,
  insertToolParts,
  insertTurns,
  publishConversations,
  writeJournalHeads,
} from '../../../../store/sql/trust/transfer/imported-conversation.ts'
import {
  findErasures,
  findStoredFacts,
  hasErasuresSince,
  insertListed,
  readAuthors,
} from '../../../../store/sql/trust/transfer/imported-memory.ts'
import {
  allowMissingAttachments,
  insertAttachments,
} from '../../../../store/sql/trust/transfer/exported-attachments.ts'
import { endDelays, isDelayed } from '../../../../store/sql/conversation/attachment/file-deletions.ts'
import { hashOfUser } from '../../erasure/receipt.ts'
import type { Platform } from '../../../kernel/platform.ts'
import type { ListLine } from '../format.ts'
import { count, type Batch } from './batch.ts'
import { writeFactLines } from './import-facts.ts'
import { withImportedAttachments } from './import-parts.ts'
import { ABANDONED_MS } from '../transfer.ts'

const STAGE_SECONDS = ABANDONED_MS / 1000

const usedId = (kind: string, id: string) =>
  new Conflict(
    `The id ${id} is used by another ${kind}, in this tenant or another one. Nothing of the batch was written.`,
  )

/** Keeps the bytes of the attachments, and makes the chunks of which they were put together due. @throws Conflict */
async function keepBytes(tx: Tx, tenant: string, { attachments, finishedChunks }: Batch): Promise<void> {
  const names = new Set(attachments.map(({ line }) => line.sha256))
  for (const sha256 of [...names].sort()) {
    if (await isDelayed(tx, { tenant, sha256 })) continue
    throw new Conflict('Writing the files took too long, and they may be deleted already. Continue the import again.')
  }
  await endDelays(tx, tenant, finishedChunks)
}

/** @throws Conflict if the id of a conversation, a turn or a summary is used */
async function writeTranscripts(tx: Tx, tenant: string, batch: Batch): Promise<void> {
  const { conversations } = batch
  if (conversations.length > 0) {
    const written = new Set(await insertConversations(tx, tenant, conversations, STAGE_SECONDS))
    const used = conversations.find(({ id }) => !written.has(id))
    if (used) throw usedId('conversation', used.id)
  }
  const files = batch.attachments.map(({ line: { type: _type, ...line }, conversationId }) => ({
    ...line,
    conversationId,
  }))
  const attachment = await insertAttachments(tx, files)
  if (attachment !== null) throw usedId('attachment', attachment)
  await keepBytes(tx, tenant, batch)
  if (batch.turns.length > 0) await allowMissingAttachments(tx)
  await insertEntries(tx, batch.entries)
  const turn = await insertTurns(tx, await withImportedAttachments(tx, batch.turns))
  if (turn !== null) throw usedId('turn', turn)
  await insertToolParts(tx, batch)
  const summary = await insertSummaries(tx, batch.summaries)
  if (summary !== null) throw usedId('summary', summary)
  await writeJournalHeads(tx, batch.heads)
  await insertParticipants(tx, batch.participants)
  await insertSharedStates(tx, batch.sharedStates)
}

/**
 * Checks that no author of the conversations was erased since the import began: lines that were written before contain
 * what was erased. @throws Conflict
 */
async function checkErasedMeanwhile(
  { integrityKeys }: Pick<Platform, 'integrityKeys'>,
  tx: Tx,
  { tenant, since }: { tenant: string; since: Date },
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0 || !(await hasErasuresSince(tx, tenant, since))) return
  const authors = await readAuthors(tx, ids)
  const subjects = authors.flatMap((author) => [author, hashOfUser(integrityKeys, tenant, author)])
  const found = (await findErasures(tx, tenant, subjects)).find(
    ({ kind, createdAt }) => kind === 'USER' && createdAt > since,
  )
  if (found) {
    throw new Conflict(
      'A user whose turns or shared state are being imported was erased meanwhile. Cancel the import and start it again, so that the '
        + 'content of the user is left out.',
    )
  }
}

/**
 * Returns the profile in the visibility set that its facts have in the store; null if the store does not have all of
 * them, or has them in several sets.
 */
function inSetOfFacts(profile: ListLine, visibilities: ReadonlyMap<string, string>): ListLine | null {
  const sets = [...new Set((profile.madeOf as string[]).map((id) => visibilities.get(id)))]
  const visibility = sets.length === 0 ? '' : sets[0]
  return sets.length > 1 || visibility === undefined ? null : { ...profile, visibility }
}

/** Writes profiles of which the store has all facts, receipts and legal holds. */
async function writeLists(tx: Tx, tenant: string, lists: readonly ListLine[], report: Batch['report']): Promise<void> {
  const profiles = lists.filter(({ type }) => type === 'profile')
  const madeOf = [...new Set(profiles.flatMap((profile) => profile.madeOf as string[]))]
  const facts = await findStoredFacts(tx, tenant, madeOf)
  const visibilities = new Map(facts.map(({ id, visibility }) => [id, visibility]))
  for (const type of ['profile', 'erasure', 'heldUser'] as const) {
    const given = lists.filter((line) => line.type === type)
    const complete = given.flatMap((line) => (type === 'profile' ? (inSetOfFacts(line, visibilities) ?? []) : line))
    const written = await insertListed(tx, tenant, type, complete)
    count(report, type, 'added', written)
    count(report, type, 'unchanged', complete.length - written)
    count(report, type, 'erased', given.length - complete.length)
  }
}

/** Writes the rows of the batch, and adds to its report. @throws Conflict */
export async function writeBatch(
  deps: Pick<Platform, 'integrityKeys'>,
  tx: Tx,
  { tenant, since }: { tenant: string; since: Date },
  batch: Batch,
): Promise<void> {
  await writeTranscripts(tx, tenant, batch)
  await checkErasedMeanwhile(
    deps,
    tx,
    { tenant, since },
    batch.published.map(({ id }) => id),
  )
  await publishConversations(tx, batch.published)
  await writeFactLines(tx, tenant, batch.facts, batch.report)
  await writeLists(tx, tenant, batch.lists, batch.report)
}
