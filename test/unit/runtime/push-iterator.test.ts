// The push iterator: it yields each pushed value once, in order, reports a full buffer, and ends after the values.

import { describe, expect, it, vi } from 'vitest'
import { createPushIterator } from '../../../src/runtime/push-iterator.ts'

const DONE = { done: true, value: undefined }
const value = (value: number) => ({ done: false, value })

describe('a push iterator', () => {
  it('yields values in the order they were pushed, whether the consumer waits or not', async () => {
    const values = createPushIterator<number>(10)
    const iterator = values.iterate(() => {})
    const early = [iterator.next(), iterator.next()]
    for (const n of [1, 2, 3, 4]) values.push(n)
    expect(await Promise.all(early)).toEqual([value(1), value(2)])
    expect(await iterator.next()).toEqual(value(3))
    expect(await iterator.next()).toEqual(value(4))
  })

  it('reports that it is full once `limit` values wait, and keeps values beyond that', async () => {
    const values = createPushIterator<number>(2)
    const iterator = values.iterate(() => {})
    const isFull = [1, 2, 3].map((n) => (values.push(n), values.isFull()))
    expect(isFull).toEqual([false, true, true])
    for (const n of [1, 2, 3]) expect(await iterator.next()).toEqual(value(n))
  })

  it('reports that it is full once `maxBytes` wait', async () => {
    const values = createPushIterator<string>(10, { maxBytes: 5, sizeOf: (text) => text.length })
    const iterator = values.iterate(() => {})
    const isFull = ['abc', 'd', 'e'].map((text) => (values.push(text), values.isFull()))
    expect(isFull).toEqual([false, false, true])
    await iterator.next()
    expect(values.isFull()).toBe(false)
    values.push('fghij')
    await iterator.return!()
    expect(values.isFull()).toBe(false)
  })

  it('does not count a value that a waiting consumer takes', () => {
    const values = createPushIterator<number>(1)
    void values.iterate(() => {}).next()
    const isFull = [1, 2].map((n) => (values.push(n), values.isFull()))
    expect(isFull).toEqual([false, true])
  })

  it('drops the oldest values beyond `limit` with drop-oldest', async () => {
    const values = createPushIterator<number>(2, { whenFull: 'drop-oldest' })
    const iterator = values.iterate(() => {})
    for (const n of [1, 2, 3, 4]) values.push(n)
    values.end()
    const yielded: number[] = []
    for await (const n of iterator) yielded.push(n)
    expect(yielded).toEqual([3, 4])
  })

  it('joins a value with the last waiting one, and counts the bytes of the joined value', async () => {
    const join = (last: string, pushed: string) => (pushed === '.' ? null : last + pushed)
    const values = createPushIterator<string>(10, { maxBytes: 4, sizeOf: (text) => text.length, join })
    const iterator = values.iterate(() => {})
    const isFull = ['a', 'b', '.', 'c'].map((text) => (values.push(text), values.isFull()))
    expect(isFull).toEqual([false, false, false, true])
    expect([await iterator.next(), await iterator.next()].map(({ value }) => value)).toEqual(['ab', '.c'])
    const waiting = iterator.next()
    values.push('d')
    values.push('e')
    expect([await waiting, await iterator.next()].map(({ value }) => value)).toEqual(['d', 'e'])
  })

  it('is drained when the last waiting value is taken, and not before', async () => {
    const values = createPushIterator<number>(2)
    const iterator = values.iterate(() => {})
    await values.drained()
    for (const n of [1, 2]) values.push(n)
    const drained = vi.fn()
    const both = Promise.all([values.drained().then(drained), values.drained().then(drained)])
    await iterator.next()
    expect(drained).not.toHaveBeenCalled()
    await iterator.next()
    await both
    expect(drained).toHaveBeenCalledTimes(2)
  })

  it('is drained when the iteration ends, even if values wait', async () => {
    const values = createPushIterator<number>(1)
    values.push(1)
    const drained = values.drained()
    values.end()
    await drained
    await values.drained()
  })

  it('ends after the waiting values', async () => {
    const values = createPushIterator<number>(10)
    const iterator = values.iterate(() => {})
    values.push(1)
    values.end()
    values.push(2)
    expect(await iterator.next()).toEqual(value(1))
    expect([await iterator.next(), await iterator.next()]).toEqual([DONE, DONE])
  })

  it('ends every waiting call of next', async () => {
    const values = createPushIterator<number>(10)
    const iterator = values.iterate(() => {})
    const waiting = [iterator.next(), iterator.next()]
    values.end()
    expect(await Promise.all(waiting)).toEqual([DONE, DONE])
  })

  it.each(['before', 'after'])('throws the error it ends with if next is called %s the end', async (when) => {
    const values = createPushIterator<number>(10)
    const iterator = values.iterate(() => {})
    const error = new Error('lost')
    const waiting = when === 'before' ? iterator.next() : null
    values.end(error)
    values.end()
    await expect(waiting ?? iterator.next()).rejects.toBe(error)
    await expect(iterator.next()).rejects.toBe(error)
  })

  it('stops its producer when the consumer ends the iteration, and drops the waiting values', async () => {
    const values = createPushIterator<number>(10)
    const stop = vi.fn()
    for (const n of [1, 2, 3]) values.push(n)
    for await (const n of values.iterate(stop)) {
      expect(n).toBe(1)
      break
    }
    expect(stop).toHaveBeenCalledTimes(1)
    values.push(4)
    expect(values.isFull()).toBe(false)
    expect(await values.iterate(stop).next()).toEqual(DONE)
  })

  it('ends a waiting call of next when the consumer ends the iteration', async () => {
    const values = createPushIterator<number>(10)
    const iterator = values.iterate(() => {})
    const waiting = iterator.next()
    expect(await iterator.return!()).toEqual(DONE)
    expect(await waiting).toEqual(DONE)
  })

  it('can be ended by the function that stops its producer', async () => {
    const values = createPushIterator<number>(10)
    const iterator = values.iterate(values.end)
    values.push(1)
    await iterator.return!()
    expect(await iterator.next()).toEqual(DONE)
  })
})
