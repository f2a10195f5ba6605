// Reads the turns, facts and summaries from which messages were made, by their ids.

import type { Client, ContextItemKind } from '../../../client/index.ts'
import type { Named, PlacedTurn } from '../../kit/result.ts'

/**
 * `id`: of a turn, a fact or a summary; the name of a user for a profile. `kind`: the kind of the section with it,
 * which alone tells names from ids.
 */
export type SourceRef = { id: string; kind: ContextItemKind }

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

/** Returns the sources that the client's actor sees, except profiles, by their ids. @throws ColloquyError */
export async function readSources(
  client: Client,
  sources: readonly SourceRef[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Source>> {
  const objects = sources.filter(({ kind }) => kind !== 'PROFILE')
  const known = [...new Set(objects.map(({ id }) => id))]
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
