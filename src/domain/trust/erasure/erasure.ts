// Reads erasures of users.

import type { ErasureRow } from '../../../store/sql/trust/erasure/erasures.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import { storable } from '../../kernel/input.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'
import { toReceipt, type ErasureReceipt } from './receipt.ts'

/** An erasure of a user. `receipt` is null until it is complete. */
export type Erasure = { id: string; createdAt: Date; receipt: ErasureReceipt | null }

const toErasure = ({
  id,
  kind,
  subject,
  counts,
  createdAt,
  completedAt,
  document,
  signature,
}: ErasureRow): Erasure => ({
  id,
  createdAt,
  receipt:
    completedAt === null || document === null
      ? null
      : toReceipt({ id, kind, subject, counts, completedAt, document, signature }),
})

/** Reads an erasure of the tenant; null if there is none with that id. */
export async function readErasure({ db }: Pick<Platform, 'db'>, tenant: string, id: string): Promise<Erasure | null> {
  const found = await db.of(tenant).erasure.findFirst({ where: { id, tenant } })
  return found && toErasure(found as ErasureRow)
}

/** Returns the erasure; null if the tenant has no erasure with that id. @throws NotAllowed */
export async function getErasure(deps: Pick<Platform, 'db'>, viewer: Viewer, id: string): Promise<Erasure | null> {
  authorize(viewer, 'getErasure')
  return storable(id) === null ? readErasure(deps, viewer.tenant, id) : null
}
