// Attachments and their bytes are deleted with what they belong to, whatever deletes it; files that other attachments of
// the tenant have are kept, and so is what is under legal hold.

import { describe, expect, it } from 'vitest'
import { getAttachment, keyOf } from '../../../../../src/domain/conversation/attachment/attachment.ts'
import {
  deleteQueuedFiles,
  deleteUnusedAttachments,
  UNUSED_HOURS,
} from '../../../../../src/domain/conversation/attachment/delete-files.ts'
import { UPLOAD_SECONDS } from '../../../../../src/domain/conversation/attachment/upload-file.ts'
import { updateConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { summarize } from '../../../../../src/domain/memory/summary/compact.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { eraseTurn } from '../../../../../src/domain/trust/erasure/erase-turn.ts'
import { eraseUser } from '../../../../../src/domain/trust/erasure/erase-user.ts'
import { setLegalHold } from '../../../../../src/domain/trust/erasure/legal-hold.ts'
import {
  deleteExpiredConversations,
  removeSummarizedContent,
} from '../../../../../src/domain/trust/erasure/retention.ts'
import { appendTurn } from '../../../../../src/domain/turn/append/append.ts'
import { FileBusy } from '../../../../../src/errors.ts'
import { backends, embedded } from '../../../../support/backend.ts'
import { uploadPng } from '../../../../support/files.ts'
import { sql } from '../../../../support/sql.ts'
import { exportLines, importLines, linesOfType } from '../../../../support/transfer.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

describe.each(backends)('the deletion of attachments on $name', (backend) => {
  const world = useWorld(backend)

  const hasBytes = async (tenant: Tenant, { sha256 }: { sha256: string }) => {
    const stream = await world.deps.files.store.get(keyOf(tenant.name, sha256))
    stream?.destroy()
    return stream !== null
  }
  /** Deletes what is queued, as if the uploads were older than UPLOAD_SECONDS. */
  const sweep = async () => {
    await sql(world.deps.pool).query(`UPDATE file_deletion SET due_at = due_at - interval '${UPLOAD_SECONDS} s'`)
    return deleteQueuedFiles(world.deps)
  }
  async function newTurn(tenant: Tenant, conversationId: string, text: string, actor = 'ada') {
    const attachment = await uploadPng(world.deps, tenant.as(actor), conversationId, text)
    const parts = [{ file: { attachmentId: attachment.id } }]
    const { turn } = await appendTurn(world.deps, tenant.as(actor), { conversationId, turn: { role: 'USER', parts } })
    return { attachment, turn }
  }

  it('erases the attachments of a turn, and keeps bytes that another turn has', async () => {
    const tenant = world.tenant()
    const ada = tenant.as('ada')
    const [one, two] = [await tenant.newConversation('ada'), await tenant.newConversation('ada')]
    const first = await newTurn(tenant, one, 'same')
    const second = await newTurn(tenant, two, 'same')
    const other = world.tenant()
    const foreign = await uploadPng(world.deps, other.as('owner'), await other.newConversation(), 'same')
    await sweep()
    const { receipt } = await eraseTurn(world.deps, ada, { turnId: first.turn.id })
    expect(receipt.counts).toMatchObject({ attachment: 1 })
    expect(await getAttachment(world.deps, ada, first.attachment.id)).toBeNull()
    await sweep()
    expect(await hasBytes(tenant, second.attachment)).toBe(true)
    await eraseTurn(world.deps, ada, { turnId: second.turn.id })
    expect(await sweep()).toBe(1)
    expect(await hasBytes(tenant, second.attachment)).toBe(false)
    expect(await hasBytes(other, foreign)).toBe(true)
  })

  it('deletes attachments with conversations, users and expired or summarised content', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    const ids = await Promise.all(Array.from({ length: 4 }, () => tenant.newConversation('owner', 'ada')))
    const [deleted, expired, summarized, ofUser] = ids as [string, string, string, string]
    const inDeleted = await newTurn(tenant, deleted, '1')
    const inExpired = await newTurn(tenant, expired, '2')
    const inSummarized = await newTurn(tenant, summarized, '3')
    const used = await newTurn(tenant, ofUser, '4', 'mallory')
    const unused = await uploadPng(deps, tenant.as('mallory'), ofUser, '5')
    const kept = await newTurn(tenant, ofUser, '6')
    expect((await deleteConversation(deps, owner, deleted)).counts).toMatchObject({ attachment: 1 })
    await updateConversation(deps, owner, { conversationId: expired, expiresAt: new Date(Date.now() - 1000) })
    await deleteExpiredConversations(deps)
    await updateConversation(deps, owner, { conversationId: summarized, retention: 'EPHEMERAL' })
    await summarize(deps, owner, { conversationId: summarized, through: inSummarized.turn.id })
    await removeSummarizedContent(deps)
    const erasure = await eraseUser(deps, owner, { userId: 'mallory' })
    expect(erasure.receipt?.counts).toMatchObject({ attachment: 2 })
    await sweep()
    const attachments = [inDeleted, inExpired, inSummarized, used].map(({ attachment }) => attachment)
    for (const each of [...attachments, unused]) expect(await hasBytes(tenant, each)).toBe(false)
    expect(await hasBytes(tenant, kept.attachment)).toBe(true)
  })

  it('deletes unused attachments after a day, except those under legal hold', async () => {
    const tenant = world.tenant()
    const [free, held] = [await tenant.newConversation('ada'), await tenant.newConversation('ada')]
    const turn = await newTurn(tenant, free, '1')
    const unused = await uploadPng(world.deps, tenant.as('ada'), free, '2')
    const inHeld = await uploadPng(world.deps, tenant.as('ada'), held, '3')
    const ofHeld = await uploadPng(world.deps, tenant.as('zoe'), free, '4')
    await setLegalHold(world.deps, tenant.as('op'), { conversationId: held, legalHold: true })
    await setLegalHold(world.deps, tenant.as('op'), { userId: 'zoe', legalHold: true })
    await deleteUnusedAttachments(world.deps)
    expect(await getAttachment(world.deps, tenant.as('ada'), unused.id)).not.toBeNull()
    await sql(world.deps.pool).query(`UPDATE attachment SET created_at = created_at - interval '${UNUSED_HOURS} hours'`)
    expect(await deleteUnusedAttachments(world.deps)).toBeGreaterThan(0)
    await sweep()
    expect(await hasBytes(tenant, unused)).toBe(false)
    for (const each of [turn.attachment, inHeld, ofHeld]) expect(await hasBytes(tenant, each)).toBe(true)
  })

  it('keeps the bytes of uploads in progress', async () => {
    const tenant = world.tenant()
    const { attachment, turn } = await newTurn(tenant, await tenant.newConversation('ada'), '1')
    await eraseTurn(world.deps, tenant.as('ada'), { turnId: turn.id })
    await deleteQueuedFiles(world.deps)
    expect(await hasBytes(tenant, attachment)).toBe(true)
    await sweep()
    expect(await hasBytes(tenant, attachment)).toBe(false)
  })

  it('goes on after a file that the store cannot delete, which is tried again later and not uploaded until then', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const [first, second] = [await newTurn(tenant, conversationId, 'x'), await newTurn(tenant, conversationId, 'y')]
    for (const { turn } of [first, second]) {
      await eraseTurn(deps, tenant.as('ada'), { turnId: turn.id })
      await sql(deps.pool).query(`UPDATE file_deletion SET due_at = now() WHERE tenant = '${tenant.name}'`)
    }
    const { store } = deps.files
    const broken = (key: string) =>
      key.endsWith(first.attachment.sha256) ? Promise.reject(new Error('x')) : store.delete(key)
    const failing = { ...deps, files: { ...deps.files, store: { ...store, delete: broken } } }
    expect(await deleteQueuedFiles(failing)).toBe(1)
    expect(await hasBytes(tenant, second.attachment)).toBe(false)
    // The store may still execute the deletion.
    expect(await deleteQueuedFiles(deps)).toBe(0)
    await expect(uploadPng(deps, tenant.as('ada'), conversationId, 'x')).rejects.toThrow(FileBusy)
    await sweep()
    expect(await hasBytes(tenant, first.attachment)).toBe(false)
    await uploadPng(deps, tenant.as('ada'), conversationId, 'x')
  })

  // The embedded database executes one transaction at a time.
  it.skipIf(backend === embedded)('queues equal files of two deletions without a deadlock', async () => {
    const tenant = world.tenant()
    const [one, two] = [await tenant.newConversation('ada'), await tenant.newConversation('ada')]
    const [xOfOne, yOfOne] = [await newTurn(tenant, one, 'x'), await newTurn(tenant, one, 'y')]
    const [xOfTwo, yOfTwo] = [await newTurn(tenant, two, 'x'), await newTurn(tenant, two, 'y')]
    const clients = [await world.deps.pool.connect(), await world.deps.pool.connect()] as const
    const remove = (client: 0 | 1, { attachment }: { attachment: { id: string } }) =>
      clients[client].query('DELETE FROM attachment WHERE id = $1', [attachment.id])
    try {
      for (const client of clients) {
        await client.query('RESET ROLE')
        await client.query('BEGIN')
      }
      await remove(0, xOfOne)
      await remove(1, yOfTwo)
      await Promise.all([remove(0, yOfOne), remove(1, xOfTwo)])
      for (const client of clients) await client.query('COMMIT')
    } finally {
      for (const client of clients) client.release(true)
    }
    await sweep()
    expect(await hasBytes(tenant, xOfOne.attachment)).toBe(false)
    expect(await hasBytes(tenant, yOfOne.attachment)).toBe(false)
  })

  it('exports attachments with their bytes, and imports them in batches of any size', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const small = await newTurn(tenant, conversationId, 'small')
    const large = await newTurn(tenant, conversationId, 'x'.repeat(600_000))
    await uploadPng(deps, tenant.as('ada'), conversationId, 'unused')
    const file = await exportLines(deps, tenant.as('op'), { scope: 'CONVERSATION', conversationId })
    expect(linesOfType(file, 'attachment')).toHaveLength(2)
    expect(linesOfType(file, 'fileBytes')).toHaveLength(4)
    expect(await importLines(deps, tenant.as('op'), file)).toMatchObject({ report: { 'attachment.unchanged': 2 } })
    await deleteConversation(deps, tenant.as('owner'), conversationId)
    // The receipt would keep the conversation out of this tenant, and the ids are used in no other one.
    const other = world.tenant()
    const imported = await importLines(deps, other.as('op'), file, { batch: 1 })
    expect(imported).toMatchObject({ state: 'COMPLETED', report: { 'attachment.added': 2, 'turn.added': 2 } })
    for (const { attachment } of [small, large]) {
      expect(await getAttachment(deps, other.as('ada'), attachment.id)).toMatchObject({ sha256: attachment.sha256 })
    }
    await sweep()
    for (const { attachment } of [small, large]) expect(await hasBytes(other, attachment)).toBe(true)
    const again = await exportLines(deps, other.as('op'), { scope: 'CONVERSATION', conversationId })
    expect(again.slice(1, -1)).toEqual(file.slice(1, -1))
    const own = await exportLines(deps, other.as('ada'), { scope: 'USER', userId: 'ada' })
    expect(
      linesOfType(own, 'attachment')
        .map(({ id }) => id)
        .sort(),
    ).toEqual([small, large].map(({ attachment }) => attachment.id).sort())
  })
})
