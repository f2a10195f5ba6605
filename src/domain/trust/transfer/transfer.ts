// Transfers: exports and imports with their progress. Starts, reads and cancels them; export.ts and import.ts continue
// them. A transfer that is not continued for ABANDONED_MS ends, and the conversation that it was importing expires. The
// rows of old transfers are deleted: the file of an export belongs to the client, and what an import has written stays.

import { z } from 'zod'
import { InvalidInput, NotFound } from '../../../errors.ts'
import type { Tx, Db } from '../../../store/db/db.ts'
import { ownVersion } from '../../../runtime/package-versions.ts'
import { TransferScope, type TransferDirection, type TransferState } from '../../../store/generated/enums.ts'
import {
  endTransfer,
  findAbandoned,
  findImport,
  insertTransfer,
  lockTransfer,
  readTransfer,
  type TransferRow,
  deleteTransfersBefore,
} from '../../../store/sql/trust/transfer/transfers.ts'
import { endDelays } from '../../../store/sql/conversation/attachment/file-deletions.ts'
import { deleteStagedConversation } from '../../../store/sql/trust/transfer/imported-conversation.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import { auditRecord } from '../../kernel/audit/line.ts'
import { authorize, isWithinReach, requirePermits } from '../../kernel/rights/authorize.ts'
import { newId } from '../../kernel/id.ts'
import { id, name, parse, storable } from '../../kernel/input.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Condition } from '../../kernel/rights/rights.ts'
import type { Viewer } from '../../kernel/view.ts'
import { BadLine, FORMAT, FORMAT_VERSION, parseManifest, printLine, type Manifest } from './format.ts'
import type { Clock } from '../../../runtime/clock.ts'

/** Time after which an unfinished transfer that is not continued ends, ms: seven days. */
export const ABANDONED_MS = 7 * 24 * 60 * 60 * 1000

/** A transfer as its viewer sees it. */
export type Transfer = {
  id: string
  direction: TransferDirection
  state: TransferState
  scope: TransferScope
  /** Id of the conversation, or name of the owner or user; null for a tenant. */
  subject: string | null
  actor: string
  /** The first line of the file. */
  manifest: string
  /** Number of transferred lines, the manifest and the last line not counted. */
  lines: number
  /** The chained hash of these lines. */
  sha256: string
  /** Number of lines by type. */
  counts: Record<string, number>
  /** Number of objects by outcome, for an import. */
  report: Record<string, number>
  createdAt: Date
  updatedAt: Date
  completedAt: Date | null
}

export function toTransfer({ chain, ...row }: TransferRow): Transfer {
  const { id: transferId, direction, state, scope, subject, actor, manifest, lines, counts, report } = row
  const { createdAt, updatedAt, completedAt } = row
  const shared = { id: transferId, direction, state, scope, subject, actor, manifest, lines, counts, report }
  return { ...shared, sha256: chain, createdAt, updatedAt, completedAt }
}

/** Returns the conditions of rights.ts that an export meets. */
export const conditionsOfExport = (
  viewer: Viewer,
  { scope, subject }: { scope: TransferScope; subject: string | null },
): Condition[] => (scope === 'USER' && subject === viewer.actor ? [] : ['foreignExport'])

const startExportInput = z.object({
  scope: z.enum(TransferScope),
  conversationId: id('conversation').nullish(),
  owner: name.nullish(),
  userId: name.nullish(),
})
export type StartExportInput = z.input<typeof startExportInput>

/** Returns the subject of an export. @throws InvalidInput for a subject of another scope */
function subjectOf({ scope, conversationId, owner, userId }: z.output<typeof startExportInput>): string | null {
  const needed = { CONVERSATION: 'conversationId', OWNER: 'owner', USER: 'userId', TENANT: null }[scope]
  const given = { conversationId, owner, userId }
  for (const [field, value] of Object.entries(given)) {
    if (field === needed && value == null) throw InvalidInput.at(field, `is required with scope ${scope}`)
    if (field !== needed && value != null) throw InvalidInput.at(field, `must not be given with scope ${scope}`)
  }
  return needed === null ? null : given[needed as keyof typeof given]!
}

