// API keys of a tenant: creation, lists, rotation, revocation, the first key, and the rule that a credential issues no
// key that permits more than the credential itself.

import { describe, expect, it, vi } from 'vitest'
import {
  API_KEY_TOPIC,
  apiKeyCursor,
  createApiKey,
  createFirstApiKey,
  getApiKey,
  getApiKeys,
  MAX_OVERLAP_SECONDS,
  revokeApiKey,
  rotateApiKey,
  type CreateApiKeyInput,
} from '../../../src/domain/api-key/api-key.ts'
import { readToken } from '../../../src/domain/api-key/token.ts'
import { findApiKeys } from '../../../src/store/sql/api-key/find-api-keys.ts'
import { createVerifier } from '../../../src/domain/api-key/verify.ts'
import { newId } from '../../../src/domain/id.ts'
import { RIGHTS, type Principal, type Right } from '../../../src/domain/principal.ts'
import type { Viewer } from '../../../src/domain/view.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../../src/errors.ts'
import { backends } from '../../support/backend.ts'
import { useWorld } from '../../support/world.ts'
import { SYSTEM } from '../../../src/store/scope.ts'

const key = (more: Partial<CreateApiKeyInput> = {}): CreateApiKeyInput => ({
  name: 'robot',
  actor: 'bot',
  rights: ['read', 'write'],
  ...more,
})

