import { describe, expect, it } from 'vitest'
import { lentTo, readFor, viewerOf } from '../../src/graphql/inherited-view.ts'

const ada = { tenant: 'acme', actor: 'ada' }
const bob = { tenant: 'acme', actor: 'bob' }
const context = { viewer: ada }

describe('the viewer of an object', () => {
  it("is the request's, unless it was read for another", () => {
    const [hers, his] = [{}, {}]
    readFor(context, { ...ada }, hers, (object) => [object])
    readFor(context, bob, his, (object) => [object])
    expect(viewerOf(context, {})).toBe(ada)
    expect(viewerOf(context, hers)).toBe(ada)
    expect(viewerOf(context, his)).toBe(bob)
  })

  it('is noted with the objects that are named, and with no other', () => {
    const page = { items: [{}, {}] }
    expect(readFor(context, bob, page, ({ items }) => items)).toBe(page)
    expect(page.items.map((item) => viewerOf(context, item))).toEqual([bob, bob])
    expect(viewerOf(context, page)).toBe(ada)
  })

  it('costs nothing where it is the request’s own: no object is looked up', () => {
    readFor(context, ada, {}, () => {
      throw new Error('looked up')
    })
  })

  it('is noted with a copy of an object that others hold too', () => {
    const event = { seq: 1 }
    expect(lentTo(context, ada, event)).toBe(event)
    const lent = lentTo(context, bob, event)
    expect(lent).toEqual(event)
    expect(viewerOf(context, lent)).toBe(bob)
    expect(viewerOf(context, event)).toBe(ada)
  })
})
