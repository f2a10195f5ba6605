// What was exported can be imported into another tenant and exported again with the same hash, whole or in the smallest
// batches.

import { describe, expect, it } from 'vitest'
import { cancelTransfer, getTransfer, startImport } from '../../../../../../src/domain/trust/transfer/transfer.ts'
import { createConversation, getConversations } from '../../../../../../src/domain/conversation/conversation.ts'
import { removeParticipant } from '../../../../../../src/domain/conversation/participant/participant.ts'
import { deleteSharedState } from '../../../../../../src/domain/conversation/shared-state/delete-shared-state.ts'
import {
  getSharedStatePages,
  VALUE_BYTES,
} from '../../../../../../src/domain/conversation/shared-state/shared-state.ts'
import { updateSharedState } from '../../../../../../src/domain/conversation/shared-state/update-shared-state.ts'
import { setLegalHold } from '../../../../../../src/domain/trust/erasure/legal-hold.ts'
import { deleteConversation } from '../../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { eraseTurn } from '../../../../../../src/domain/trust/erasure/erase-turn.ts'
import { eraseUser } from '../../../../../../src/domain/trust/erasure/erase-user.ts'
import { appendDelta } from '../../../../../../src/domain/turn/streaming/append-delta.ts'
import { updateTenantSettings } from '../../../../../../src/domain/conversation/tenant-settings.ts'
import { continueImport } from '../../../../../../src/domain/trust/transfer/import/import.ts'
import { getTurns } from '../../../../../../src/domain/turn/turn.ts'
import type { Tx } from '../../../../../../src/store/db/db.ts'
import type { Scope } from '../../../../../../src/store/db/scope.ts'
import { readAuditChain } from '../../../../../../src/store/sql/trust/audit-lines.ts'
import { WRITER } from '../../../../../support/writer.ts'
import { recall } from '../../../../../../src/domain/memory/recall/recall.ts'
import { pageOfTurns } from '../../../../../../src/domain/turn/history.ts'
import { appendTurn, openTurn } from '../../../../../../src/domain/turn/append/append.ts'
import { backends } from '../../../../../support/backend.ts'
import {
  exportLines,
  fillTenant,
  hashOf,
  importLines,
  linesOfType,
  rehash,
  WHISPER,
} from '../../../../../support/transfer.ts'
import { useWorld } from '../../../../../support/world.ts'
import { sql } from '../../../../../support/sql.ts'

