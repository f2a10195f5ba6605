// The sources of messages, in batches.

import { expect, it } from 'vitest'
import type { Client } from '../../../../../src/client/index.ts'
import { readSources, type SourceRef } from '../../../../../src/web/context/sources/sources.ts'

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `turn_${index}`)
const profileOf = (id: string): SourceRef => ({ id, kind: 'PROFILE' })
const turns = (ids: readonly string[]): SourceRef[] => ids.map((id) => ({ id, kind: 'RECENT' }))

it.each([
  ['no ids', [], []],
  ['no names of users', [profileOf('ada'), profileOf('fact_checker')], []],
  ['each id once', [...turns(['turn_1', 'fact_1', 'turn_1', 'sum_1']), profileOf('ada')], [3]],
  ['a full batch', turns(numbered(100)), [100]],
  ['more ids than a batch', turns(numbered(201)), [100, 100, 1]],
])('reads %s', async (_, refs, sizes) => {
  const batches: { ids: string[]; as: string }[] = []
  const request = async (_document: string, variables: { ids: string[]; as: string }) => {
    batches.push(variables)
    return { nodes: variables.ids.map((id) => (id === 'turn_7' ? null : { __typename: 'Turn', id })) }
  }
  const client = { as: 'bot', request } as unknown as Client
  const sources = await readSources(client, refs, new AbortController().signal)
  expect(batches.map((batch) => batch.ids.length)).toEqual(sizes)
  expect(batches.every(({ as }) => as === 'bot')).toBe(true)
  // A source that the actor does not see is missing.
  const expected = [...new Set(refs.filter(({ kind }) => kind !== 'PROFILE').map(({ id }) => id))].filter(
    (id) => id !== 'turn_7',
  )
  expect([...sources.keys()]).toEqual(expected)
})
