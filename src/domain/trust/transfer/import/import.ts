// Writes the lines of an import, one batch at a time. Each batch names the number of lines before it, and is written
// together with the new number in one transaction: a batch that is sent again changes nothing, and an import that was
// interrupted continues where it stopped. A conversation is visible once all its lines are written.

import { z } from 'zod'
import { Conflict, InvalidInput } from '../../../../errors.ts'
import { isRefusedData, type Tx } from '../../../../store/db/db.ts'
import {
  lockTransfer,
  readTransfer,
  saveTransfer,
  type TransferRow,
} from '../../../../store/sql/trust/transfer/transfers.ts'
import { findStored } from '../../../../store/sql/trust/transfer/imported-conversation.ts'
import { withTransaction } from '../../../../store/db/tx.ts'
import { auditRecord } from '../../../kernel/audit/line.ts'
import { authorize } from '../../../kernel/rights/authorize.ts'
import { count, id, parse } from '../../../kernel/input.ts'
import type { Files } from '../../../conversation/attachment/attachment.ts'
import type { Platform } from '../../../kernel/platform.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { parseManifest } from '../format.ts'
import type { Batch } from './batch.ts'
import { collect } from './import-batch.ts'
import { findErased } from './import-erased.ts'
import { storeFiles } from './import-files.ts'
import { compareExisting } from './import-existing.ts'
import { subjectsOf } from './import-facts.ts'
import { prepareLines, readLines, type Numbered } from './import-lines.ts'
import type { ImportState } from './import-state.ts'
import { writeBatch } from './import-write.ts'
import { findTransfer, toTransfer, type Transfer } from '../transfer.ts'

/** Maximum number of lines of one batch. */
export const BATCH_LINES = 1000

const continueImportInput = z.object({
  transferId: id('transfer'),
  offset: count,
  lines: z.array(z.string()).min(1, 'must not be empty').max(BATCH_LINES, `must have at most ${BATCH_LINES} lines`),
})
export type ContinueImportInput = z.input<typeof continueImportInput>

type ImportDeps = Platform & { files: Files }

/** @throws Conflict unless the transfer can be continued after `offset` lines */
function checkOffset({ state, lines }: TransferRow, offset: number): void {
  if (state === 'CANCELLED') throw new Conflict('The import was cancelled, or not continued in time. Start it again.')
  if (offset > lines) {
    throw new Conflict(
      `offset is ${offset}, but ${lines} lines of the file were imported. Continue with line ${lines + 2}.`,
    )
  }
}

async function readStored(deps: Platform, { tenant, id: transferId }: TransferRow, lines: readonly Numbered[]) {
  const db = deps.db.of(tenant)
  const conversations = lines.flatMap(({ line }) => (line.type === 'conversation' ? [line] : []))
  return {
    tenant,
    transferId,
    now: deps.clock.Date.now(),
    erased: await findErased(deps, db, tenant, lines),
    conversations: await findStored(db, tenant, conversations),
  }
}

/** Checks that the conversation that the import was writing exists. @throws Conflict */
async function checkStaged(tx: Tx, { tenant, conversationId }: TransferRow, state: ImportState | null): Promise<void> {
  if (state?.mode !== 'NEW') return
  const found = await findStored(tx, tenant, [{ id: conversationId! }])
  if (found.length === 0) {
    throw new Conflict(
      `The conversation ${conversationId} that the import was writing was deleted meanwhile. Cancel the import and start it again.`,
    )
  }
}

type Read = { chain: string; counts: Record<string, number>; number: number }

/** Whether another call has continued the import, or ended it, since `before` was read. */
const isContinued = (before: TransferRow, now: TransferRow): boolean =>
  now.lines !== before.lines || now.state !== 'RUNNING'

/** Writes the batch and the progress, unless another call has continued the import. */
async function write(
  deps: Platform,
  viewer: Viewer,
  row: TransferRow,
  { batch, read }: { batch: Batch; read: Read },
): Promise<Transfer> {
  const { tenant } = viewer
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const locked = (await lockTransfer(tx, tenant, row.id))!
    if (isContinued(row, locked)) return toTransfer(locked)
    await checkStaged(tx, locked, row.progress as ImportState | null)
    await writeBatch(deps, tx, { tenant, since: row.createdAt }, batch)
    const now = new Date(deps.clock.Date.now())
    const { chain, counts } = read
    const { report, state, isEnd } = batch
    const completedAt = isEnd ? now : null
    const conversationId = state?.mode === 'NEW' ? state.id : null
    const lines = row.lines + read.number
    await saveTransfer(tx, row.id, { lines, chain, counts, report, progress: state, conversationId, completedAt }, now)
    if (isEnd) {
      const details = { ...report, lines, sha256: chain }
      await deps.audit.append(tx, [auditRecord(viewer, 'completeImport', [row.id], { details })])
    }
    const published = batch.published.flatMap(
      ({ id: each }) => batch.heads.find((head) => head.conversationId === each) ?? [],
    )
    afterCommit(() =>
      deps.notifyWorkers(
        published.map((head) => ({
          tenant,
          conversationId: head.conversationId,
          first: head.lastSeq,
          last: head.lastSeq,
        })),
        subjectsOf(tenant, batch.facts),
      ),
    )
    return toTransfer((await readTransfer(tx, tenant, row.id))!)
  })
}

/**
 * Writes the lines after the first `offset` ones. Lines that were written before are ignored, so a batch can be sent
 * again. The result contains the number of lines that are written: continue there.
 * @throws InvalidInput with the number of the first wrong line; nothing of the batch was written
 * @throws Conflict if the store has other content under an id of the file, or an older state of a conversation; if
 * lines are missing before `offset`; or if the import was cancelled
 * @throws NotFound @throws NotAllowed if rights.ts denies the call
 */
export async function continueImport(deps: ImportDeps, viewer: Viewer, input: ContinueImportInput): Promise<Transfer> {
  authorize(viewer, 'continueImport')
  const { transferId, offset, lines: given } = parse(continueImportInput, input)
  const { tenant } = viewer
  const row = await findTransfer(deps.db.of(tenant), viewer, transferId, 'IMPORT')
  checkOffset(row, offset)
  const texts = given.slice(row.lines - offset)
  if (texts.length === 0 || row.state === 'COMPLETED') return toTransfer(row)
  const state = row.progress as ImportState | null
  const read = await readLines(row, state, texts)
  const isForeign = parseManifest(row.manifest).source !== undefined
  const importedAt = isForeign ? new Date(deps.clock.Date.now()).toISOString() : null
  const lines = await prepareLines(deps, viewer, { transferId, salt: state?.salt ?? 0, importedAt }, read.lines)
  try {
    const batch = collect(lines, await readStored(deps, row, lines), row.report, state)
    await compareExisting(deps, tenant, batch)
    await storeFiles(deps, tenant, batch)
    const number = batch.isEnd ? texts.length - 1 : texts.length
    return await write(deps, viewer, row, { batch, read: { ...read, number } })
  } catch (error) {
    // A concurrent call may have written the same lines, which then conflict with those of this call.
    const now = await findTransfer(deps.db.of(tenant), viewer, transferId, 'IMPORT')
    if (isContinued(row, now)) return toTransfer(now)
    if (!isRefusedData(error)) throw error
    const [first, last] = [row.lines + 2, row.lines + 1 + texts.length]
    throw InvalidInput.at(
      'lines',
      `the database refuses a value in lines ${first} to ${last}, for example an id that occurs twice`,
    )
  }
}
