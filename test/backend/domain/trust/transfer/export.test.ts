// An export in pages: what it contains by scope, who may make one, and how it continues.

import { describe, expect, it } from 'vitest'
import { readAuditChain } from '../../../../../src/store/sql/trust/audit-lines.ts'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { updateSharedState } from '../../../../../src/domain/conversation/shared-state/update-shared-state.ts'
import { recordFacts } from '../../../../../src/domain/memory/fact/record.ts'
import type { Principal, Right } from '../../../../../src/domain/kernel/rights/principal.ts'
import { continueExport } from '../../../../../src/domain/trust/transfer/export.ts'
import { cancelTransfer, startExport } from '../../../../../src/domain/trust/transfer/transfer.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { exportLines, fillTenant, hashOf, importLines, linesOfType, WHISPER } from '../../../../support/transfer.ts'
import { useWorld } from '../../../../support/world.ts'

/** The viewer with a credential that has these rights. */
const withRights = (viewer: Viewer, rights: Right[], conversations: string[] | null = null): Viewer => {
  const { tenant, actor } = viewer
  const limited = conversations && new Set(conversations)
  const credential = { kind: 'HUMAN' as const, credential: `key:${actor}`, expiresAt: null }
  const principal: Principal = { tenant, actor, rights: new Set(rights), conversations: limited, ...credential }
  return { ...viewer, principal }
}

