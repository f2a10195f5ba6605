// Changing shared state: patches, merges and values, versions, schemas, audiences, limits, repeated calls, and events.

import { describe, expect, it } from 'vitest'
import { addParticipant, removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import {
  getSharedStatePages,
  getSharedStates,
  stateCursor,
  KEPT_PATCHES,
  MAX_KEYS,
  MAX_OPERATIONS,
  MAX_WRITERS,
  PATCH_BYTES,
  TOTAL_BYTES,
  VALUE_BYTES,
} from '../../../../../src/domain/conversation/shared-state/shared-state.ts'
import type { UpdateSharedStateInput } from '../../../../../src/domain/conversation/shared-state/state-input.ts'
import { updateSharedState } from '../../../../../src/domain/conversation/shared-state/update-shared-state.ts'
import { JSON_DEPTH } from '../../../../../src/domain/kernel/input.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import type { SharedStateChanged } from '../../../../../src/domain/turn/journal/event.ts'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { Conflict, InvalidInput, LimitReached, NotAllowed, NotFound } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { read, sawSeq } from '../../../../support/reading.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld } from '../../../../support/world.ts'

type Change = Omit<UpdateSharedStateInput, 'conversationId' | 'key'> & { key?: string }

describe.each(backends)('shared state on $name', (backend) => {
  const world = useWorld(backend)

  async function start(...participants: string[]) {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob', ...participants)
    const update = (actor: string, { key = 'plan', ...change }: Change) =>
      updateSharedState(world.deps, tenant.as(actor), { conversationId, key, ...change })
    const readAs = async (actor: string, key = 'plan') =>
      (await getSharedStates(world.deps, tenant.as(actor), [{ conversationId, key }]))[0]
    const listAs = async (actor: string) =>
      (await getSharedStatePages(world.deps, tenant.as(actor), [conversationId], {})).get(conversationId)!.items
    return { tenant, conversationId, update, readAs, listAs }
  }
  const isChange = (event: { type: string }): event is Omit<SharedStateChanged, 'audience'> =>
    event.type === 'SharedStateChanged'
  async function changesOf(viewer: Viewer, conversationId: string, through: number) {
    const reading = await read(world.deps, viewer, { conversationId, as: viewer.actor, afterSeq: 0 })
    await reading.until('the last change', sawSeq(through))
    await reading.stop()
    return reading.events.filter(isChange)
  }
  const refused = async (call: Promise<unknown>, error: new (...args: never[]) => Error, message: RegExp) => {
    const caught: unknown = await call.catch((thrown: unknown) => thrown)
    expect(caught).toBeInstanceOf(error)
    expect((caught as Error).message).toMatch(message)
  }

  it('is created by a value, a merge or a patch, changed by each, and read by everyone', async () => {
    const { update, readAs, listAs } = await start()
    const created = await update('ann', { value: { steps: ['a'] } })
    expect(created).toMatchObject({ version: 1, deduplicated: false, state: { version: 1, value: { steps: ['a'] } } })
    await update('bob', { merge: { owner: 'bob', nested: { x: 1, y: null } } })
    await update('bob', { patch: [{ op: 'add', path: '/steps/-', value: 'b' }] })
    await update('ann', { merge: { nested: { x: null } } })
    expect(await readAs('ann')).toMatchObject({
      value: { steps: ['a', 'b'], owner: 'bob', nested: {} },
      version: 4,
      updatedBy: 'ann',
      schema: null,
      audience: null,
    })
    expect((await update('bob', { key: 'form', merge: { name: 'Ann' } })).state!.value).toEqual({ name: 'Ann' })
    const patch = [{ op: 'add' as const, path: '/list', value: null }]
    expect((await update('bob', { key: 'board', patch })).state!.value).toEqual({ list: null })
    expect((await listAs('stranger')).map(({ key }) => key)).toEqual(['board', 'form', 'plan'])
    await update('ann', { patch: [{ op: 'replace', path: '', value: null }] })
    expect(await readAs('bob')).toMatchObject({ value: null, version: 5 })
    expect((await update('ann', { merge: { again: true } })).state!.value).toEqual({ again: true })
  })

  it('delivers each change as one event, whose patches change nothing into the final value', async () => {
    const { tenant, conversationId, update, readAs } = await start()
    await update('ann', { value: [1, 2, 3] })
    await update('bob', { value: [1, 3, { a: 1 }] })
    await update('ann', {
      patch: [
        { op: 'test', path: '/0', value: 1 },
        { op: 'move', from: '/0', path: '/2' },
      ],
    })
    const { seq } = await update('bob', { merge: { a: { b: [] } } })
    const changes = await changesOf(tenant.as('stranger'), conversationId, seq)
    expect(changes.map(({ version, actor, key, deleted }) => ({ version, actor, key, deleted }))).toEqual(
      ['ann', 'bob', 'ann', 'bob'].map((actor, n) => ({ version: n + 1, actor, key: 'plan', deleted: false })),
    )
    expect(changes.map(({ patch }) => patch)).toEqual([
      [{ op: 'add', path: '', value: [1, 2, 3] }],
      [{ op: 'replace', path: '', value: [1, 3, { a: 1 }] }],
      [{ op: 'move', from: '/0', path: '/2' }],
      [{ op: 'replace', path: '', value: { a: { b: [] } } }],
    ])
    expect((await readAs('ann'))!.value).toEqual({ a: { b: [] } })
  })

  it('refuses a change of another version than the expected one, and names the version', async () => {
    const { update, readAs } = await start()
    await refused(update('ann', { value: 1, expectedVersion: 3 }), Conflict, /does not exist \(version 0\)/)
    await update('ann', { value: 1, expectedVersion: 0 })
    await refused(update('bob', { value: 2, expectedVersion: 0 }), Conflict, /"plan" has version 1/)
    await update('bob', { value: 2, expectedVersion: 1 })
    await refused(update('ann', { value: 3, expectedVersion: 1 }), Conflict, /has version 2/)
    expect(await readAs('ann')).toMatchObject({ value: 2, version: 2 })
  })

  it('applies all operations of a patch or none, and names the one that fails', async () => {
    const { tenant, conversationId, update, readAs } = await start()
    await update('ann', { value: { a: 1 } })
    const before = await tenant.lastSeq(conversationId)
    const first = { op: 'add' as const, path: '/b', value: 2 }
    const failing = (...rest: NonNullable<Change['patch']>) => update('bob', { patch: [first, ...rest] })
    await refused(failing({ op: 'test', path: '/a', value: 2 }), Conflict, /^patch\.1: the test failed/)
    await refused(failing({ op: 'remove', path: '/c' }), InvalidInput, /^patch\.1: there is no value at "\/c"/)
    await refused(failing({ op: 'add', path: '/a/-', value: 1 }), InvalidInput, /no value at "\/a"/)
    await refused(failing({ op: 'add', path: '/list/4294967295', value: 1 }), InvalidInput, /^patch\.1/)
    await refused(failing({ op: 'add', path: '/__proto__', value: {} }), InvalidInput, /__proto__/)
    await refused(failing({ op: 'shred' as never, path: '/a' }), InvalidInput, /^patch\.1\.op: must be one of add/)
    expect(await readAs('ann')).toMatchObject({ value: { a: 1 }, version: 1 })
    expect(await tenant.lastSeq(conversationId)).toBe(before)
  })

  it('refuses what cannot be stored, without writing anything', async () => {
    const { tenant, conversationId, update } = await start()
    const before = await tenant.lastSeq(conversationId)
    const pollution = JSON.parse('{"a": {"__proto__": {"x": 1}}}') as object
    for (const value of ['\ud800', 'a\0b', { '\udc00': 1 }, pollution]) {
      await refused(update('ann', { value }), InvalidInput, /^value: must not/)
      await refused(
        update('ann', { patch: [{ op: 'add', path: '', value }] }),
        InvalidInput,
        /^patch\.0\.value: must not/,
      )
    }
    await refused(update('ann', { key: '\ud800', value: 1 }), InvalidInput, /^key/)
    await refused(update('ann', { patch: [{ op: 'add', path: '/\0', value: 1 }] }), InvalidInput, /^patch\.0\.path/)
    await refused(update('ann', { merge: pollution }), InvalidInput, /^merge: must not have the key __proto__/)
    await refused(update('ann', { merge: [] }), InvalidInput, /^merge: must be a JSON object/)
    await refused(update('ann', { value: 1, merge: {} }), InvalidInput, /give only one/)
    await refused(update('ann', {}), InvalidInput, /give one of/)
    await refused(update('ann', { value: null }), InvalidInput, /To store null/)
    expect(await tenant.lastSeq(conversationId)).toBe(before)
  })

  it('keeps the sizes, the depth and the numbers within their limits', async () => {
    const { update } = await start()
    const text = (bytes: number) => 'x'.repeat(bytes - 2)
    await update('ann', { value: text(VALUE_BYTES) })
    await refused(update('ann', { value: text(VALUE_BYTES + 1) }), InvalidInput, /^value: must be at most 262144 bytes/)
    await update('ann', { key: 'grows', value: [text(VALUE_BYTES - 8)] })
    const add = (value: unknown) => [{ op: 'add' as const, path: '/-', value }]
    await refused(
      update('ann', { key: 'grows', patch: add('12345') }),
      InvalidInput,
      /^patch: the result must be at most/,
    )
    await update('ann', { key: 'grows', patch: add(1234) })

    const one = { op: 'add' as const, path: '/a', value: 1 }
    await update('ann', { key: 'many', patch: Array.from({ length: MAX_OPERATIONS }, () => one) })
    const tooMany = Array.from({ length: MAX_OPERATIONS + 1 }, () => one)
    await refused(update('ann', { key: 'many', patch: tooMany }), InvalidInput, /at most 1000 operations/)
    const around = JSON.stringify([{ op: 'add', path: '/a', value: '' }]).length
    const large = (bytes: number) => [{ op: 'add' as const, path: '/a', value: 'x'.repeat(bytes - around) }]
    await update('ann', { key: 'large', patch: large(PATCH_BYTES) })
    await refused(
      update('ann', { key: 'large', patch: large(PATCH_BYTES + 1) }),
      InvalidInput,
      /^patch: must be at most/,
    )

    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
    await update('ann', { key: 'deep', value: nested(JSON_DEPTH) })
    await refused(update('ann', { key: 'deep', value: nested(JSON_DEPTH + 1) }), InvalidInput, /64 levels deep/)
    const deeper = [{ op: 'replace' as const, path: '/0', value: nested(JSON_DEPTH) }]
    await refused(update('ann', { key: 'deep', patch: deeper }), InvalidInput, /the result must be nested at most 64/)
    const bomb = [
      { op: 'add' as const, path: '/a', value: [text(1000)] },
      ...Array.from({ length: 30 }, () => ({ op: 'copy' as const, from: '/a', path: '/a/-' })),
    ]
    await refused(
      update('ann', { key: 'bomb', patch: bomb }),
      InvalidInput,
      /^patch\.\d+: the operations copy too much/,
    )
  })

  it('has at most MAX_KEYS keys, and TOTAL_BYTES of values', async () => {
    const { update } = await start()
    for (let n = 0; n < MAX_KEYS; n++) await update('ann', { key: `key ${n}`, value: n })
    await refused(update('ann', { key: 'one more', value: 1 }), LimitReached, /has 100 keys/)
    await update('ann', { key: 'key 0', value: 'changed' })

    const other = await start()
    const parts = TOTAL_BYTES / VALUE_BYTES
    for (let n = 0; n < parts; n++) await other.update('ann', { key: `part ${n}`, value: 'x'.repeat(VALUE_BYTES - 2) })
    await refused(other.update('bob', { key: 'rest', value: 1 }), LimitReached, /more than 1048576 bytes/)
    await other.update('bob', { key: 'part 0', value: 1 })
    await other.update('bob', { key: 'rest', value: 1 })

    // Above the limit, as an earlier release may have left it, a change may reduce the size, but not increase it.
    const above = await start()
    await above.update('ann', { value: 'xx' })
    await sql(world.deps.pool).query(
      `INSERT INTO shared_state (conversation_id, tenant, key, value, version, first_version, bytes, writers, updated_by)
       VALUES ($1, $2, 'large', '1', 1, 1, $3, '{ann}', 'ann')`,
      [above.conversationId, above.tenant.name, TOTAL_BYTES + 1],
    )
    await refused(above.update('ann', { value: 'xxx' }), LimitReached, /more than 1048576 bytes/)
    await above.update('ann', { value: 'yy' })
    await above.update('ann', { value: 'y' })
  })

  it('keeps the patches of the newest changes of a key, and none that is large', async () => {
    const { tenant, conversationId, update } = await start()
    await update('ann', { value: { n: 0 } })
    await update('ann', { key: 'other', value: 1 })
    let last = 0
    for (let n = 1; n <= KEPT_PATCHES.changes; n++) last = (await update('ann', { merge: { n } })).seq
    const around = JSON.stringify([{ op: 'add', path: '', value: '' }]).length
    const text = (patchBytes: number) => 'x'.repeat(patchBytes - around)
    await update('ann', { key: 'large', value: text(KEPT_PATCHES.bytes) })
    const { seq } = await update('ann', { key: 'larger', value: text(KEPT_PATCHES.bytes + 1) })
    expect(seq).toBeGreaterThan(last)
    const changes = await changesOf(tenant.as('ann'), conversationId, seq)
    const without = changes.filter(({ patch }) => patch === null).map(({ key, version }) => `${key} ${version}`)
    expect(without).toEqual(['plan 1', 'larger 1'])
  })

  it('matches its schema, which only an administrator may change', async () => {
    const { tenant, conversationId, update, readAs } = await start()
    const schema = { type: 'object', properties: { n: { type: 'integer', maximum: 3 } }, required: ['n'] }
    await refused(
      update('ann', { value: { n: 4 }, schema }),
      InvalidInput,
      /^value: the result does not match the schema: #\/n/,
    )
    await update('ann', { value: { n: 1 }, schema })
    await refused(update('bob', { merge: { n: null } }), InvalidInput, /^merge: the result does not match the schema/)
    await refused(
      update('bob', { patch: [{ op: 'replace', path: '/n', value: '2' }] }),
      InvalidInput,
      /^patch: the result/,
    )
    expect((await readAs('bob'))!.version).toBe(1)
    const limited = (actor: string): Viewer => ({
      ...tenant.as(actor),
      principal: {
        ...tenant.as(actor),
        kind: 'HUMAN',
        rights: new Set(['read', 'write'] as const),
        conversations: null,
      } as never,
    })
    const wider = { ...schema, properties: { n: { type: 'integer', maximum: 9 } } }
    const by = (viewer: Viewer, change: Change) =>
      updateSharedState(world.deps, viewer, { conversationId, key: 'plan', ...change })
    await by(limited('bob'), { merge: { n: 2 }, schema })
    await refused(by(limited('bob'), { schema: wider }), NotAllowed, /changes the `schema`/)
    await refused(by(limited('owner'), { schema: { type: 'string' } }), InvalidInput, /does not match the schema/)
    expect(await by(limited('owner'), { schema: wider })).toMatchObject({ version: 3, state: { value: { n: 2 } } })
    await update('bob', { merge: { n: 9 } })
    await refused(
      update('ann', { key: 'slow', value: 'a'.repeat(40), schema: { pattern: '^(a+)+$b' } }),
      InvalidInput,
      /longer than 50 ms|match/,
    )
    const broken = (schema: Record<string, unknown>) => update('ann', { key: 'broken', value: {}, schema })
    await refused(broken({ properties: { a: { pattern: '(' } } }), InvalidInput, /^schema: .*not a regular expression/)
    await refused(broken({ patternProperties: { '[': {} } }), InvalidInput, /^schema: .*not a regular expression/)
    await refused(broken({ $ref: '#/$defs/none' }), InvalidInput, /^schema: the schema cannot be checked: .*\$ref/)
  })

  it('is seen by its audience only, which is fixed on creation', async () => {
    const { tenant, conversationId, update, readAs, listAs } = await start('cleo')
    await update('ann', { value: 'secret', audience: ['bob'] })
    // Their views are told apart from then on, so that they share no rendering of an event with others.
    const participants = await world.deps.db.of(tenant.name).participant.findMany({ where: { conversationId } })
    expect(participants.filter(({ addressed }) => addressed).map(({ actor }) => actor)).toEqual(['ann', 'bob'])
    await update('bob', { value: 'public', key: 'open' })
    const { seq } = await update('bob', { value: 'secret 2', audience: ['bob', 'ann'] })
    expect(await readAs('bob')).toMatchObject({ value: 'secret 2', audience: ['ann', 'bob'], version: 2 })
    for (const outsider of ['cleo', 'owner', 'stranger']) {
      expect(await readAs(outsider)).toBeNull()
      expect((await listAs(outsider)).map(({ key }) => key)).toEqual(['open'])
    }
    await refused(update('ann', { value: 1, audience: ['ann'] }), Conflict, /audience .* was fixed/)
    await refused(update('ann', { key: 'open', value: 1, audience: ['bob'] }), Conflict, /audience .* was fixed/)
    await refused(
      update('ann', { key: 'new', value: 1, audience: ['zoe'] }),
      InvalidInput,
      /"zoe" is not a participant/,
    )
    // Neither the version nor the content matters to an outsider.
    const messages = await Promise.all(
      [
        { value: 1 },
        { value: 1, expectedVersion: 0 },
        { value: 1, expectedVersion: 2 },
        { merge: {}, audience: ['cleo'] },
      ].map((change) => update('cleo', change).catch((error: Error) => `${error.constructor.name}: ${error.message}`)),
    )
    expect(new Set(messages).size).toBe(1)
    expect(messages[0]).toMatch(/^Conflict: The key "plan" is taken/)
    const read = async (actor: string) =>
      (await changesOf(tenant.as(actor), conversationId, seq)).map(({ key, version }) => `${key} ${version}`)
    const later = await update('owner', { key: 'open', value: 'end' })
    expect(await read('bob')).toEqual(['plan 1', 'open 1', 'plan 2'])
    expect((await changesOf(tenant.as('cleo'), conversationId, later.seq)).map(({ key }) => key)).toEqual([
      'open',
      'open',
    ])
  })

  it('reaches a subscriber in the audience at once, also one that no turn was addressed to before', async () => {
    const { tenant, conversationId, update } = await start('cleo')
    const reading = await read(world.deps, tenant.as('bob'), { conversationId, as: 'bob' })
    const outside = await read(world.deps, tenant.as('cleo'), { conversationId, as: 'cleo' })
    const { seq } = await update('ann', { value: 1, audience: ['bob'] })
    await reading.until('the change', sawSeq(seq))
    const last = await update('ann', { key: 'open', value: 1 })
    await outside.until('the next change', sawSeq(last.seq))
    expect(outside.events.filter(isChange).map(({ key }) => key)).toEqual(['open'])
    await Promise.all([reading.stop(), outside.stop()])
  })

  it('is neither seen nor changed by a participant who was removed', async () => {
    const { tenant, conversationId, update, readAs } = await start()
    await update('ann', { value: 1 })
    await update('ann', { key: 'both', value: 1, audience: ['bob'] })
    await removeParticipant(world.deps, tenant.as('ann'), { conversationId, actor: 'bob' })
    expect(await readAs('bob')).toBeNull()
    expect(await readAs('bob', 'both')).toBeNull()
    await refused(update('bob', { value: 2 }), NotAllowed, /was removed/)
    await addParticipant(world.deps, tenant.as('ann'), { conversationId, participant: { actor: 'bob' } })
    expect(await readAs('bob', 'both')).toMatchObject({ value: 1 })
  })

  it('makes its writer a participant of an OPEN conversation, and is closed to strangers of a MEMBERS one', async () => {
    const { tenant, conversationId, update } = await start()
    const before = (await tenant.lastSeq(conversationId))!
    const { seq } = await update('zoe', { value: 1 })
    expect(seq).toBe(before + 2)
    const { conversation } = await createConversation(world.deps, tenant.as('ann'), { visibility: 'MEMBERS' })
    const given = { conversationId: conversation.id, key: 'plan', value: 1 }
    await refused(updateSharedState(world.deps, tenant.as('zoe'), given), NotFound, /no conversation/)
    await updateSharedState(world.deps, tenant.as('ann'), given)
    expect(await getSharedStates(world.deps, tenant.as('zoe'), [given])).toEqual([null])
  })

  it('is changed once by calls with one clientId', async () => {
    const { update, readAs } = await start()
    const call = () =>
      update('ann', { patch: [{ op: 'add', path: '/list', value: [1] }], clientId: 'a', expectedVersion: 0 })
    const first = await call()
    await update('bob', { merge: { more: true } })
    expect(await call()).toEqual({ ...first, state: await readAs('ann'), deduplicated: true })
    const others = { merge: { list: null }, clientId: 'a' }
    await refused(update('ann', others), Conflict, /clientId "a" was already used for version 1 of the state "plan"/)
    await refused(update('ann', { merge: {}, clientId: 'a' }), Conflict, /different content/)
    expect((await update('bob', others)).version).toBe(3)
    expect((await readAs('ann'))!.value).toEqual({ more: true })
  })

  it('is not returned to a repeated call of an actor who was removed since', async () => {
    const { tenant, conversationId, update } = await start()
    const call = () => update('bob', { merge: { n: 1 }, clientId: 'a' })
    const { version, seq } = await call()
    await removeParticipant(world.deps, tenant.as('ann'), { conversationId, actor: 'bob' })
    await update('ann', { merge: { secret: 2 } })
    expect(await call()).toEqual({ state: null, version, seq, deduplicated: true })
  })

  it('has at most MAX_WRITERS writers, so that a hold on each of them protects it', async () => {
    const { conversationId, update } = await start()
    await update('ann', { value: 1 })
    await sql(world.deps.pool).query(
      `UPDATE shared_state SET writers = writers || ARRAY(SELECT 'writer ' || n FROM generate_series(2, $2::integer) n)
       WHERE conversation_id = $1`,
      [conversationId, MAX_WRITERS],
    )
    await refused(update('bob', { value: 2 }), LimitReached, /^1000 actors have changed this key/)
    await update('ann', { value: 2 })
    await update('bob', { key: 'other', value: 2 })
  })

  it('is read in pages that end before they are too large', async () => {
    const { tenant, conversationId, update } = await start()
    const other = await tenant.newConversation('ann')
    const value = 'x'.repeat(200_000)
    for (const key of ['a', 'b', 'c', 'd']) await update('ann', { key, value })
    await updateSharedState(world.deps, tenant.as('ann'), { conversationId: other, key: 'z', value })
    /** The keys of the pages of the conversation, read together with another one. */
    async function pages(args: object, cursor: 'after' | 'before') {
      const all: string[] = []
      for (let from: object = {}; ;) {
        const read = await getSharedStatePages(
          world.deps,
          tenant.as('ann'),
          [conversationId, other, 'conv_x', 'conv_y'],
          { ...args, ...from },
        )
        const { items, hasNextPage, hasPreviousPage } = read.get(conversationId)!
        all.push(items.map(({ key }) => key).join(''))
        if (!(cursor === 'after' ? hasNextPage : hasPreviousPage)) return all
        from = { [cursor]: stateCursor(items.at(cursor === 'after' ? -1 : 0)!) }
      }
    }
    expect(await pages({ first: 10 }, 'after')).toEqual(['ab', 'cd'])
    expect(await pages({ last: 10 }, 'before')).toEqual(['cd', 'ab'])
    expect(await pages({ first: 1 }, 'after')).toEqual(['a', 'b', 'c', 'd'])
    const alone = await getSharedStatePages(world.deps, tenant.as('ann'), [conversationId], {})
    expect(alone.get(conversationId)).toMatchObject({ items: { length: 4 }, hasNextPage: false })
  })

  it('is redacted as the content of turns is', async () => {
    const { tenant } = await start()
    const deps = { ...world.deps, redaction: { ...world.deps.redaction, of: () => 'turns' as const } }
    const conversationId = await tenant.newConversation('ann')
    const update = (change: Change) =>
      updateSharedState(deps, tenant.as('ann'), { conversationId, key: 'form', ...change })
    await update({ value: { mail: 'ann@example.org', 'ann@example.org': 1 } })
    await update({ merge: { other: 'bob@example.org' } })
    const patch = [{ op: 'add' as const, path: '/more', value: ['zoe@example.org'] }]
    const value = { mail: '[EMAIL]', '[EMAIL]': 1, other: '[EMAIL]', more: ['[EMAIL]'] }
    expect((await update({ patch })).state!.value).toEqual(value)

    // The stored name of the member is another one, so it could not be found.
    const path = '/ann@example.org'
    await refused(update({ patch: [{ op: 'remove', path }] }), InvalidInput, /path: .*redacted: email/)
    await refused(update({ patch: [{ op: 'move', from: path, path: '/x' }] }), InvalidInput, /from: .*redacted: email/)
    await refused(update({ merge: { deep: { 'ann@example.org': 2 } } }), InvalidInput, /merge: .*redacted: email/)
    expect((await update({ merge: {} })).state!.value).toEqual(value)
  })
})