describe.each(backends)('API keys on $name', (backend) => {
  const world = useWorld(backend)
  const newViewer = () => world.tenant().as('admin')
  const verify = (token: string) => createVerifier(world.deps)(readToken(token)!)

  /** Returns the viewer with a credential that has these rights; `conversations: null` does not limit it. */
  function limited({ tenant, actor }: Viewer, rights: readonly Right[], conversations: string[] | null = null): Viewer {
    const principal: Principal = {
      tenant,
      actor,
      kind: 'HUMAN',
      rights: new Set(rights),
      conversations: conversations && new Set(conversations),
      credential: 'key:1',
      expiresAt: null,
    }
    return { tenant, actor, principal }
  }

  it('store only a hash of the secret', async () => {
    const viewer = newViewer()
    const { apiKey, token } = await createApiKey(world.deps, viewer, key())
    expect(apiKey).toEqual({
      id: expect.stringMatching(/^key_/),
      tenant: viewer.tenant,
      name: 'robot',
      actor: 'bot',
      kind: 'AGENT',
      rights: ['read', 'write'],
      conversations: null,
      version: 1,
      createdAt: expect.any(Date),
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
    })
    const stored = await world.deps.db.of(SYSTEM).apiKey.findUniqueOrThrow({ where: { id: apiKey.id } })
    expect(Buffer.from(stored.secretHash)).toEqual(readToken(token)!.secretHash)
    expect(JSON.stringify(stored)).not.toContain(token.slice(-43))
    const lines = await world.deps.db.of(SYSTEM).auditLine.findMany({ where: { tenant: viewer.tenant } })
    expect(lines.map(({ verb, resources }) => [verb, resources])).toEqual([['createApiKey', [apiKey.id]]])
    expect(JSON.stringify(lines, (_, value) => (typeof value === 'bigint' ? Number(value) : value))).not.toContain(
      token.slice(-43),
    )
  })

  it.each<[string, Partial<CreateApiKeyInput>, string]>([
    ['no rights', { rights: [] }, 'rights'],
    ['an unknown right', { rights: ['fly' as Right] }, 'rights.0'],
    ['no name', { name: '' }, 'name'],
    ['an expiry in the past', { expiresAt: new Date(Date.now() - 1) }, 'expiresAt'],
    ['an empty list of conversations', { conversations: [] }, 'conversations'],
    ['the id of a turn instead of a conversation', { conversations: [newId('turn')] }, 'conversations.0'],
    ['too many conversations', { conversations: Array.from({ length: 101 }, () => newId('conversation')) }, 'conv'],
  ])('are not created with %s', async (_, more, path) => {
    const created = createApiKey(world.deps, newViewer(), key(more))
    await expect(created).rejects.toThrow(InvalidInput)
    await expect(created).rejects.toThrow(path)
  })

  it('have different names, unless the older key is revoked', async () => {
    const viewer = newViewer()
    const { apiKey } = await createApiKey(world.deps, viewer, key())
    await expect(createApiKey(world.deps, viewer, key())).rejects.toThrow(Conflict)
    await revokeApiKey(world.deps, viewer, { id: apiKey.id })
    await createApiKey(world.deps, viewer, key())
    await createApiKey(world.deps, newViewer(), key())
  })

  it('are listed page by page, newest first, in both directions', async () => {
    const viewer = newViewer()
    const created = []
    for (let n = 0; n < 5; n++) {
      created.unshift((await createApiKey(world.deps, viewer, key({ name: `key ${n}` }))).apiKey)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    const names = created.map(({ name }) => name)
    const first = await getApiKeys(world.deps, viewer, { first: 2 })
    expect([first.items.map(({ name }) => name), first.hasNextPage]).toEqual([names.slice(0, 2), true])
    const after = apiKeyCursor(first.items[1]!)
    const rest = await getApiKeys(world.deps, viewer, { first: 3, after })
    expect([rest.items.map(({ name }) => name), rest.hasNextPage]).toEqual([names.slice(2), false])
    const last = await getApiKeys(world.deps, viewer, { last: 1, before: after })
    expect([last.items.map(({ name }) => name), last.hasPreviousPage]).toEqual([names.slice(0, 1), false])
    expect((await getApiKeys(world.deps, newViewer(), {})).items).toEqual([])
  })

  it('of another tenant are not found', async () => {
    const { apiKey } = await createApiKey(world.deps, newViewer(), key())
    const [viewer, { id }] = [newViewer(), apiKey]
    expect(await getApiKey(world.deps, viewer, id)).toBeNull()
    await expect(rotateApiKey(world.deps, viewer, { id, expectedVersion: 1 })).rejects.toThrow(NotFound)
    await expect(revokeApiKey(world.deps, viewer, { id })).rejects.toThrow(NotFound)
  })

  it('are rotated: the previous secret stays valid for the given overlap, older secrets do not', async () => {
    const viewer = newViewer()
    const { apiKey, token } = await createApiKey(world.deps, viewer, key())
    const { id } = apiKey
    const publish = vi.spyOn(world.deps.bus, 'publish')
    const second = await rotateApiKey(world.deps, viewer, { id, expectedVersion: 1, overlapSeconds: 60 })
    expect(publish).toHaveBeenCalledWith(API_KEY_TOPIC, JSON.stringify(id))
    expect(second.apiKey.version).toBe(2)
    expect(await verify(second.token)).toMatchObject({ actor: 'bot', expiresAt: null })
    const { expiresAt } = (await verify(token)) as Principal
    expect(Math.abs(expiresAt!.getTime() - Date.now() - 60_000)).toBeLessThan(30_000)
    const third = await rotateApiKey(world.deps, viewer, { id, expectedVersion: 2 })
    const unknown = { problem: 'UNKNOWN', record: null }
    expect([await verify(token), await verify(second.token)]).toEqual([unknown, unknown])
    expect(await verify(third.token)).toMatchObject({ actor: 'bot' })
    await expect(rotateApiKey(world.deps, viewer, { id, expectedVersion: 2 })).rejects.toThrow(Conflict)
    const tooLong = { id, expectedVersion: 3, overlapSeconds: MAX_OVERLAP_SECONDS + 1 }
    await expect(rotateApiKey(world.deps, viewer, tooLong)).rejects.toThrow(InvalidInput)
    publish.mockRestore()
  })

  it('are found by their current and their previous secret, with the time at which that secret expires', async () => {
    const hour = (hours: number) => new Date(Math.floor(Date.now() / 1000) * 1000 + hours * 3_600_000)
    const { apiKey, token } = await createApiKey(world.deps, newViewer(), key())
    const [current, previous, other] = [readToken(token)!, Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
    const { id } = apiKey
    const cases: [Date | null, Date | null, (Date | null | undefined)[]][] = [
      // Expiry of the key, end of the overlap; expiry with the current, the previous and another secret.
      [null, null, [null, null, undefined]],
      [null, hour(1), [null, hour(1), undefined]],
      [hour(2), hour(1), [hour(2), hour(1), undefined]],
      [hour(2), hour(3), [hour(2), hour(2), undefined]],
    ]
    for (const [expiresAt, previousUntil, expected] of cases) {
      const data = { expiresAt, previousUntil, previousHash: previous }
      await world.deps.db.of(SYSTEM).apiKey.update({ where: { id }, data })
      const presented = [current.secretHash, previous, other].map((secretHash) => ({ keyId: id, secretHash }))
      const found = await findApiKeys(world.deps.pool, [...presented, { ...current, keyId: 'key_none' }])
      expect([0, 1, 2].map((index) => found.get(index)?.expiresAt)).toEqual(expected)
      expect(found.has(3)).toBe(false)
    }
  })

  it('are revoked permanently', async () => {
    const viewer = newViewer()
    const { apiKey, token } = await createApiKey(world.deps, viewer, key())
    const { id } = apiKey
    const first = await revokeApiKey(world.deps, viewer, { id })
    expect(await revokeApiKey(world.deps, viewer, { id })).toEqual(first)
    expect(await verify(token)).toMatchObject({ problem: 'REVOKED', record: { actor: 'bot', outcome: 'DENIED' } })
    await expect(rotateApiKey(world.deps, viewer, { id, expectedVersion: 1 })).rejects.toThrow(Conflict)
  })

  it('record their last use at most once a minute', async () => {
    const viewer = newViewer()
    const { apiKey, token } = await createApiKey(world.deps, viewer, key())
    const lastUse = async () => (await getApiKey(world.deps, viewer, apiKey.id))!.lastUsedAt
    await verify(token)
    await expect.poll(lastUse).toBeInstanceOf(Date)
    const first = await lastUse()
    await verify(token)
    expect(await lastUse()).toEqual(first)
    await world.deps.db
      .of(SYSTEM)
      .apiKey.update({ where: { id: apiKey.id }, data: { lastUsedAt: new Date(Date.now() - 61_000) } })
    await verify(token)
    await expect.poll(async () => (await lastUse())! >= first!).toBe(true)
  })

  describe('are issued', () => {
    it.each<[string, Right[], Partial<CreateApiKeyInput>, Right]>([
      ['lacks the right `operate`', ['read', 'write', 'act-as', 'manage', 'erase'], {}, 'operate'],
      ['lacks a right of the key', ['read', 'operate', 'act-as'], {}, 'write'],
      ['may not act as the actor of the key', ['read', 'write', 'operate'], {}, 'act-as'],
    ])('not by a credential that %s', async (_, rights, more, missing) => {
      const viewer = newViewer()
      const refused = createApiKey(world.deps, limited(viewer, rights), key(more))
      await expect(refused).rejects.toThrow(NotAllowed)
      await expect(refused).rejects.toMatchObject({ right: missing })
      expect((await getApiKeys(world.deps, viewer, {})).items).toEqual([])
    })

    it('by a credential that permits as much as the key', async () => {
      const viewer = newViewer()
      await createApiKey(world.deps, limited(viewer, ['read', 'write', 'operate']), key({ actor: 'admin' }))
      await createApiKey(world.deps, limited(viewer, RIGHTS), key({ name: 'other', rights: [...RIGHTS] }))
    })

    it('not by a credential that is limited to some conversations', async () => {
      const viewer = limited(newViewer(), RIGHTS, [newId('conversation')])
      await expect(createApiKey(world.deps, viewer, key())).rejects.toThrow(NotAllowed)
      await expect(getApiKeys(world.deps, viewer, {})).rejects.toThrow(NotAllowed)
    })

    it('again, by rotation, only by a credential that could create the key', async () => {
      const viewer = newViewer()
      const { apiKey } = await createApiKey(world.deps, viewer, key({ rights: [...RIGHTS] }))
      const rotation = { id: apiKey.id, expectedVersion: 1 }
      await expect(rotateApiKey(world.deps, limited(viewer, ['operate', 'act-as']), rotation)).rejects.toThrow(
        NotAllowed,
      )
      await revokeApiKey(world.deps, limited(viewer, ['operate']), { id: apiKey.id })
    })
  })

  describe('include a first key', () => {
    it('that concurrent calls create only once', async () => {
      const { tenant } = newViewer()
      const tokens: string[] = []
      const create = () =>
        createFirstApiKey(world.deps, { tenant, actor: 'admin' }, async (token) => void tokens.push(token))
      const keys = await Promise.all([create(), create(), create()])
      expect(keys.filter((each) => each !== null)).toMatchObject([{ actor: 'admin', rights: [...RIGHTS] }])
      expect(tokens).toHaveLength(1)
      expect(await verify(tokens[0]!)).toMatchObject({ tenant, actor: 'admin' })
    })

    it('that is not stored if its token could not be saved', async () => {
      const viewer = newViewer()
      const fail = () => Promise.reject(new Error('disk full'))
      await expect(createFirstApiKey(world.deps, viewer, fail)).rejects.toThrow('disk full')
      expect((await getApiKeys(world.deps, viewer, {})).items).toEqual([])
    })
  })
})
