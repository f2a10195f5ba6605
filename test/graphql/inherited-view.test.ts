import { describe, expect, it } from 'vitest'
import { lentTo, readFor, viewerOf } from '../../src/graphql/inherited-view.ts'

const ada = { tenant: 'acme', actor: 'ada' }
const bob = { tenant: 'acme', actor: 'bob' }
const context = { viewer: ada }

describe('the viewer of an object', () => {
  it('is that of the request, unless the object was read for another viewer', () => {
    const [hers, his] = [{}, {}]
    readFor(context, { ...ada }, hers, (object) => [object])
    readFor(context, bob, his, (object) => [object])
    expect(viewerOf(context, {})).toBe(ada)
    expect(viewerOf(context, hers)).toBe(ada)
    expect(viewerOf(context, his)).toBe(bob)
  })

  it('is set for the given objects, and for no others', () => {
    const page = { items: [{}, {}] }
    expect(readFor(context, bob, page, ({ items }) => items)).toBe(page)
    expect(page.items.map((item) => viewerOf(context, item))).toEqual([bob, bob])
    expect(viewerOf(context, page)).toBe(ada)
  })

  it('needs no lookup if it is the request’s own', () => {
    readFor(context, ada, {}, () => {
      throw new Error('looked up')
    })
  })

  it('is set on a copy of an object that others share', () => {
    const event = { seq: 1 }
    expect(lentTo(context, ada, event)).toBe(event)
    const lent = lentTo(context, bob, event)
    expect(lent).toEqual(event)
    expect(viewerOf(context, lent)).toBe(bob)
    expect(viewerOf(context, event)).toBe(ada)
  })
})
