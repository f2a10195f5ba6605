// Old transfers are deleted, and what they moved stays.

import { describe, expect, it } from 'vitest'
import { getConversations } from '../../../../../src/domain/conversation/conversation.ts'
import {
  deleteOldTransfers,
  KEPT_MS,
  getTransfer,
  startExport,
} from '../../../../../src/domain/trust/transfer/transfer.ts'
import { backends } from '../../../../support/backend.ts'
import { sql } from '../../../../support/sql.ts'
import { exportLines, importLines } from '../../../../support/transfer.ts'
import { useWorld } from '../../../../support/world.ts'

describe.each(backends)('deleteOldTransfers on $name', (backend) => {
  const world = useWorld(backend)
  const age = (id: string, ms: number) =>
    sql(world.deps.pool).query('UPDATE transfer SET updated_at = now() - make_interval(secs => $2) WHERE id = $1', [
      id,
      ms / 1000,
    ])

  it('deletes transfers that did not change for 30 days, and keeps the conversations', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    const conversationId = await tenant.newConversation('ann')
    const file = await exportLines(deps, owner, { scope: 'TENANT' })
    const old = await importLines(deps, owner, file)
    const recent = await startExport(deps, owner, { scope: 'TENANT' })
    await age(old.id, KEPT_MS + 60_000)
    await age(recent.id, KEPT_MS - 60_000)
    expect(await deleteOldTransfers(deps)).toBe(1)
    expect(await getTransfer(deps, owner, old.id)).toBe(null)
    expect(await getTransfer(deps, owner, recent.id)).not.toBe(null)
    expect((await getConversations(deps, owner, [conversationId])).size).toBe(1)
  })
})
