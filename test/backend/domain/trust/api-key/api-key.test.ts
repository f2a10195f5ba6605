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
} from '../../../../../src/domain/trust/api-key/api-key.ts'
import { readToken } from '../../../../../src/domain/trust/api-key/token.ts'
import { findApiKeys } from '../../../../../src/store/sql/trust/api-key/find-api-keys.ts'
import { createVerifier } from '../../../../../src/domain/trust/api-key/verify.ts'
import { newId } from '../../../../../src/domain/kernel/id.ts'
import { RIGHTS, type Principal, type Right } from '../../../../../src/domain/kernel/rights/principal.ts'
import type { ParticipantKind } from '../../../../../src/store/generated/enums.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'
import { nextTime } from '../../../../support/next-time.ts'

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

  /** Returns the viewer with the credential of a person that has these rights, and no limits other than in `more`. */
  function limited({ tenant, actor }: Viewer, rights: readonly Right[], more: Partial<Principal> = {}): Viewer {
    const principal: Principal = {
      tenant,
      actor,
      kind: 'HUMAN',
      rights: new Set(rights),
      conversations: null,
      credential: 'key:1',
      expiresAt: null,
      ...more,
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
      await nextTime()
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
      const viewer = limited(newViewer(), RIGHTS, { conversations: new Set([newId('conversation')]) })
      await expect(createApiKey(world.deps, viewer, key())).rejects.toThrow(NotAllowed)
      await expect(getApiKeys(world.deps, viewer, {})).rejects.toThrow(NotAllowed)
    })

    it.each<[issuer: ParticipantKind, key: ParticipantKind, isAllowed: boolean]>([
      ['HUMAN', 'HUMAN', true],
      ['HUMAN', 'AGENT', true],
      ['HUMAN', 'TOOL', true],
      ['AGENT', 'HUMAN', false],
      ['AGENT', 'AGENT', true],
      ['AGENT', 'TOOL', true],
      ['TOOL', 'HUMAN', false],
      ['TOOL', 'AGENT', false],
      ['TOOL', 'TOOL', true],
    ])('by a credential of the kind %s for the kind %s: %s', async (issuer, kind, isAllowed) => {
      const viewer = newViewer()
      const created = createApiKey(world.deps, limited(viewer, RIGHTS, { kind: issuer }), key({ kind }))
      if (isAllowed) return expect((await created).apiKey.kind).toBe(kind)
      await expect(created).rejects.toThrow(NotAllowed)
      await expect(created).rejects.toThrow(`its kind is ${issuer}, and that of the key is ${kind}`)
      await expect(created).rejects.toMatchObject({ right: null, verb: 'createApiKey' })
      expect((await getApiKeys(world.deps, viewer, {})).items).toEqual([])
    })

    it.each<[string, number | null, number | null, boolean]>([
      ['before its own expiry', 60, 59, true],
      ['at its own expiry', 60, 60, true],
      ['after its own expiry', 60, 61, false],
      ['never', 60, null, false],
      ['at some time, if it never expires itself,', null, 60, true],
    ])('by a credential that expires, for a key that expires %s', async (_, issuer, key_, isAllowed) => {
      const start = Date.now()
      const at = (minutes: number | null) => (minutes === null ? null : new Date(start + minutes * 60_000))
      const viewer = newViewer()
      const by = limited(viewer, RIGHTS, { credential: 'jwt:1', expiresAt: at(issuer) })
      const created = createApiKey(world.deps, by, key({ expiresAt: at(key_) }))
      if (isAllowed) return expect((await created).apiKey.expiresAt).toEqual(at(key_))
      await expect(created).rejects.toThrow(NotAllowed)
      await expect(created).rejects.toThrow(`pass an \`expiresAt\` of at most ${at(issuer)!.toISOString()}`)
      expect((await getApiKeys(world.deps, viewer, {})).items).toEqual([])
    })

    it('not by an agent that expires for a person, without expiry', async () => {
      const viewer = newViewer()
      const expiresAt = new Date(Date.now() + 30_000)
      const agent = limited(viewer, ['read', 'write', 'operate'], { kind: 'AGENT', expiresAt })
      const asked = key({ actor: 'admin', kind: 'HUMAN' })
      await expect(createApiKey(world.deps, agent, asked)).rejects.toThrow(NotAllowed)
    })

    it.each<[string, Partial<CreateApiKeyInput>, readonly Right[], Partial<Principal>, boolean, boolean]>([
      ['of the same rights and actor', {}, ['read', 'write', 'operate', 'act-as'], {}, true, true],
      ['without a right of the key', {}, ['read', 'operate', 'act-as'], {}, false, false],
      ['that may not act as the actor', {}, ['read', 'write', 'operate'], {}, false, false],
      ['of a less trusted kind', { kind: 'HUMAN' }, RIGHTS, { kind: 'AGENT' }, false, false],
      ['that expires before the key', {}, RIGHTS, { expiresAt: new Date(Date.now() + 3_600_000) }, false, true],
    ])('again, by rotation, and revoked: by a credential %s', async (_, more, rights, limits, rotates, revokes) => {
      const viewer = newViewer()
      const { apiKey, token } = await createApiKey(world.deps, viewer, key(more))
      const { id } = apiKey
      const issuer = limited(viewer, rights, limits)
      const rotated = rotateApiKey(world.deps, issuer, { id, expectedVersion: 1 })
      if (rotates) await rotated
      else await expect(rotated).rejects.toThrow(NotAllowed)
      const revoked = revokeApiKey(world.deps, issuer, { id })
      if (revokes) expect((await revoked).revokedAt).toBeInstanceOf(Date)
      else await expect(revoked).rejects.toMatchObject({ code: 'NOT_ALLOWED', verb: 'revokeApiKey' })
      if (!rotates && !revokes) expect(await verify(token)).toMatchObject({ actor: 'bot' })
    })

    it('may revoke themselves, and rotate themselves with their current secret only', async () => {
      const viewer = newViewer()
      const asked = key({ actor: 'admin', kind: 'TOOL', rights: ['operate'] })
      const { apiKey, token } = await createApiKey(world.deps, viewer, asked)
      const { id } = apiKey
      const as = async (secret: string) => ({ ...viewer, principal: (await verify(secret)) as Principal })
      const second = await rotateApiKey(world.deps, await as(token), { id, expectedVersion: 1, overlapSeconds: 60 })
      // The previous secret expires after the overlap, so it must not issue a secret without expiry.
      const extended = rotateApiKey(world.deps, await as(token), { id, expectedVersion: 2 })
      await expect(extended).rejects.toThrow(NotAllowed)
      await revokeApiKey(world.deps, await as(second.token), { id })
      expect(await verify(second.token)).toMatchObject({ problem: 'REVOKED' })
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
