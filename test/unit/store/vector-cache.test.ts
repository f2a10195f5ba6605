// The cache of the in-memory vector search: eviction, its size limit, growth and invalidation.

import { describe, expect, it } from 'vitest'
import { createVectorCache } from '../../../src/store/vector-cache.ts'

const newConversation = (name: string, count = 1) => ({
  conversationId: name,
  count,
  positions: new Int32Array(count).fill(1),
  seqs: new Int32Array(count).fill(1),
  vectors: new Float32Array(2 * count).fill(1),
})
const version = (name: string, seq: number) => ({ conversationId: name, position: seq, seq })
const VECTOR = Float32Array.of(0, 1)
/** Size for three conversations of one turn: at most 520 bytes each, 500 of them overhead. */
const LIMIT = 3 * 520

describe('the vector cache', () => {
  it('evicts whole conversations, the least recently used first', () => {
    const cache = createVectorCache(LIMIT)
    for (const name of ['a', 'b', 'c']) cache.put('e', newConversation(name))
    cache.get('e', 'a')
    cache.put('e', newConversation('d'))
    expect(['a', 'b', 'c', 'd'].map((name) => cache.get('e', name) !== undefined)).toEqual([true, false, true, true])
  })

  it('does not keep a conversation that alone exceeds the limit', () => {
    const cache = createVectorCache(LIMIT)
    cache.put('e', newConversation('small'))
    cache.put('e', newConversation('large', 1000))
    expect(cache.get('e', 'large')).toBeUndefined()
    expect(cache.get('e', 'small')).toBeDefined()
  })

  it('adds vectors to a conversation within the limit, without changing a snapshot that a search uses', () => {
    const cache = createVectorCache(LIMIT)
    for (const name of ['a', 'b']) cache.put('e', newConversation(name))
    const before = { ...cache.get('e', 'b')! }
    for (let seq = 2; seq <= 40; seq++) cache.add('e', version('b', seq), VECTOR)
    const after = cache.get('e', 'b')!
    expect(after.count).toBe(40)
    expect([...after.seqs.slice(0, 40)]).toEqual(Array.from({ length: 40 }, (_, i) => i + 1))
    expect([...after.vectors.slice(2, 4)]).toEqual([0, 1])
    expect(before).toMatchObject({ count: 1, seqs: Int32Array.of(1) })
    expect(cache.get('e', 'a')).toBeUndefined()
  })

  it('adds no vector to a conversation that is not cached, because the entry would be incomplete', () => {
    const cache = createVectorCache(LIMIT)
    cache.add('e', version('a', 2), VECTOR)
    expect(cache.get('e', 'a')).toBeUndefined()
    cache.put('e', newConversation('a'))
    cache.add('other', version('a', 2), VECTOR)
    expect(cache.get('other', 'a')).toBeUndefined()
    expect(cache.get('e', 'a')!.count).toBe(1)
  })

  it('drops a conversation for all embedders at once', () => {
    const cache = createVectorCache(LIMIT)
    cache.put('e', newConversation('a'))
    cache.put('other', newConversation('a'))
    cache.forget('a')
    cache.forget('never cached')
    expect([cache.get('e', 'a'), cache.get('other', 'a')]).toEqual([undefined, undefined])
  })
})