/**
 * Starts an export. `continueExport` returns its lines.
 * @throws InvalidInput @throws NotAllowed if rights.ts denies the call
 * @throws NotFound if the tenant has no such conversation
 */
export async function startExport(deps: Platform, viewer: Viewer, input: StartExportInput): Promise<Transfer> {
  authorize(viewer, 'startExport', { conversationId: input.conversationId })
  const given = parse(startExportInput, input)
  const subject = subjectOf(given)
  const { scope } = given
  const { tenant, actor } = viewer
  const db = deps.db.of(tenant)
  await requirePermits(db, viewer, 'startExport', {
    conversationId: null,
    conditions: conditionsOfExport(viewer, { scope, subject }),
  })
  if (scope === 'CONVERSATION') {
    const found = await db.conversation.findFirst({ where: { id: subject!, tenant }, select: { id: true } })
    if (!found) throw new NotFound('conversation', subject!)
  }
  const createdAt = new Date(deps.clock.Date.now())
  const manifest = printLine({
    type: 'manifest',
    format: FORMAT,
    version: FORMAT_VERSION,
    scope,
    ...(subject !== null && { subject }),
    tenant,
    exportedAt: createdAt,
    colloquy: ownVersion(),
  } satisfies Omit<Manifest, 'exportedAt'> & { exportedAt: Date })
  return withTransaction(deps.db, tenant, async (tx) => {
    const transferId = newId('transfer')
    const row = { id: transferId, tenant, direction: 'EXPORT' as const, scope, subject, actor, manifest, createdAt }
    await endAbandoned(deps, tx, tenant)
    await insertTransfer(tx, { ...row, fileKey: null })
    const resources = subject === null ? [transferId] : [transferId, subjectResource(scope, subject)]
    await deps.audit.append(tx, [auditRecord(viewer, 'startExport', resources, { details: { scope } })])
    return toTransfer((await readTransfer(tx, tenant, transferId))!)
  })
}

const subjectResource = (scope: TransferScope, subject: string) =>
  scope === 'CONVERSATION' ? subject : `${scope.toLowerCase()}:${subject}`

/** Ends the unfinished transfers of the tenant that were not continued for ABANDONED_MS. */
async function endAbandoned({ clock }: Pick<Platform, 'clock'>, tx: Tx, tenant: string): Promise<void> {
  for (const each of await findAbandoned(tx, tenant, new Date(clock.Date.now() - ABANDONED_MS)))
    await endTransfer(tx, each)
}

const startImportInput = z.object({ manifest: z.string().max(16_384), fileKey: name })
export type StartImportInput = z.input<typeof startImportInput>

/**
 * Starts the import of a file, or returns the unfinished import of the file with this `fileKey`. `continueImport`
 * writes its lines, from the number that the result contains.
 * @throws InvalidInput for a manifest of another format, a newer version, or the export of a user @throws NotAllowed
 */
export async function startImport(deps: Platform, viewer: Viewer, input: StartImportInput): Promise<Transfer> {
  authorize(viewer, 'startImport')
  const { manifest: line, fileKey } = parse(startImportInput, input)
  const manifest = manifestOf(line)
  const { tenant, actor } = viewer
  return withTransaction(deps.db, tenant, async (tx) => {
    await endAbandoned(deps, tx, tenant)
    const transferId = newId('transfer')
    const { scope, subject = null } = manifest
    const row = { id: transferId, tenant, direction: 'IMPORT' as const, scope, subject, actor, fileKey, manifest: line }
    if (await insertTransfer(tx, { ...row, createdAt: new Date(deps.clock.Date.now()) })) {
      await deps.audit.append(tx, [auditRecord(viewer, 'startImport', [transferId], { details: { scope } })])
    }
    return toTransfer((await findImport(tx, tenant, fileKey))!)
  })
}

