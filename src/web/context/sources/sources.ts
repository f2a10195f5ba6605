// Reads the turns, facts and summaries from which messages were made, by their ids.

import type { Client } from '../../../client/index.ts'

type Named = { id: string; title: string | null }
type PlacedTurn = { position: number; conversation: Named }
export type Source =
  | { __typename: 'Turn'; id: string; position: number; actor: string; text: string; conversation: Named }
  | {
      __typename: 'Fact'
      id: string
      subject: string
      predicate: string
      object: string
      sourceTurn: PlacedTurn | null
    }
  | { __typename: 'Summary'; id: string; fromPosition: number; toPosition: number; level: number; conversation: Named }

const READ_SOURCES = `query Sources($ids: [ID!]!, $as: String) {
  nodes(ids: $ids, as: $as) {
    __typename
    ... on Turn { id position actor text conversation { id title } }
    ... on Fact { id subject predicate object sourceTurn { position conversation { id title } } }
    ... on Summary { id fromPosition toPosition level conversation { id title } }
  }
}`

/** Maximum number of ids in one request. */
const BATCH = 100

/** Ids of sources that are objects; the source of a profile is the name of a user. */
export const isObjectId = (id: string): boolean => /^(turn|fact|sum)_/.test(id)

/** Returns the sources that the client's actor sees, by their ids. @throws ColloquyError */
export async function readSources(
  client: Client,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Source>> {
  const known = [...new Set(ids)].filter(isObjectId)
  const batches = Array.from({ length: Math.ceil(known.length / BATCH) }, (_, index) =>
    known.slice(index * BATCH, (index + 1) * BATCH),
  )
  const answers = await Promise.all(
    batches.map((batch) =>
      client.request<{ nodes: (Source | null)[] }>(READ_SOURCES, { ids: batch, as: client.as }, { signal }),
    ),
  )
  return new Map(answers.flatMap(({ nodes }) => nodes.flatMap((node) => (node ? [[node.id, node] as const] : []))))
}