describe.each(backends)('export and import on $name', (backend) => {
  const world = useWorld(backend, { integrityKey: 'k'.repeat(32) })

  /** Deletes all data of the tenant, so that its ids are free. */
  const wipe = async (tenant: string) => {
    for (const table of ['fact', 'conversation', 'user_profile', 'erasure', 'held_user', 'transfer']) {
      await sql(world.deps.pool).query(`DELETE FROM ${table} WHERE tenant = $1`, [tenant])
    }
  }

  /** Returns the tables with rows of the tenant that contain the text. */
  const tablesWith = async (tenant: string, text: string) => {
    const found: string[] = []
    for (const table of ['conversation', 'participant', 'turn', 'summary', 'fact', 'user_profile', 'transfer']) {
      const values = [tenant, `%${text}%`]
      const statement = `SELECT FROM ${table} t WHERE tenant = $1 AND t::text LIKE $2`
      if ((await sql(world.deps.pool).query(statement, values)).rowCount) found.push(table)
    }
    return found
  }

  it.each([1, 7, 500])('round-trips a tenant by hash, in batches of %i lines', async (batch) => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    const [members, open] = await fillTenant(deps, tenant)
    const file = await exportLines(deps, owner, { scope: 'TENANT' })
    const end = JSON.parse(file.at(-1)!) as { counts: object; lines: number }
    expect(end).toMatchObject({
      type: 'end',
      lines: file.length - 2,
      counts: { conversation: 2, fact: 4, profile: 2, erasure: 1, heldUser: 1 },
    })
    const page = () => pageOfTurns(deps, tenant.as('dora'), [members], { first: 50 })
    const before = { counts: await getConversations(deps, tenant.as('ann'), [members, open]), page: await page() }

    await wipe(tenant.name)
    const { state, report } = await importLines(deps, owner, file, { batch })
    expect(state).toBe('COMPLETED')
    expect(report).toMatchObject({ 'conversation.added': 2, 'fact.added': 4, 'profile.added': 2 })
    const again = await exportLines(deps, owner, { scope: 'TENANT' })
    expect(again.slice(1, -1)).toEqual(file.slice(1, -1))
    expect(hashOf(again)).toBe(hashOf(file))
    expect(await getConversations(deps, tenant.as('ann'), [members, open])).toEqual(before.counts)
    expect(await page()).toEqual(before.page)
    // The index terms were computed, and the journal continues.
    const { hits } = await recall(deps, tenant.as('ann'), { conversationId: members, query: 'vault' })
    const vault = linesOfType(file, 'entry').find(({ turn }) => turn?.text.includes('vault')).turn.id as string
    expect(JSON.stringify(hits)).toContain(vault)
    const { turn } = await appendTurn(deps, tenant.as('ann'), {
      conversationId: members,
      turn: { role: 'USER', content: 'On.' },
    })
    expect(turn.seq).toBe(linesOfType(file, 'conversation').find(({ id }) => id === members).lastSeq + 1)
  })

  it('changes nothing when the same file is imported twice, and says so', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    await fillTenant(deps, tenant)
    const file = await exportLines(deps, owner, { scope: 'TENANT' })
    const { report } = await importLines(deps, owner, file)
    expect(Object.keys(report).filter((key) => !key.endsWith('.unchanged'))).toEqual([])
    expect(hashOf(await exportLines(deps, owner, { scope: 'TENANT' }))).toBe(hashOf(file))
  })

  it('shows a conversation only when it is complete, and deletes it if the import is cancelled', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    const [members] = await fillTenant(deps, tenant)
    const file = await exportLines(deps, owner, { scope: 'CONVERSATION', conversationId: members })
    await wipe(tenant.name)
    const last = file.findIndex((line) => line.includes('"type":"participant"'))
    const begun = await importLines(deps, owner, file.slice(0, last), { fileKey: 'part', batch: 3 })
    expect(begun).toMatchObject({ state: 'RUNNING', lines: last - 1 })
    for (const actor of ['owner', 'ann', 'dora']) {
      expect(await getConversations(deps, tenant.as(actor), [members])).toEqual(new Map())
    }
    expect(linesOfType(await exportLines(deps, owner, { scope: 'TENANT' }), 'conversation')).toEqual([])
    await cancelTransfer(deps, owner, { transferId: begun.id })
    expect(await getTransfer(deps, owner, begun.id)).toMatchObject({ state: 'CANCELLED' })
    expect((await sql(deps.pool).query('SELECT FROM turn WHERE conversation_id = $1', [members])).rowCount).toBe(0)
    expect(await importLines(deps, owner, file, { fileKey: 'part' })).toMatchObject({ state: 'COMPLETED' })
  })

  it('keeps erased what was erased in this store, when an older file is imported', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    const [members, open] = await fillTenant(deps, tenant)
    const file = await exportLines(deps, owner, { scope: 'TENANT' })
    const secret = linesOfType(file, 'entry').find(({ turn }) => turn?.text.includes(WHISPER)).turn.id as string
    await eraseTurn(deps, tenant.as('bob'), { turnId: secret })
    await eraseUser(deps, owner, { userId: 'ann' })
    // The conversations exist: nothing is written.
    const again = await importLines(deps, owner, file)
    expect(again.report).toMatchObject({ 'turn.kept': expect.any(Number), 'fact.erased': expect.any(Number) })
    expect(await tablesWith(tenant.name, WHISPER)).toEqual([])
    expect(await tablesWith(tenant.name, 'Bergen')).toEqual([])
    // A conversation was erased: it is skipped. Of the other, the turns of the erased user come back without content.
    await deleteConversation(deps, tenant.as('ann'), members)
    await sql(deps.pool).query('DELETE FROM conversation WHERE id = $1', [open])
    const { state, report } = await importLines(deps, owner, file)
    expect(state).toBe('COMPLETED')
    expect(report).toMatchObject({ 'conversation.erased': 1, 'conversation.added': 1, 'turn.erased': 1 })
    expect(await tablesWith(tenant.name, WHISPER)).toEqual([])
    expect(await tablesWith(tenant.name, 'Bergen')).toEqual([])
    expect(await getConversations(deps, owner, [members])).toEqual(new Map())
  })

  it('refuses a conversation of another tenant, other content and another key, and names them', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    const [members, open] = await fillTenant(deps, tenant)
    const file = await exportLines(deps, owner, { scope: 'TENANT' })
    await expect(importLines(deps, world.tenant().as('owner'), file)).rejects.toThrow(`The id ${members} is used`)
    // The content of a turn was changed, and the hashes were computed again.
    const changed = rehash(file.map((line) => line.replace('Hello from Dora', 'Hello from Eve')))
    const turnId = linesOfType(file, 'entry').find(({ turn }) => turn?.actor === 'dora').turn.id as string
    await expect(importLines(deps, owner, changed)).rejects.toThrow(`${turnId} has other content`)
    // The store has fewer entries than the file.
    await sql(deps.pool).query('UPDATE journal SET last_seq = last_seq - 1 WHERE conversation_id = $1', [open])
    await expect(importLines(deps, owner, file)).rejects.toThrow(`older state of the conversation ${open}`)
    const other = world.tenant()
    const { conversation } = await createConversation(deps, other.as('ann'), { key: 'harbour', visibility: 'MEMBERS' })
    const renamed = rehash(file.map((line) => line.replaceAll(members, 'conv_01ARZ3NDEKTSV4RRFFQ69G5FAV')))
    await expect(importLines(deps, other.as('owner'), renamed)).rejects.toThrow(
      `the conversation ${conversation.id} has the key`,
    )
    expect(await tablesWith(tenant.name, 'Hello from Eve')).toEqual([])
    expect(await tablesWith(other.name, 'Hello')).toEqual([])
  })

  it('ignores a batch that was written before, also when it is sent twice at once', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    await fillTenant(deps, tenant)
    const [manifest, ...lines] = await exportLines(deps, owner, { scope: 'TENANT' })
    await wipe(tenant.name)
    const { id: transferId } = await startImport(deps, owner, { manifest: manifest!, fileKey: 'twice' })
    const send = (offset: number, end: number) =>
      continueImport(deps, owner, { transferId, offset, lines: lines.slice(offset, end) })
    const both = await Promise.all([send(0, 10), send(0, 10)])
    expect(both.map((transfer) => transfer.lines)).toEqual([10, 10])
    expect(await send(0, 10)).toMatchObject({ lines: 10 })
    // A batch that begins before the written lines is written from there.
    expect(await send(5, 20)).toMatchObject({ lines: 20 })
    await expect(send(21, 30)).rejects.toThrow('Continue with line 22')
    expect(await send(20, lines.length)).toMatchObject({ state: 'COMPLETED', lines: lines.length - 1 })
    expect(await send(20, lines.length)).toMatchObject({ state: 'COMPLETED' })
    expect(hashOf(await exportLines(deps, owner, { scope: 'TENANT' }))).toBe(hashOf([manifest!, ...lines]))
  })

  it('returns the progress if another call writes the batch while this one reads', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    await fillTenant(deps, tenant)
    const [manifest, ...lines] = await exportLines(deps, owner, { scope: 'TENANT' })
    await wipe(tenant.name)
    const { id: transferId } = await startImport(deps, owner, { manifest: manifest!, fileKey: 'overtaken' })
    const batch = { transferId, offset: 0, lines: lines.slice(0, 10) }
    let overtaking: ReturnType<typeof continueImport> | undefined
    // The first call has read the progress of the import when it asks for erasures, and nothing else of the store.
    const findMany = async (...args: Parameters<Tx['erasure']['findMany']>) => {
      await (overtaking ??= continueImport(deps, owner, batch))
      return deps.db.of(tenant.name).erasure.findMany(...args)
    }
    const of = (scope: Scope) =>
      new Proxy(deps.db.of(scope), { get: (tx, key) => (key === 'erasure' ? { findMany } : Reflect.get(tx, key)) })
    const overtaken = await continueImport({ ...deps, db: { ...deps.db, of } }, owner, batch)
    expect(await overtaking).toMatchObject({ lines: 10, state: 'RUNNING' })
    expect(overtaken).toEqual(await overtaking)
  })

  it('redacts personal data in the mode of the tenant', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    const conversationId = await tenant.newConversation('ann')
    await tenant.append(conversationId, 'ann', 'Write to ann@example.org.')
    const file = await exportLines(deps, owner, { scope: 'TENANT' })
    await wipe(tenant.name)
    await updateTenantSettings(deps, owner, { redact: 'turns' })
    expect(await importLines(deps, owner, file)).toMatchObject({ state: 'COMPLETED' })
    expect(await tablesWith(tenant.name, 'ann@example.org')).toEqual([])
    const { report } = await importLines(deps, owner, file)
    expect(report).toMatchObject({ 'turn.unchanged': 1 })
  })

  it('aborts a turn that was open when it was exported, with its text', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    const conversationId = await tenant.newConversation('ann')
    const { turn } = await openTurn(deps, tenant.as('ann'), {
      conversationId,
      writerToken: WRITER,
      turn: { role: 'USER' },
    })
    await appendDelta(deps, tenant.as('ann'), { turnId: turn.id, writerToken: WRITER, text: 'So far' })
    const file = await exportLines(deps, owner, { scope: 'TENANT' })
    await wipe(tenant.name)
    await importLines(deps, owner, file)
    const found = (await getTurns(deps, tenant.as('ann'), [turn.id])).get(turn.id)
    expect(found).toMatchObject({ status: 'ABORTED', text: 'So far', abortReason: expect.stringContaining('exported') })
  })

  it('is written to the audit log, with the report and the hash', async () => {
    const { deps } = world
    const tenant = world.tenant()
    await fillTenant(deps, tenant)
    const file = await exportLines(deps, tenant.as('root'), { scope: 'TENANT' })
    await importLines(deps, tenant.as('root'), file)
    const lines = await readAuditChain(deps.db, tenant.name, 0, 100)
    expect(lines.map(({ verb }) => verb).slice(-2)).toEqual(['startImport', 'completeImport'])
    expect(JSON.parse(lines.at(-1)!.details!)).toMatchObject({ 'turn.unchanged': 11, sha256: hashOf(file) })
  })

  it('is cancelled when a user is erased whose turns it has written, and leaves out these turns afterwards', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    const [members] = await fillTenant(deps, tenant)
    const file = await exportLines(deps, owner, { scope: 'CONVERSATION', conversationId: members })
    await wipe(tenant.name)
    const begun = await importLines(deps, owner, file.slice(0, 8), { fileKey: 'begun' })
    expect(await tablesWith(tenant.name, 'vault')).toContain('turn')
    const { receipt } = await eraseUser(deps, owner, { userId: 'ann' })
    expect(receipt).not.toBeNull()
    expect(await tablesWith(tenant.name, 'vault')).toEqual([])
    const next = { transferId: begun.id, offset: begun.lines, lines: file.slice(begun.lines + 1) }
    await expect(continueImport(deps, owner, next)).rejects.toThrow('was cancelled')
    const { report } = await importLines(deps, owner, file, { fileKey: 'begun' })
    expect(report).toMatchObject({ 'turn.erased': 5, 'summary.erased': 1 })
    expect(await tablesWith(tenant.name, 'vault')).toEqual([])
    const titles = await getConversations(deps, tenant.as('bob'), [members])
    expect(titles.get(members)).toMatchObject({ title: null, metadata: {} })
  })

  it('keeps the writers of shared state, whom a hold and an erasure during the import concern', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    const conversationId = await tenant.newConversation('ann', 'bob')
    const update = (actor: string, key: string) =>
      updateSharedState(deps, tenant.as(actor), { conversationId, key, merge: { [actor]: 'vault' } })
    for (const actor of ['ann', 'bob']) await update(actor, 'both')
    await update('ann', 'own')
    const file = await exportLines(deps, owner, { scope: 'CONVERSATION', conversationId })
    const begin = async (fileKey: string) => {
      await wipe(tenant.name)
      const upTo = file.findIndex((line) => line.includes('"conversationEnd"'))
      const begun = await importLines(deps, owner, file.slice(0, upTo), { fileKey })
      return { transferId: begun.id, offset: begun.lines, lines: file.slice(begun.lines + 1) }
    }
    const next = await begin('first')
    await continueImport(deps, owner, next)
    await setLegalHold(deps, owner, { userId: 'ann', legalHold: true })
    for (const key of ['both', 'own']) {
      await expect(deleteSharedState(deps, owner, { conversationId, key })).rejects.toThrow(/legal hold/)
    }
    await setLegalHold(deps, owner, { userId: 'ann', legalHold: false })
    const { receipt } = await eraseUser(deps, owner, { userId: 'ann' })
    expect(receipt!.counts).toMatchObject({ shared_state: 1 })
    const states = await getSharedStatePages(deps, owner, [conversationId], {})
    expect(states.get(conversationId)!.items).toMatchObject([{ key: 'both', version: 2 }])
    // After the import, versions continue with that of the file.
    await deleteSharedState(deps, owner, { conversationId, key: 'both' })
    expect((await update('bob', 'both')).version).toBe(4)
  })

  it('fails if a user is erased meanwhile who wrote nothing but shared state', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    const conversationId = await tenant.newConversation('bob')
    await updateSharedState(deps, tenant.as('ann'), { conversationId, key: 'plan', merge: { ann: 'vault' } })
    await updateSharedState(deps, tenant.as('bob'), { conversationId, key: 'plan', merge: { bob: 1 } })
    await removeParticipant(deps, owner, { conversationId, actor: 'ann' })
    const file = await exportLines(deps, owner, { scope: 'CONVERSATION', conversationId })
    const alone = file.filter((line) => !line.startsWith('{"type":"participant","actor":"ann"'))
    expect(alone).toHaveLength(file.length - 1)
    await wipe(tenant.name)
    const lines = rehash(alone)
    const upTo = lines.findIndex((line) => line.includes('"conversationEnd"'))
    const begun = await importLines(deps, owner, lines.slice(0, upTo), { fileKey: 'begun' })
    await sql(deps.pool).query(
      `INSERT INTO erasure (id, tenant, kind, subject) VALUES (gen_random_uuid(), $1, 'USER', 'ann')`,
      [tenant.name],
    )
    const rest = { transferId: begun.id, offset: begun.lines, lines: [lines[upTo]!] }
    await expect(continueImport(deps, owner, rest)).rejects.toThrow(/shared state are being imported was erased/)
  })

  it('refuses shared state that a conversation cannot have, and names the line', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    const conversationId = await tenant.newConversation('ann')
    for (const key of ['a', 'b']) {
      await updateSharedState(deps, tenant.as('ann'), { conversationId, key, value: 1 })
    }
    const file = await exportLines(deps, owner, { scope: 'CONVERSATION', conversationId })
    const at = file.findIndex((line) => line.includes('"key":"b"'))
    const refusal = async (change: (line: Record<string, unknown>) => object[]) => {
      await wipe(tenant.name)
      const changed = change(JSON.parse(file[at]!)).map((line) => JSON.stringify(line))
      return importLines(deps, owner, rehash(file.toSpliced(at, 1, ...changed)), { batch: 2 })
    }
    await expect(refusal((line) => [{ ...line, key: 'a' }])).rejects.toThrow(
      `line ${at + 1} has the key "a" of an earlier line`,
    )
    const value = 'x'.repeat(VALUE_BYTES - 2)
    const large = (line: object) => Array.from({ length: 5 }, (_, n) => ({ ...line, key: `large ${n}`, value }))
    await expect(refusal(large)).rejects.toThrow(`line ${at + 4} is too large`)
    await expect(refusal((line) => [{ ...line, writers: [] }])).rejects.toThrow(`line ${at + 1}`)
  })

  it('leaves out a conversation that has expired', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    const { conversation } = await createConversation(deps, owner, { title: 'Old' })
    const file = await exportLines(deps, owner, { scope: 'TENANT' })
    await wipe(tenant.name)
    const expired = file.map((line) => {
      const object = JSON.parse(line) as { type: string }
      return object.type === 'conversation'
        ? JSON.stringify({ ...object, expiresAt: '2020-01-01T00:00:00.000Z' })
        : line
    })
    expect(await importLines(deps, owner, rehash(expired))).toMatchObject({ report: { 'conversation.expired': 1 } })
    expect(await getConversations(deps, owner, [conversation.id])).toEqual(new Map())
  })
})
