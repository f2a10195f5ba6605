// Filters by metadata: a table of operators, hostile keys and values, limits, and random filters compared with a model.

import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { createConversation } from '../../../../src/domain/conversation/conversation.ts'
import { getConversationPage } from '../../../../src/domain/conversation/conversation-page.ts'
import {
  METADATA_CONDITIONS,
  METADATA_FILTER_BYTES,
  METADATA_PATH_KEYS,
  METADATA_VALUES,
  type metadataFilter,
} from '../../../../src/domain/kernel/metadata-filter.ts'
import { recall } from '../../../../src/domain/memory/recall/recall.ts'
import { InvalidInput } from '../../../../src/errors.ts'
import { backends } from '../../../support/backend.ts'
import { isLong } from '../../../support/long.ts'
import { useWorld, type Tenant } from '../../../support/world.ts'

type Json = Record<string, unknown>
type MetadataFilter = z.input<typeof metadataFilter>
type Value = MetadataFilter[number]['value']

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** JSON containment as Postgres defines it; an array at the top also contains its scalar items. */
function contains(a: unknown, b: unknown, isTop = true): boolean {
  if (Array.isArray(a)) {
    if (Array.isArray(b)) return b.every((item) => a.some((each) => contains(each, item, false)))
    return isTop && !isObject(b) && a.includes(b)
  }
  if (isObject(a)) {
    return isObject(b) && Object.keys(b).every((key) => Object.hasOwn(a, key) && contains(a[key], b[key], false))
  }
  return a === b
}

/** Compares strings by code points. */
const compare = (a: string | number, b: string | number) =>
  typeof a === 'string' ? Buffer.compare(Buffer.from(a), Buffer.from(String(b))) : a - Number(b)

function meets(metadata: unknown, path: readonly string[], value: Value): boolean {
  let found: unknown = metadata
  for (const key of path) found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined
  if (value.exists !== undefined) return (found !== undefined) === value.exists
  if (found === undefined) return false
  if (value.equals !== undefined) return isDeepStrictEqual(found, value.equals)
  if (value.contains !== undefined) return contains(found, value.contains)
  if (value.in) return value.in.some((each) => isDeepStrictEqual(found, each))
  return Object.entries(value.range!).every(([operator, bound]) => {
    if (typeof found !== typeof bound) return false
    const order = compare(found as string, bound as string)
    return { gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }[operator]
  })
}

