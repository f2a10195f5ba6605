// Uploads: what is accepted, who may use and read an attachment, idempotency and quotas.

import { createHash } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { getAttachment, keyOf, urnOf } from '../../../../../src/domain/conversation/attachment/attachment.ts'
import {
  UPLOAD_SECONDS,
  uploadFile,
  type UploadFileInput,
} from '../../../../../src/domain/conversation/attachment/upload-file.ts'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { appendTurn, appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { delayDeletion } from '../../../../../src/store/sql/conversation/attachment/file-deletions.ts'
import { Conflict, InvalidInput, LimitReached, NotAllowed, NotFound } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { bytesOf, png, uploadPng } from '../../../../support/files.ts'
import { useWorld } from '../../../../support/world.ts'

describe.each(backends)('attachments on $name', (backend) => {
  const world = useWorld(backend)
  const upload = (viewer: { tenant: string; actor: string }, input: UploadFileInput) =>
    uploadFile(world.deps, viewer, input)
  const fileTurn = (attachmentId: string, more: object = {}) => ({
    role: 'USER' as const,
    parts: [{ text: 'Look:' }, { file: { attachmentId } }],
    ...more,
  })

  it('stores a file with the type and the size that its bytes have', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const bytes = png(640, 480, 'x')
    const given = { conversationId, bytes, mediaType: 'image/png', fileName: '../..\\etc/pass\r\nwd.png' }
    const { attachment, deduplicated } = await upload(tenant.as('ada'), given)
    expect(deduplicated).toBe(false)
    expect(attachment).toMatchObject({ mediaType: 'image/png', width: 640, height: 480, bytes: bytes.length })
    expect(attachment.fileName).toBe('passwd.png')
    const stored = await world.deps.files.store.get(keyOf(tenant.name, attachment.sha256))
    expect(await bytesOf(stored)).toEqual(bytes)
  })

  it.each<[string, Omit<UploadFileInput, 'conversationId'>, RegExp]>([
    ['an empty file', { bytes: Buffer.alloc(0) }, /must not be empty/],
    ['a file over the limit', { bytes: Buffer.alloc(10 * 2 ** 20 + 1, 'a') }, /at most 10485760 \(MAX_FILE_BYTES\)/],
    [
      'a PNG that is HTML',
      { bytes: Buffer.from('<!doctype html><script>1</script>'), mediaType: 'image/png' },
      /stated to be image\/png, but is text\/html/,
    ],
    ['HTML', { bytes: Buffer.from('<html></html>'), mediaType: 'text/html' }, /has the type text\/html; accepted are/],
    ['SVG', { bytes: Buffer.from('<svg/>'), mediaType: 'image/svg+xml' }, /has the type image\/svg\+xml/],
    ['a text that is a program', { bytes: Buffer.from('MZ\0'), mediaType: 'text/plain' }, /but is application\/x-msd/],
    ['binary data', { bytes: Buffer.from([1, 0, 2]) }, /has the type application\/octet-stream/],
    ['a PNG without a size', { bytes: png(0, 10), mediaType: 'image/png' }, /is a damaged image\/png/],
    ['too many pixels', { bytes: png(60_000, 60_000) }, /60000 × 60000 pixels; at most 100000000/],
  ])('refuses %s, and keeps nothing', async (_, given, message) => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    await expect(upload(tenant.as('ada'), { conversationId, ...given })).rejects.toThrow(message)
    const where = { conversationId }
    expect(await world.deps.db.of(tenant.name).attachment.count({ where })).toBe(0)
    expect(await world.deps.db.of(tenant.name).fileDeletion.count({ where: { tenant: tenant.name } })).toBe(0)
  })

  it('does not parse JSON, which is a text to the server', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const given = { conversationId, bytes: Buffer.from('{'), mediaType: 'application/json' }
    expect((await upload(tenant.as('ada'), given)).attachment.mediaType).toBe('application/json')
  })

  it('accepts only writers of the conversation', async () => {
    const tenant = world.tenant()
    const { conversation } = await createConversation(world.deps, tenant.as('owner'), {
      visibility: 'MEMBERS',
      participants: [{ actor: 'ada' }],
    })
    const given = { conversationId: conversation.id, bytes: png(1, 1) }
    await expect(upload(tenant.as('eve'), given)).rejects.toThrow(NotFound)
    await expect(upload(world.tenant().as('ada'), given)).rejects.toThrow(NotFound)
    await removeParticipant(world.deps, tenant.as('owner'), { conversationId: conversation.id, actor: 'ada' })
    await expect(upload(tenant.as('ada'), given)).rejects.toThrow(NotAllowed)
    const open = await tenant.newConversation()
    await upload(tenant.as('new'), { conversationId: open, bytes: png(1, 1) })
    const where = { conversationId: open, actor: 'new' }
    expect(await world.deps.db.of(tenant.name).participant.count({ where })).toBe(1)
  })

  it('returns an earlier upload with the clientId, and one of the same unused file', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const ada = tenant.as('ada')
    const first = await upload(ada, { conversationId, bytes: png(1, 1), clientId: 'a' })
    const again = await upload(ada, { conversationId, bytes: png(1, 1), clientId: 'a' })
    expect(again).toMatchObject({ deduplicated: true, attachment: { id: first.attachment.id } })
    await expect(upload(ada, { conversationId, bytes: png(2, 2), clientId: 'a' })).rejects.toThrow(Conflict)
    expect(await upload(ada, { conversationId, bytes: png(1, 1) })).toMatchObject({ deduplicated: true })
    await appendTurn(world.deps, ada, { conversationId, turn: fileTurn(first.attachment.id) })
    expect(await upload(ada, { conversationId, bytes: png(1, 1) })).toMatchObject({ deduplicated: false })
  })

  it('gives an attachment to a turn, whose view it then has', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada', 'bob', 'eve')
    const [ada, bob, eve] = [tenant.as('ada'), tenant.as('bob'), tenant.as('eve')]
    const { id } = await uploadPng(world.deps, ada, conversationId)
    expect(await getAttachment(world.deps, ada, id)).toMatchObject({ id })
    expect(await getAttachment(world.deps, bob, id)).toBeNull()
    const turn = fileTurn(id, { audience: ['bob'], clientId: 'one' })
    const { turn: written } = await appendTurn(world.deps, ada, { conversationId, turn })
    expect(written.parts).toMatchObject([
      { type: 'text' },
      {
        type: 'file',
        mediaType: 'image/png',
        url: urnOf(id),
        attachmentId: id,
        attachment: { width: 640, height: 480 },
      },
    ])
    // 85 + 170 × 2 tokens for an image of 640 × 480, and a few for the texts. The URN would add 30.
    expect(written.tokenCount).toBeGreaterThan(425)
    expect(written.tokenCount).toBeLessThan(435)
    expect(await getAttachment(world.deps, bob, id)).toMatchObject({ id })
    expect(await getAttachment(world.deps, eve, id)).toBeNull()
    expect(await getAttachment(world.deps, world.tenant().as('bob'), id)).toBeNull()
    const repeated = await appendTurn(world.deps, ada, { conversationId, turn })
    expect(repeated).toMatchObject({ deduplicated: true, turn: { id: written.id } })
  })

  it('refuses attachments of another conversation, uploader or turn, and unknown ones', async () => {
    const tenant = world.tenant()
    const [here, there] = [await tenant.newConversation('ada', 'bob'), await tenant.newConversation('ada')]
    const [ada, bob] = [tenant.as('ada'), tenant.as('bob')]
    const { id } = await uploadPng(world.deps, ada, here)
    const append = (viewer: typeof ada, conversationId: string, attachmentId = id) =>
      appendTurn(world.deps, viewer, { conversationId, turn: fileTurn(attachmentId) })
    await expect(append(bob, here)).rejects.toThrow(/has uploaded no such file/)
    await expect(append(ada, there)).rejects.toThrow(InvalidInput)
    await expect(append(ada, here, 'att_01ARZ3NDEKTSV4RRFFQ69G5FAV')).rejects.toThrow(InvalidInput)
    await append(ada, here)
    await expect(append(ada, here)).rejects.toThrow(/another turn already uses it/)
    const turns = [{ role: 'USER' as const, content: 'first' }, fileTurn(id)]
    await expect(appendTurns(world.deps, ada, { conversationId: here, turns })).rejects.toThrow(InvalidInput)
    expect(await tenant.lastSeq(here)).toBe(3)
  })

  it('accepts one of two turns that use an attachment at the same time', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const { id } = await uploadPng(world.deps, tenant.as('ada'), conversationId)
    const both = await Promise.allSettled(
      ['one', 'two'].map((clientId) =>
        appendTurn(world.deps, tenant.as('ada'), { conversationId, turn: fileTurn(id, { clientId }) }),
      ),
    )
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  it('lets newer versions of a turn use its attachments again', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const ada = tenant.as('ada')
    const [one, two] = [
      await uploadPng(world.deps, ada, conversationId, '1'),
      await uploadPng(world.deps, ada, conversationId, '2'),
    ]
    const { turn } = await appendTurn(world.deps, ada, { conversationId, turn: fileTurn(one.id) })
    const other = await appendTurn(world.deps, ada, { conversationId, turn: fileTurn(two.id) })
    const edit = (attachmentId: string, turnId = turn.id) =>
      supersedeTurn(world.deps, ada, { turnId, turn: fileTurn(attachmentId) })
    await expect(edit(two.id)).rejects.toThrow(/another turn already uses it/)
    const { turn: newer } = await edit(one.id)
    expect(newer.parts).toMatchObject([{ type: 'text' }, { attachmentId: one.id }])
    await supersedeTurn(world.deps, ada, { turnId: other.turn.id, turn: { role: 'USER', content: 'No picture.' } })
    // The former version still has it.
    expect(await getAttachment(world.deps, ada, two.id)).toMatchObject({ id: two.id })
  })

  it('gives attachments to streaming turns when they are committed', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const ada = tenant.as('ada')
    const [one, two] = [
      await uploadPng(world.deps, ada, conversationId, '1'),
      await uploadPng(world.deps, ada, conversationId, '2'),
    ]
    const writerToken = 'a token of the writer'
    const open = async () =>
      (await openTurn(world.deps, ada, { conversationId, turn: { role: 'ASSISTANT' }, writerToken })).turn.id
    const delta = (turnId: string, attachmentId: string) =>
      appendDelta(world.deps, ada, { turnId, writerToken, text: '', part: { number: 1, file: { attachmentId } } })
    const turnId = await open()
    await delta(turnId, one.id)
    const parts = [{ file: { attachmentId: two.id } }]
    const committed = await commitTurn(world.deps, ada, { turnId, writerToken, parts })
    expect(committed.parts).toMatchObject([{ attachmentId: one.id }, { attachmentId: two.id }])
    const second = await open()
    await expect(delta(second, one.id)).rejects.toThrow(/another turn already uses it/)
    const three = await uploadPng(world.deps, ada, conversationId, '3')
    await delta(second, three.id)
    await appendTurn(world.deps, ada, { conversationId, turn: fileTurn(three.id) })
    await expect(commitTurn(world.deps, ada, { turnId: second, writerToken })).rejects.toThrow(InvalidInput)
    const aborted = await abortTurn(world.deps, ada, { turnId: second, writerToken })
    expect(aborted).toMatchObject({ status: 'ABORTED', parts: [{ type: 'file', url: urnOf(three.id) }] })
    // Without them, readers of the aborted turn get no signed URL of a file that another turn has.
    expect(aborted.parts![0]).not.toHaveProperty('attachmentId')
    expect(aborted.parts![0]).not.toHaveProperty('attachment')
  })

  it('refuses deltas and parts with an attachment of another conversation', async () => {
    const tenant = world.tenant()
    const [here, there] = [await tenant.newConversation('ada'), await tenant.newConversation('ada')]
    const ada = tenant.as('ada')
    const { id } = await uploadPng(world.deps, ada, there)
    const writerToken = 'a token of the writer'
    const opened = await openTurn(world.deps, ada, { conversationId: here, turn: { role: 'ASSISTANT' }, writerToken })
    const of = { turnId: opened.turn.id, writerToken }
    const file = { attachmentId: id }
    await expect(appendDelta(world.deps, ada, { ...of, text: '', part: { number: 1, file } })).rejects.toThrow(
      /part\.file: .*has uploaded no such file to this conversation/,
    )
    await expect(commitTurn(world.deps, ada, { ...of, parts: [{ file }] })).rejects.toThrow(InvalidInput)
    expect(await abortTurn(world.deps, ada, of)).toMatchObject({ status: 'ABORTED', parts: null })
  })
})

