// The viewer in whose view the fields of an object are resolved.

import { describe, expect, it } from 'vitest'
import { readSharedFor, readFor, viewerOf } from '../../src/graphql/inherited-view.ts'

const ada = { tenant: 'acme', actor: 'ada' }
const bob = { tenant: 'acme', actor: 'bob' }
const context = { viewer: ada }

describe('the viewer of an object', () => {
  it('is the viewer of the request, unless the object was read for another viewer', () => {
    const [readForAda, readForBob] = [{}, {}]
    readFor(context, { ...ada }, readForAda, (object) => [object])
    readFor(context, bob, readForBob, (object) => [object])
    expect(viewerOf(context, {})).toBe(ada)
    expect(viewerOf(context, readForAda)).toBe(ada)
    expect(viewerOf(context, readForBob)).toBe(bob)
  })

  it('is set for the listed objects only', () => {
    const page = { items: [{}, {}] }
    expect(readFor(context, bob, page, ({ items }) => items)).toBe(page)
    expect(page.items.map((item) => viewerOf(context, item))).toEqual([bob, bob])
    expect(viewerOf(context, page)).toBe(ada)
  })

  it('is not set, and the objects are not listed, for the viewer of the request', () => {
    readFor(context, ada, {}, () => {
      throw new Error('looked up')
    })
  })

  it('is set on a copy of a shared object', () => {
    const event = { seq: 1 }
    expect(readSharedFor(context, ada, event)).toBe(event)
    const copy = readSharedFor(context, bob, event)
    expect(copy).toEqual(event)
    expect(viewerOf(context, copy)).toBe(bob)
    expect(viewerOf(context, event)).toBe(ada)
  })
})