/** @throws InvalidInput */
function manifestOf(line: string): Manifest {
  let manifest: Manifest
  try {
    manifest = parseManifest(line)
  } catch (error) {
    if (error instanceof BadLine) throw InvalidInput.at('manifest', `line 1 ${error.message}`)
    throw error
  }
  if (manifest.scope === 'USER') {
    throw InvalidInput.at(
      'manifest',
      'the file contains the data of one user, that is, parts of conversations, which cannot be imported. Import an '
        + 'export of a conversation, an owner or a tenant.',
    )
  }
  return manifest
}

/**
 * Whether the viewer may read the transfer. An export belongs to the actor who started it; every administrator may
 * continue an import.
 */
function isOwn(viewer: Viewer, { actor, direction, scope, subject }: TransferRow): boolean {
  if (!isWithinReach(viewer, scope === 'CONVERSATION' ? subject : null)) return false
  if (actor === viewer.actor) return true
  return viewer.principal === undefined ? direction === 'IMPORT' : viewer.principal.rights.has('operate')
}

/** Reads a transfer of that direction that the viewer may read. @throws NotFound */
export async function findTransfer(
  db: Tx,
  viewer: Viewer,
  transferId: string,
  direction?: TransferDirection,
): Promise<TransferRow> {
  const found = storable(transferId) === null ? await readTransfer(db, viewer.tenant, transferId) : null
  if (!found || !isOwn(viewer, found) || (direction && found.direction !== direction)) {
    throw new NotFound(direction ? direction.toLowerCase() : 'transfer', transferId)
  }
  return found
}

/** Returns the transfer; null if the viewer started none with that id, and may not operate the server. */
export async function getTransfer(
  deps: Pick<Platform, 'db'>,
  viewer: Viewer,
  transferId: string,
): Promise<Transfer | null> {
  authorize(viewer, 'getTransfer')
  try {
    return toTransfer(await findTransfer(deps.db.of(viewer.tenant), viewer, transferId))
  } catch (error) {
    if (error instanceof NotFound) return null
    throw error
  }
}

const cancelTransferInput = z.object({ transferId: id('transfer') })
export type CancelTransferInput = z.input<typeof cancelTransferInput>

/**
 * Cancels a transfer. An import keeps the conversations that it has completed; the one that it was writing is deleted.
 * A transfer that has ended is returned unchanged.
 * @throws InvalidInput @throws NotFound @throws NotAllowed
 */
export async function cancelTransfer(deps: Platform, viewer: Viewer, input: CancelTransferInput): Promise<Transfer> {
  authorize(viewer, 'cancelTransfer')
  const { transferId } = parse(cancelTransferInput, input)
  const { tenant } = viewer
  return withTransaction(deps.db, tenant, async (tx) => {
    await findTransfer(tx, viewer, transferId)
    const locked = (await lockTransfer(tx, tenant, transferId))!
    if (locked.state === 'RUNNING') {
      if (locked.conversationId !== null) await deleteStagedConversation(tx, locked.conversationId)
      const progress: { file?: { chunks: readonly string[] } | null } | null = locked.progress
      await endDelays(tx, tenant, progress?.file?.chunks ?? [])
      await endTransfer(tx, transferId)
      await deps.audit.append(tx, [auditRecord(viewer, 'cancelTransfer', [transferId])])
    }
    return toTransfer((await readTransfer(tx, tenant, transferId))!)
  })
}

/** Time after its last change for which a transfer can be read, ms: 30 days. @internal */
export const KEPT_MS = 30 * 24 * 60 * 60 * 1000
/** Maximum number of transfers that one statement deletes. */
const BATCH = 1_000

/** Deletes transfers that did not change for KEPT_MS, and returns their number. Any number of processes may run it. */
export const deleteOldTransfers = ({ db, clock }: { db: Db; clock: Pick<Clock, 'Date'> }): Promise<number> =>
  deleteTransfersBefore(db, new Date(clock.Date.now() - KEPT_MS), BATCH)
