// Statements of the table transfer.

import type { Db, Tx } from '../../../db/db.ts'
import { Prisma, type Transfer } from '../../../generated/client.ts'
import { SYSTEM } from '../../../db/scope.ts'

export type TransferRow = Omit<Transfer, 'counts' | 'report' | 'progress'> & {
  counts: Record<string, number>
  report: Record<string, number>
  /** Null between conversations. */
  progress: object | null
}

const asRow = (found: Transfer): TransferRow => found as unknown as TransferRow

/** The transfer with that id; null if the tenant has none. */
export async function readTransfer(db: Tx, tenant: string, id: string): Promise<TransferRow | null> {
  const found = await db.transfer.findFirst({ where: { id, tenant } })
  return found && asRow(found)
}

/** Locks the transfer, and reads it; null if the tenant has none with that id. */
export async function lockTransfer(tx: Tx, tenant: string, id: string): Promise<TransferRow | null> {
  await tx.$queryRaw`SELECT FROM transfer WHERE id = ${id}::text AND tenant = ${tenant}::text FOR UPDATE`
  return readTransfer(tx, tenant, id)
}

/** The unfinished import of the file; null for none. Uses the index transfer_file. */
export async function findImport(tx: Tx, tenant: string, fileKey: string): Promise<TransferRow | null> {
  const found = await tx.transfer.findFirst({ where: { tenant, fileKey, state: 'RUNNING' } })
  return found && asRow(found)
}

export type NewTransfer = Pick<
  TransferRow,
  'id' | 'tenant' | 'direction' | 'scope' | 'subject' | 'actor' | 'fileKey' | 'manifest' | 'createdAt'
>

/** Writes a new transfer. Returns false if an unfinished import of the same file exists. */
export async function insertTransfer(tx: Tx, { createdAt, ...transfer }: NewTransfer): Promise<boolean> {
  const data = { ...transfer, createdAt, updatedAt: createdAt }
  const { count } = await tx.transfer.createMany({ data: [data], skipDuplicates: true })
  return count > 0
}

export type TransferProgress = Pick<
  TransferRow,
  'lines' | 'chain' | 'counts' | 'report' | 'progress' | 'conversationId'
> & { completedAt: Date | null }

/** Stores the progress of a transfer that the transaction has locked, or whose progress only informs. */
export async function saveTransfer(
  tx: Tx,
  id: string,
  { counts, report, progress, completedAt, ...rest }: TransferProgress,
  now: Date,
): Promise<void> {
  await tx.transfer.update({
    where: { id },
    data: {
      ...rest,
      counts,
      report,
      progress: progress === null ? Prisma.DbNull : (progress as Prisma.InputJsonObject),
      updatedAt: now,
      ...(completedAt && { completedAt, state: 'COMPLETED' as const }),
    },
  })
}

/** Ends a transfer without completing it. */
export async function endTransfer(tx: Tx, id: string): Promise<void> {
  await tx.transfer.update({
    where: { id },
    data: { state: 'CANCELLED', progress: Prisma.DbNull, conversationId: null },
  })
}

/** Ids of unfinished transfers of the tenant that were not continued since the time. Uses the index transfer_newest. */
export async function findAbandoned(tx: Tx, tenant: string, before: Date): Promise<string[]> {
  const found = await tx.transfer.findMany({
    where: { tenant, state: 'RUNNING', updatedAt: { lt: before } },
    select: { id: true },
    take: 100,
  })
  return found.map(({ id }) => id)
}

/**
 * Deletes at most `limit` transfers of all tenants that did not change since the time, finished or not. Returns their
 * number. Uses the index transfer_updated.
 */
export const deleteTransfersBefore = (db: Db, before: Date, limit: number): Promise<number> =>
  db.of(SYSTEM).$executeRaw`
    DELETE FROM transfer WHERE id IN (
      SELECT id FROM transfer WHERE updated_at < ${before}::timestamptz ORDER BY updated_at LIMIT ${limit}::integer)`
