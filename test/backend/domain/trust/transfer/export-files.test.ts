// Attachments in exports and imports: sweeps, deletions and damages while they run, and files that state something false.

import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { getAttachment, keyOf, type Attachment } from '../../../../../src/domain/conversation/attachment/attachment.ts'
import {
  deleteQueuedFiles,
  deleteUnusedAttachments,
  UNUSED_HOURS,
} from '../../../../../src/domain/conversation/attachment/delete-files.ts'
import { eraseTurn } from '../../../../../src/domain/trust/erasure/erase-turn.ts'
import { continueExport } from '../../../../../src/domain/trust/transfer/export.ts'
import { continueImport } from '../../../../../src/domain/trust/transfer/import/import.ts'
import { cancelTransfer, startExport, startImport } from '../../../../../src/domain/trust/transfer/transfer.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { appendTurn } from '../../../../../src/domain/turn/append/append.ts'
import type { FileStore } from '../../../../../src/store/files/file-store.ts'
import { backends } from '../../../../support/backend.ts'
import { bytesOf, uploadPng } from '../../../../support/files.ts'
import { exportLines, importLines, linesOfType, rehash } from '../../../../support/transfer.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const LARGE = 'x'.repeat(1_500_000)

describe.each(backends)('attachments in transfers on $name', (backend) => {
  const world = useWorld(backend)

  const withStore = (more: Partial<FileStore>) => ({
    ...world.deps,
    files: { ...world.deps.files, store: { ...world.deps.files.store, ...more } },
  })
  const hasFile = async (key: string) => (await bytesOf(await world.deps.files.store.get(key))) !== null
  /** Records the keys of files that are put. */
  function recorded() {
    const keys = new Set<string>()
    const deps = withStore({
      put: (key, bytes) => {
        keys.add(key)
        return world.deps.files.store.put(key, bytes)
      },
    })
    return { keys, deps }
  }
  async function newTurn(tenant: Tenant, conversationId: string, text: string) {
    const attachment = await uploadPng(world.deps, tenant.as('ada'), conversationId, text)
    const parts = [{ file: { attachmentId: attachment.id } }]
    const { turn } = await appendTurn(world.deps, tenant.as('ada'), { conversationId, turn: { role: 'USER', parts } })
    return { attachment, turn }
  }
  /** Returns the lines of an export of a conversation with these files, which is then deleted. */
  async function exported(...texts: string[]) {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const attachments: Attachment[] = []
    for (const text of texts) attachments.push((await newTurn(tenant, conversationId, text)).attachment)
    const file = await exportLines(world.deps, tenant.as('op'), { scope: 'CONVERSATION', conversationId })
    await deleteConversation(world.deps, tenant.as('owner'), conversationId)
    return { file, attachments, conversationId }
  }
  const changed = (file: readonly string[], change: (line: any) => object) =>
    rehash(file.map((line) => JSON.stringify(change(JSON.parse(line)))))
  const partsIn = async (tenant: Tenant) =>
    (await world.deps.db.of(tenant.name).turn.findMany({ where: { conversation: { tenant: tenant.name } } })).flatMap(
      ({ parts }) => parts as object[],
    )

  it('are kept by a sweep between two batches, however old they are', async () => {
    const { file, attachments } = await exported('old')
    const createdAt = new Date(Date.now() - 2 * UNUSED_HOURS * 3_600_000).toISOString()
    const [manifest, ...lines] = changed(file, (line) => (line.type === 'attachment' ? { ...line, createdAt } : line))
    const tenant = world.tenant()
    const op = tenant.as('op')
    const { id: transferId } = await startImport(world.deps, op, { manifest: manifest!, fileKey: 'swept' })
    for (const [offset, line] of lines.entries()) {
      await continueImport(world.deps, op, { transferId, offset, lines: [line] })
      await deleteUnusedAttachments(world.deps)
    }
    expect(await getAttachment(world.deps, tenant.as('ada'), attachments[0]!.id)).toMatchObject({ width: 640 })
  })

  it('leave no second copy of their bytes after an import', async () => {
    const { file, attachments } = await exported('small', LARGE)
    const complete = world.tenant()
    const own = new Set(attachments.map(({ sha256 }) => keyOf(complete.name, sha256)))
    const first = recorded()
    await importLines(first.deps, complete.as('op'), file, { batch: 3 })
    await deleteQueuedFiles(world.deps)
    expect(first.keys.size).toBeGreaterThan(own.size)
    for (const key of first.keys) expect(await hasFile(key)).toBe(own.has(key))
  })

  it('leave no chunks after a cancelled import', async () => {
    const { file, attachments } = await exported('small', LARGE)
    const cancelled = world.tenant()
    const { keys, deps } = recorded()
    const [manifest, ...lines] = file
    const op = cancelled.as('op')
    const { id: transferId } = await startImport(deps, op, { manifest: manifest!, fileKey: 'cancelled' })
    const large = lines.findIndex((line) => JSON.parse(line).bytes > 1_000_000)
    await continueImport(deps, op, { transferId, offset: 0, lines: lines.slice(0, large + 3) })
    await cancelTransfer(world.deps, op, { transferId })
    await deleteQueuedFiles(world.deps)
    const small = keyOf(cancelled.name, attachments[0]!.sha256)
    for (const key of keys) expect(await hasFile(key)).toBe(key === small)
  })

  it('are exported so that the file can be imported, if one is erased between two pages', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const op = tenant.as('op')
    const conversationId = await tenant.newConversation('ada')
    const { turn } = await newTurn(tenant, conversationId, LARGE)
    const other = await newTurn(tenant, conversationId, `${LARGE}y`)
    const { id: transferId } = await startExport(deps, op, { scope: 'CONVERSATION', conversationId })
    const file: string[] = []
    for (let after: string | null = null, page = 1; ; page++) {
      const found = await continueExport(deps, op, { transferId, after })
      file.push(...found.lines)
      if (page === 1) await eraseTurn(deps, tenant.as('ada'), { turnId: turn.id })
      if (found.cursor === null) break
      after = found.cursor
    }
    expect(linesOfType(file, 'fileMissing')).toHaveLength(1)
    await deleteConversation(deps, tenant.as('owner'), conversationId)
    const target = world.tenant()
    const { report } = await importLines(deps, target.as('op'), file)
    expect(report).toMatchObject({ 'attachment.missing': 1, 'attachment.added': 1 })
    expect(await getAttachment(deps, target.as('ada'), other.attachment.id)).not.toBeNull()
  })

  it('are left out if the store has lost some of their bytes, and the file can be imported twice', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    await newTurn(tenant, conversationId, LARGE)
    const damaged = await newTurn(tenant, conversationId, `${LARGE}z`)
    const cut = 600_000
    const deps = withStore({
      get: async (key, range) =>
        key.endsWith(damaged.attachment.sha256) && range!.end > cut
          ? Readable.from([])
          : world.deps.files.store.get(key, range),
    })
    const file = await exportLines(deps, tenant.as('op'), { scope: 'CONVERSATION', conversationId })
    await deleteConversation(world.deps, tenant.as('owner'), conversationId)
    const target = world.tenant()
    const { report } = await importLines(world.deps, target.as('op'), file)
    expect(report).toMatchObject({ 'attachment.missing': 1, 'attachment.added': 1, 'turn.added': 2 })
    const parts = await partsIn(target)
    expect(parts.filter((part) => 'attachment' in part)).toHaveLength(1)
    const again = await importLines(world.deps, target.as('op'), file)
    expect(again.report).toMatchObject({ 'turn.unchanged': 2 })
  })

  it('are connected with the turn and the author that they were imported for only', async () => {
    const { file, attachments } = await exported('one', 'two')
    const [one, two] = attachments as [Attachment, Attachment]
    const target = world.tenant()
    const forged = changed(file, (line) => {
      if (line.type !== 'entry' || line.turn?.parts?.[0]?.attachmentId !== one.id) return line
      const [part] = line.turn.parts
      const attachment = { ...part.attachment, sha256: 'f'.repeat(64), width: 1 }
      return {
        ...line,
        turn: {
          ...line.turn,
          parts: [
            { ...part, attachment },
            { ...part, attachmentId: two.id },
          ],
        },
      }
    })
    await importLines(world.deps, target.as('op'), forged)
    const parts = await partsIn(target)
    expect(parts).toHaveLength(3)
    expect(parts.filter((part) => 'attachmentId' in part)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ attachmentId: one.id, attachment: expect.objectContaining({ sha256: one.sha256 }) }),
        expect.objectContaining({ attachmentId: two.id, attachment: expect.objectContaining({ sha256: two.sha256 }) }),
      ]),
    )
    expect(parts.filter((part) => 'attachmentId' in part || 'attachment' in part)).toHaveLength(2)
  })

  it('are checked like uploads', async () => {
    const { file, attachments } = await exported('one')
    const replaced = (bytes: Buffer, more: object) =>
      changed(file, (line) => {
        const sha256 = createHash('sha256').update(bytes).digest('hex')
        if (line.type === 'attachment') return { ...line, sha256, bytes: bytes.length, ...more }
        return line.type === 'fileBytes' ? { ...line, base64: bytes.toString('base64') } : line
      })
    const svg = replaced(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), { mediaType: 'image/svg+xml' })
    await expect(importLines(world.deps, world.tenant().as('op'), svg)).rejects.toThrow(
      `${attachments[0]!.id} has the type image/svg+xml; accepted are`,
    )
    const target = world.tenant()
    const size = changed(file, (line) =>
      line.type === 'attachment' ? { ...line, width: 9, height: 9, fileName: '../x.png' } : line,
    )
    await importLines(world.deps, target.as('op'), size)
    expect(await getAttachment(world.deps, target.as('ada'), attachments[0]!.id)).toMatchObject({
      width: 640,
      height: 480,
      fileName: 'x.png',
    })
  })
})