describe.each(backends)('a filter by metadata on $name', (backend) => {
  const world = useWorld(backend)
  const create = (tenant: Tenant, metadata: Json) =>
    createConversation(world.deps, tenant.as('ann'), { metadata }).then(({ conversation }) => conversation.id)
  const found = async (tenant: Tenant, metadata: MetadataFilter) => {
    const { items } = await getConversationPage(world.deps, tenant.as('ann'), { filter: { metadata }, first: 200 })
    return items.map(({ id }) => id).sort()
  }

  const STORED: Record<string, Json> = {
    pro: { plan: 'pro', seats: 5, tags: ['a', 'b'], at: '2026-01-02T00:00:00Z' },
    text: { plan: 'Pro', seats: '5', tags: 'a', at: '2025-12-31T00:00:00Z' },
    nulls: { plan: null, seats: null, tags: [null], nested: { plan: 'pro', '0': 'zero' } },
    arrays: { plan: ['pro'], seats: [5], tags: [['a']], nested: [{ plan: 'pro' }, 'one'] },
    hostile: { "a'b": 1, 'a"b': 2, 'a.b': 3, '{a,b}': 4, $: 5, '': 6, '%s': { '\\': 7 }, ['__proto__x']: 8 },
    numbers: { seats: 5.0, big: 9007199254740991, small: 1e-7, negative: -0.5, exp: 1e21 },
    empty: {},
  }

  it.each<[path: string[], value: Value, names: string[]]>([
    [['plan'], { equals: 'pro' }, ['pro']],
    [['plan'], { equals: ['pro'] }, ['arrays']],
    [['plan'], { in: [null] }, ['nulls']],
    [['plan'], { in: ['pro', 'Pro', 7] }, ['pro', 'text']],
    [['plan'], { in: [] }, []],
    [['seats'], { equals: 5 }, ['pro', 'numbers']],
    [['seats'], { equals: '5' }, ['text']],
    [['seats'], { range: { gte: 5, lt: 5.5 } }, ['pro', 'numbers']],
    [['seats'], { range: { gt: 5 } }, []],
    [['seats'], { range: { gte: '4', lte: '6' } }, ['text']],
    [['big'], { equals: 9007199254740991 }, ['numbers']],
    [['small'], { range: { gt: 0, lt: 1e-6 } }, ['numbers']],
    [['exp'], { range: { gte: 1e21 } }, ['numbers']],
    [['negative'], { range: { lt: 0 } }, ['numbers']],
    [['at'], { range: { gte: '2026-01-01', lt: '2027-01-01' } }, ['pro']],
    [['tags'], { contains: 'a' }, ['pro', 'text']],
    [['tags'], { contains: ['a'] }, ['pro']],
    [['tags'], { contains: ['b', 'a', 'a'] }, ['pro']],
    [['tags'], { contains: [['a']] }, ['arrays']],
    [['tags'], { equals: ['a', 'b'] }, ['pro']],
    [['tags'], { equals: ['b', 'a'] }, []],
    [['tags'], { exists: true }, ['pro', 'text', 'nulls', 'arrays']],
    [['tags', '0'], { exists: true }, []],
    [['tags', '0'], { equals: 'a' }, []],
    [['nested', '0', 'plan'], { exists: true }, []],
    [['nested', '-1'], { exists: true }, []],
    [['nested', '0'], { equals: 'zero' }, ['nulls']],
    [['nested', 'plan'], { equals: 'pro' }, ['nulls']],
    [['nested'], { contains: { plan: 'pro' } }, ['nulls']],
    [['nested'], { contains: [{ plan: 'pro' }] }, ['arrays']],
    [['plan', 'length'], { exists: true }, []],
    [['plan'], { exists: false }, ['hostile', 'numbers', 'empty']],
    [["a'b"], { equals: 1 }, ['hostile']],
    [['a"b'], { equals: 2 }, ['hostile']],
    [['a.b'], { equals: 3 }, ['hostile']],
    [['a', 'b'], { exists: true }, []],
    [['{a,b}'], { equals: 4 }, ['hostile']],
    [['$'], { equals: 5 }, ['hostile']],
    [[''], { equals: 6 }, ['hostile']],
    [['%s', '\\'], { range: { gte: 7 } }, ['hostile']],
    [['__proto__'], { exists: true }, []],
    [['constructor'], { exists: true }, []],
    [[], { equals: {} }, ['empty']],
    [[], { contains: { plan: 'pro', tags: ['b'] } }, ['pro']],
    [[], { exists: true }, Object.keys(STORED)],
    [[], { exists: false }, []],
    [[], { equals: "'; DROP TABLE conversation; --" }, []],
  ])('finds the value at %j that meets %j', async (path, value, names) => {
    const tenant = world.tenant()
    const ids = new Map<string, string>()
    for (const [name, metadata] of Object.entries(STORED)) ids.set(await create(tenant, metadata), name)
    const matching = (await found(tenant, [{ path, value }])).map((id) => ids.get(id)!)
    expect(matching.sort()).toEqual(names.toSorted())
  })

  it('needs all of several conditions', async () => {
    const tenant = world.tenant()
    const both = await create(tenant, { a: 1, b: { c: 'x' } })
    await create(tenant, { a: 1 })
    await create(tenant, { b: { c: 'x' } })
    const a: MetadataFilter[number] = { path: ['a'], value: { equals: 1 } }
    expect(await found(tenant, [a, { path: ['b', 'c'], value: { range: { gte: 'w' } } }])).toEqual([both])
    expect(await found(tenant, [a, { path: ['a'], value: { equals: 2 } }])).toEqual([])
    expect(await found(tenant, [])).toHaveLength(3)
  })

  it('agrees with a model on random metadata and filters, in lists and in recall', async () => {
    const tenant = world.tenant()
    let seed = 7
    const random = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n
    const pick = <T>(items: readonly T[]): T => items[random(items.length)]!
    const keys = ['a', 'b', '0', 'ü', '']
    const leaf = () => pick<unknown>([0, 1, -1.5, '0', '1', 'a', 'ü', '𝄞', '\uffff', '', true, false, null])
    const json = (depth: number): unknown => {
      const kind = depth === 0 ? 0 : random(4)
      if (kind < 2) return leaf()
      if (kind === 2) return Array.from({ length: random(3) }, () => json(depth - 1))
      return Object.fromEntries(Array.from({ length: random(3) }, () => [pick(keys), json(depth - 1)]))
    }
    const bound = () =>
      pick<[unknown, unknown]>([
        [0, 1],
        [-1.5, 0.5],
        ['0', 'a'],
        ['', '𝄞'],
        ['ü', '\uffff'],
      ])
    const value = (): Value => {
      const [low, high] = bound()
      return pick<() => Value>([
        () => ({ equals: json(2) }),
        () => ({ contains: json(2) }),
        () => ({ exists: random(2) === 0 }),
        () => ({ in: [json(1), json(1), leaf()] }),
        () => ({ range: pick([{ gt: low }, { gte: low, lt: high }, { lte: high }, { gte: low, lte: high }]) }),
      ])()
    }
    const stored = new Map<string, Json>()
    const { conversation } = await createConversation(world.deps, tenant.as('ann'), {})
    const turns = new Map<string, Json>()
    for (let i = 0; i < 60; i++) {
      const metadata = Object.fromEntries(keys.map((key) => [key, json(3)]).filter(() => random(4) > 0))
      stored.set(await create(tenant, metadata), metadata)
      const turn = await tenant.append(conversation.id, 'ann', `apple number ${i}`, { metadata })
      turns.set(turn.id, metadata)
    }
    stored.set(conversation.id, {})
    let matches = 0
    for (let i = 0; i < (isLong ? 600 : 60); i++) {
      const filter = Array.from({ length: 1 + random(2) }, () => ({
        path: Array.from({ length: random(4) }, () => pick(keys)),
        value: value(),
      }))
      const expected = (all: Map<string, Json>) =>
        [...all]
          .filter(([, metadata]) => filter.every((each) => meets(metadata, each.path, each.value)))
          .map(([id]) => id)
      const inList = expected(stored)
      matches += inList.length
      expect({ filter, ids: await found(tenant, filter) }).toEqual({ filter, ids: inList.sort() })
      if (i % 10 > 0) continue
      const { hits } = await recall(world.deps, tenant.as('ann'), {
        query: 'apple number',
        conversationId: conversation.id,
        metadata: filter,
        k: 100,
      })
      const recalled = hits.map(({ memory }) => (memory.kind === 'TURN' ? memory.turn.id : memory.kind))
      expect({ filter, ids: recalled.sort() }).toEqual({ filter, ids: expected(turns).sort() })
    }
    expect(matches).toBeGreaterThan(100)
  })

  it.each<[string, unknown, RegExp]>([
    ['no operator', [{ value: {} }], /^metadata\.0\.value: must have exactly one operator/],
    ['two operators', [{ value: { equals: 1, exists: true } }], /exactly one operator/],
    ['an empty range', [{ value: { range: {} } }], /^metadata\.0\.value\.range: must have at least one bound/],
    ['a range of two types', [{ value: { range: { gt: 1, lt: 'b' } } }], /bounds of one type/],
    ['a bound that is an object', [{ value: { range: { gt: {} } } }], /must be a number, or a string/],
    ['an infinite bound', [{ value: { range: { gt: Infinity } } }], /must be a number, or a string/],
    ['U+0000 in a key', [{ path: ['a\0'], value: { exists: true } }], /must not contain U\+0000/],
    ['half a surrogate pair in a value', [{ value: { equals: '\ud83d' } }], /surrogate/],
    ['a long path', [{ path: Array(METADATA_PATH_KEYS + 1).fill('a'), value: { exists: true } }], /at most 16 keys/],
    ['many values', [{ value: { in: Array(METADATA_VALUES + 1).fill(1) } }], /^metadata\.0\.value\.in: /],
    ['many conditions', Array(METADATA_CONDITIONS + 1).fill({ value: { exists: true } }), /at most 10 conditions/],
    ['a large value', [{ value: { equals: 'x'.repeat(METADATA_FILTER_BYTES) } }], /at most 16384 bytes/],
    [
      'a deep value',
      [{ value: { equals: JSON.parse('['.repeat(65) + ']'.repeat(65)) } }],
      /nested at most 64 levels deep/,
    ],
    [
      'a value deeper than the stack',
      [{ value: { in: [1, JSON.parse('['.repeat(50_000) + ']'.repeat(50_000))] } }],
      /^metadata\.0\.value\.in\.1: must be nested at most 64 levels deep$/,
    ],
    ['an object in place of the list', { plan: 'pro' }, /^metadata: /],
  ])('with %s is invalid', async (_, metadata, message) => {
    const error = await found(world.tenant(), metadata as MetadataFilter).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(InvalidInput)
    expect((error as Error).message).toMatch(message)
  })
})