describe.each(backends)('an export on $name', (backend) => {
  const world = useWorld(backend, { integrityKey: 'k'.repeat(32) })

  it('of a user contains what the user wrote, was told and is known for, and nothing of whispers of others', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const [members] = await fillTenant(deps, tenant)
    const told = await tenant.append(members, 'bob', 'Only for ann.', { audience: ['ann'] })
    const other = await tenant.append(members, 'bob', 'Not about her.')
    await recordFacts(deps, tenant.as('bob'), {
      userId: 'ann',
      facts: [{ subject: 'ann', predicate: 'has secret', object: WHISPER, sourceTurnId: await whisperId() }],
    })
    async function whisperId() {
      return (await tenant.append(members, 'bob', `About @ann: ${WHISPER}.`, { audience: ['dora'] })).id
    }
    const file = await exportLines(deps, tenant.as('ann'), { scope: 'USER', userId: 'ann' })
    expect(file.join('\n')).not.toContain(WHISPER)
    expect(file.join('\n')).not.toContain(other.id)
    const turns = linesOfType(file, 'turn')
    expect(turns.map(({ text }) => text)).toEqual(
      expect.arrayContaining(['Where is the @bob vault? 🔑', 'Pier 3?', 'Pier 4?', 'Thanks.', told.text]),
    )
    expect(new Set(linesOfType(file, 'conversation').map(({ key }) => key))).toEqual(new Set(['harbour', null]))
    expect(linesOfType(file, 'fact').map(({ object }) => object)).toEqual(expect.arrayContaining(['Bergen', 'a boat']))
    expect(linesOfType(file, 'profile')).toMatchObject([{ userId: 'ann' }])
    // The user who was told the whisper gets it.
    const dora = await exportLines(deps, tenant.as('dora'), { scope: 'USER', userId: 'dora' })
    expect(dora.join('\n')).toContain(WHISPER)
    await expect(importLines(deps, tenant.as('owner'), file)).rejects.toThrow('the data of one user')
  })

  it('of a user contains the state that the user changes, and after it left only what it alone has written', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob')
    const update = (actor: string, key: string, audience?: string[]) =>
      updateSharedState(deps, tenant.as(actor), { conversationId, key, value: `${key} by ${actor}`, audience })
    for (const key of ['both', 'own']) await update('ann', key)
    await update('bob', 'both')
    await update('bob', 'others')
    await update('bob', 'told', ['ann'])
    await update('bob', 'private', ['bob'])
    const valuesOf = async (actor: string) => {
      const lines = linesOfType(
        await exportLines(deps, tenant.as(actor), { scope: 'USER', userId: actor }),
        'sharedState',
      )
      expect(lines.every((line) => !('writers' in line))).toBe(true)
      return lines.map(({ value }) => value)
    }
    expect(await valuesOf('ann')).toEqual(['both by bob', 'own by ann', 'told by bob'])
    await removeParticipant(deps, tenant.as('owner'), { conversationId, actor: 'ann' })
    await update('bob', 'both')
    expect(await valuesOf('ann')).toEqual(['own by ann'])
  })

  it('of a conversation or an owner contains these conversations and their facts, with the sources in them', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const [members, open] = await fillTenant(deps, tenant)
    const one = await exportLines(deps, tenant.as('x'), { scope: 'CONVERSATION', conversationId: open })
    expect(linesOfType(one, 'conversation').map(({ id }) => id)).toEqual([open])
    const sources = linesOfType(one, 'fact').flatMap((fact) => fact.sources)
    expect(new Set(sources.map(({ conversationId }) => conversationId))).toEqual(new Set([open]))
    const owned = await exportLines(deps, tenant.as('x'), { scope: 'OWNER', owner: 'ann' })
    expect(linesOfType(owned, 'conversation').map(({ id }) => id)).toEqual([members])
    expect(linesOfType(owned, 'profile')).toEqual([])
    expect(owned.join('\n')).toContain(WHISPER)
    expect(owned.join('\n')).not.toContain('erasedq7x')
  })

  it('needs `operate`, unless it is of the own data of the viewer', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const [members] = await fillTenant(deps, tenant)
    const reader = withRights(tenant.as('ann'), ['read', 'write', 'manage', 'erase', 'act-as'])
    const operator = withRights(tenant.as('root'), ['read', 'operate'])
    const complete = { scope: 'CONVERSATION' as const, conversationId: members }
    await expect(startExport(deps, reader, complete)).rejects.toThrow(NotAllowed)
    await expect(startExport(deps, reader, { scope: 'TENANT' })).rejects.toThrow(NotAllowed)
    await expect(startExport(deps, reader, { scope: 'USER', userId: 'bob' })).rejects.toThrow(NotAllowed)
    await exportLines(deps, reader, { scope: 'USER', userId: 'ann' })
    await exportLines(deps, operator, { scope: 'USER', userId: 'ann' })
    // Another actor neither continues nor reads it, and a limited credential exports its conversations only.
    const { id: transferId } = await startExport(deps, operator, complete)
    await expect(continueExport(deps, reader, { transferId })).rejects.toThrow(NotFound)
    const limited = withRights(tenant.as('bot'), ['read', 'operate'], [members])
    await exportLines(deps, limited, complete)
    await expect(startExport(deps, limited, { scope: 'TENANT' })).rejects.toThrow(NotAllowed)
    const foreign = await world.tenant().newConversation()
    await expect(startExport(deps, operator, { ...complete, conversationId: foreign })).rejects.toThrow(NotFound)
  })

  it('repeats a page for the same cursor, refuses other cursors, and ends when it is cancelled', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    for (let n = 0; n < 3; n++) {
      const { conversation } = await createConversation(deps, owner, { title: `${n}` })
      for (let turn = 0; turn < 3; turn++) await tenant.append(conversation.id, 'ann', 'x'.repeat(250_000))
    }
    const { id: transferId } = await startExport(deps, owner, { scope: 'TENANT' })
    const first = await continueExport(deps, owner, { transferId })
    expect(first.cursor).not.toBeNull()
    expect(first.transfer).toMatchObject({ state: 'RUNNING', lines: first.lines.length - 1 })
    const second = await continueExport(deps, owner, { transferId, after: first.cursor })
    const again = await continueExport(deps, owner, { transferId, after: first.cursor })
    expect(again.lines).toEqual(second.lines)
    expect(again.cursor).toEqual(second.cursor)
    const other = await startExport(deps, owner, { scope: 'TENANT' })
    const wrong = [`${first.cursor}x`, 'nonsense', '']
    for (const after of wrong) {
      await expect(continueExport(deps, owner, { transferId, after })).rejects.toThrow(InvalidInput)
    }
    await expect(continueExport(deps, owner, { transferId: other.id, after: first.cursor })).rejects.toThrow(
      InvalidInput,
    )
    const { cursor: after } = await continueExport(deps, owner, { transferId: other.id })
    await cancelTransfer(deps, owner, { transferId: other.id })
    await expect(continueExport(deps, owner, { transferId: other.id, after })).rejects.toThrow(Conflict)
  })

  it('of one conversation does not continue with a cursor that names another one', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const owner = tenant.as('owner')
    const [members, open] = await fillTenant(deps, tenant)
    const { id: transferId } = await startExport(deps, owner, { scope: 'CONVERSATION', conversationId: open })
    const place = { createdAt: '2026-01-01T00:00:00Z', id: members }
    const stage = { at: 'entries', conversation: place, head: 5, seq: 0 }
    const forged = Buffer.from(JSON.stringify({ transferId, stage, lines: 0, chain: '', counts: {} })).toString(
      'base64url',
    )
    await expect(continueExport(deps, owner, { transferId, after: forged })).rejects.toThrow('is not a cursor')
  })

  it('is written to the audit log, with the counts and the hash', async () => {
    const { deps } = world
    const tenant = world.tenant()
    await fillTenant(deps, tenant)
    const file = await exportLines(deps, tenant.as('root'), { scope: 'TENANT' })
    const lines = await readAuditChain(deps.db, tenant.name, 0, 100)
    expect(lines.map(({ verb }) => verb).slice(-2)).toEqual(['startExport', 'completeExport'])
    expect(JSON.parse(lines.at(-1)!.details!)).toMatchObject({ conversation: 2, sha256: hashOf(file) })
  })
})
