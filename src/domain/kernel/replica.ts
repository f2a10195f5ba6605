// Runs a read on the replica if there is one and it has replayed the data that the read must see; otherwise on the
// primary.

import { DatabaseUnavailable, DomainError } from '../../errors.ts'
import type { Platform } from './platform.ts'
import type { Viewer } from './view.ts'

/**
 * Runs the read, and runs it again on the primary if the replica fails. The read must not write.
 * @param conversationId the conversation if the read depends only on its data; otherwise null
 */
export async function onReplica<D extends Platform, T>(
  deps: D,
  { tenant }: Pick<Viewer, 'tenant'>,
  conversationId: string | null,
  read: (deps: D) => Promise<T>,
): Promise<T> {
  const { replica } = deps
  if (!replica || !(await replica.hasCaughtUp(tenant, conversationId))) return read(deps)
  try {
    return await read({ ...deps, pool: replica.pool, db: replica.db, vectors: replica.vectors })
  } catch (error) {
    const isOfReplica = error instanceof DatabaseUnavailable
    if (!isOfReplica && (error instanceof DomainError || deps.reads.isTimeout(error))) throw error
    replica.failed(error)
    return read(deps)
  }
}
