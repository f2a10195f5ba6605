// The sources of messages, in batches.

import { expect, it } from 'vitest'
import type { Client } from '../../../../../src/client/index.ts'
import { readSources } from '../../../../../src/web/context/sources/sources.ts'

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `turn_${index}`)

it.each([
  ['no ids', [], []],
  ['the names of users', ['ada', 'ben'], []],
  ['each id once', ['turn_1', 'fact_1', 'turn_1', 'sum_1', 'ada'], [3]],
  ['a full batch', numbered(100), [100]],
  ['more ids than a batch', numbered(201), [100, 100, 1]],
])('reads %s', async (_, ids, sizes) => {
  const batches: { ids: string[]; as: string }[] = []
  const request = async (_document: string, variables: { ids: string[]; as: string }) => {
    batches.push(variables)
    return { nodes: variables.ids.map((id) => (id === 'turn_7' ? null : { __typename: 'Turn', id })) }
  }
  const client = { as: 'bot', request } as unknown as Client
  const sources = await readSources(client, ids, new AbortController().signal)
  expect(batches.map((batch) => batch.ids.length)).toEqual(sizes)
  expect(batches.every(({ as }) => as === 'bot')).toBe(true)
  // A source that the actor does not see is missing.
  const expected = [...new Set(ids)].filter((id) => id.includes('_') && id !== 'turn_7')
  expect([...sources.keys()]).toEqual(expected)
})
