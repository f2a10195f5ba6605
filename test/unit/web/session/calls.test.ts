// The calls of the page: the newest last, and equal ones once.

import { afterEach, expect, it, vi } from 'vitest'
import { createCalls } from '../../../../src/web/session/calls.ts'

afterEach(() => vi.unstubAllGlobals())

const send = (
  calls: ReturnType<typeof createCalls>,
  query: string,
  { variables = {}, actor = 'ada' as string | null },
) =>
  calls.fetch('/graphql', {
    body: JSON.stringify({ query, variables }),
    headers: actor === null ? {} : { 'x-actor': encodeURIComponent(actor) },
  })

it.each([
  { name: 'none', sent: [], shown: [] },
  { name: 'the newest last', sent: [['a'], ['b']], shown: ['a', 'b'] },
  { name: 'equal ones as the newest', sent: [['a'], ['b'], ['a']], shown: ['b', 'a 2×'] },
  { name: 'other variables', sent: [['a'], ['a', { variables: { x: 1 } }]], shown: ['a', 'a'] },
  { name: 'other actors', sent: [['a'], ['a', { actor: 'Zoë' }], ['a', { actor: null }]], shown: ['a', 'a', 'a'] },
  {
    name: 'a call that was sent before many repetitions of another',
    sent: [['write'], ...Array.from({ length: 200 }, () => ['poll'] as const)],
    shown: ['write', 'poll 200×'],
  },
  { name: 'the newest 50', sent: Array.from({ length: 60 }, (_, n) => [`${n}`] as const), shown: numbers(10, 60) },
] as { name: string; sent: [string, object?][]; shown: string[] }[])('$name', async ({ sent, shown }) => {
  vi.stubGlobal(
    'fetch',
    vi.fn(async () => new Response('{}')),
  )
  const calls = createCalls()
  for (const [query, options = {}] of sent) await send(calls, query, options)
  expect(calls.get().map(({ query, count }) => (count === 1 ? query : `${query} ${count}×`))).toEqual(shown)
  expect(fetch).toHaveBeenCalledTimes(sent.length)
})

function numbers(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, n) => `${from + n}`)
}