describe.each(backends)('quotas of attachments on $name', (backend) => {
  const MiB = 2 ** 20
  const world = useWorld(backend, {
    files: {
      store: { kind: 'disk', directory: null },
      publicUrl: null,
      types: ['text/plain'],
      fileBytes: MiB,
      conversationBytes: 2 * MiB,
      tenantBytes: 3 * MiB,
    },
  })

  it('refuse a file beyond the size of a conversation or a tenant', async () => {
    const tenant = world.tenant()
    const fill = async (conversationId: string, text: string) =>
      uploadFile(world.deps, tenant.as('owner'), { conversationId, bytes: Buffer.alloc(MiB, text) })
    const [one, two] = [await tenant.newConversation(), await tenant.newConversation()]
    await fill(one, 'a')
    await fill(one, 'b')
    await expect(fill(one, 'c')).rejects.toThrow(/at most 2097152 are accepted \(MAX_CONVERSATION_FILE_BYTES\)/)
    await fill(two, 'c')
    await expect(fill(two, 'd')).rejects.toThrow(/at most 3145728 are accepted \(MAX_TENANT_FILE_BYTES\)/)
    await expect(fill(two, 'd')).rejects.toThrow(LimitReached)
    // A repeated upload needs no space.
    expect(await fill(one, 'a')).toMatchObject({ deduplicated: true })
  })

  it('refuse a file without space before its bytes are written', async () => {
    const tenant = world.tenant()
    const put = vi.spyOn(world.deps.files.store, 'put')
    const fill = async (conversationId: string, text: string) =>
      uploadFile(world.deps, tenant.as('owner'), { conversationId, bytes: Buffer.alloc(MiB, text) })
    const [one, two] = [await tenant.newConversation(), await tenant.newConversation()]
    for (const text of ['a', 'b']) await fill(one, text)
    await fill(two, 'c')
    put.mockClear()
    await expect(fill(one, 'd')).rejects.toThrow(LimitReached)
    await expect(fill(two, 'd')).rejects.toThrow(LimitReached)
    expect(put).not.toHaveBeenCalled()
    put.mockRestore()
  })

  it('refuse another file of a conversation with 10,000', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation()
    await world.deps.db.of(tenant.name).$executeRaw`
      INSERT INTO attachment (id, conversation_id, sha256, bytes, media_type, uploaded_by)
      SELECT 'att_' || n, ${conversationId}::text, n::text, 1, 'text/plain', 'owner' FROM generate_series(1, 10000) n`
    const given = { conversationId, bytes: Buffer.from('one more') }
    await expect(uploadFile(world.deps, tenant.as('owner'), given)).rejects.toThrow(/at most 10000 are accepted/)
  })

  it('delete the bytes of a failed upload without waiting, unless a later upload of the file has begun', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation()
    const { deps } = world
    const fail = (begins: () => Promise<unknown>) =>
      vi.spyOn(deps.files.store, 'put').mockImplementationOnce(async () => {
        await begins()
        throw new Error('the disk is full')
      })
    const upload = () => uploadFile(deps, tenant.as('owner'), { conversationId, bytes: Buffer.from('a') })
    const isDue = async () => {
      const rows = await deps.db.of(tenant.name).fileDeletion.findMany({ where: { tenant: tenant.name } })
      return rows.every(({ dueAt }) => dueAt.getTime() <= Date.now() + 60_000)
    }
    fail(async () => {})
    await expect(upload()).rejects.toThrow('the disk is full')
    expect(await isDue()).toBe(true)
    const sha256 = createHash('sha256').update('a').digest('hex')
    fail(() => delayDeletion(deps.db, { tenant: tenant.name, sha256 }, UPLOAD_SECONDS * 2))
    await expect(upload()).rejects.toThrow('the disk is full')
    expect(await isDue()).toBe(false)
  })
})
