// Returns the lines of an export, one page at a time. Each page continues at the cursor of the previous one, so an
// interrupted export continues, and neither the server nor the client needs memory for more than a page.

import { z } from 'zod'
import { Conflict } from '../../../errors.ts'
import { saveTransfer } from '../../../store/sql/trust/transfer/transfers.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import { auditRecord } from '../../kernel/audit/line.ts'
import { authorize, requirePermits } from '../../kernel/rights/authorize.ts'
import { id, parse } from '../../kernel/input.ts'
import type { Viewer } from '../../kernel/view.ts'
import { chainHash, sha256, printLine, type EndLine } from './format.ts'
import { completeStep } from './export-complete.ts'
import { ownStep } from './export-own.ts'
import { type Step, type StepDeps, decodePosition, encodePosition, firstPosition, type Position } from './position.ts'
import { conditionsOfExport, findTransfer, toTransfer, type Transfer } from './transfer.ts'

/** Number of lines at which a page ends. */
export const PAGE_LINES = 1000
/** Number of characters at which a page ends. A page exceeds it by at most one read of the database. */
export const PAGE_CHARACTERS = 1024 * 1024

const continueExportInput = z.object({ transferId: id('transfer'), after: z.string().nullish() })
export type ContinueExportInput = z.input<typeof continueExportInput>

export type ExportPage = {
  transfer: Transfer
  /** The next lines, without line breaks. The first page begins with the manifest. */
  lines: string[]
  /** The cursor after these lines; null after the last one. */
  cursor: string | null
}

/** Adds the line to the page, and its hash to the position. */
function addLine(page: { lines: string[]; characters: number }, position: Position, line: { type: string }): void {
  const text = printLine(line)
  page.lines.push(text)
  page.characters += text.length
  position.chain = chainHash(position.chain, text)
  position.lines++
  position.counts[line.type] = (position.counts[line.type] ?? 0) + 1
}

const endLine = (manifest: string, { lines, counts, chain }: Position): EndLine => ({
  type: 'end',
  lines,
  counts,
  sha256: chain,
  manifestSha256: sha256(manifest),
})

/**
 * Returns the next page of an export. A page can be requested again, with the same cursor.
 * @throws InvalidInput @throws NotFound @throws NotAllowed if rights.ts denies the call
 * @throws Conflict if the export was cancelled, or its conversation was deleted
 */
export async function continueExport(deps: StepDeps, viewer: Viewer, input: ContinueExportInput): Promise<ExportPage> {
  authorize(viewer, 'continueExport')
  const { transferId, after } = parse(continueExportInput, input)
  const { tenant } = viewer
  const db = deps.db.of(tenant)
  const row = await findTransfer(db, viewer, transferId, 'EXPORT')
  await requirePermits(db, viewer, 'continueExport', {
    conversationId: null,
    conditions: conditionsOfExport(viewer, row),
  })
  if (row.state === 'CANCELLED')
    throw new Conflict('The export was cancelled, or not continued in time. Start another one.')
  const only = row.scope === 'CONVERSATION' ? row.subject : null
  const position = after == null ? firstPosition(transferId) : decodePosition(after, transferId, only)
  const page = { lines: after == null ? [row.manifest] : [], characters: 0 }
  const step: Step = row.scope === 'USER' ? ownStep : completeStep
  const { scope, subject, createdAt: until } = row
  while (position.stage.at !== 'end' && page.lines.length < PAGE_LINES && page.characters < PAGE_CHARACTERS) {
    const { objects, next } = await step(deps, { tenant, scope, subject, until }, position.stage)
    for (const each of objects) {
      addLine(page, position, each.type === 'conversationEnd' ? { ...each, sha256: position.chain } : each)
    }
    position.stage = next
  }
  const isComplete = position.stage.at === 'end'
  if (isComplete) page.lines.push(printLine(endLine(row.manifest, position)))
  const transfer = await withTransaction(deps.db, tenant, async (tx) => {
    const completedAt = isComplete ? (row.completedAt ?? new Date(deps.clock.Date.now())) : null
    const { lines, chain, counts } = position
    const saved = { lines, chain, counts, report: {}, progress: null, conversationId: null }
    // A page that is requested again does not undo the progress of a later one.
    if (row.state === 'RUNNING' && lines >= row.lines) {
      await saveTransfer(tx, transferId, { ...saved, completedAt }, new Date(deps.clock.Date.now()))
      const details = { ...counts, sha256: chain }
      if (isComplete) await deps.audit.append(tx, [auditRecord(viewer, 'completeExport', [transferId], { details })])
    }
    return toTransfer(await findTransfer(tx, viewer, transferId))
  })
  return { transfer, lines: page.lines, cursor: isComplete ? null : encodePosition(position) }
}
