// Compares two contexts: the tokens of each kind of section, and the sources that only one of them includes.

import type { Context, ContextItem, ContextItemKind } from '../../client/index.ts'
import { KINDS } from './sections.ts'
import type { SourceRef } from './sources/sources.ts'

export type ComparedKind = { kind: ContextItemKind; before: number; now: number }
export type Comparison = {
  kinds: ComparedKind[]
  gained: SourceRef[]
  lost: SourceRef[]
  /** Sources in both contexts, but in other sections. */
  moved: (SourceRef & { from: ContextItemKind })[]
}

type Compared = Pick<Context, 'items'>

const isIncluded = ({ included }: ContextItem) => included

function tokensOf({ items }: Compared, kind: ContextItemKind): number {
  return items.filter((item) => isIncluded(item) && item.kind === kind).reduce((sum, item) => sum + item.tokenCount, 0)
}

/** Returns the first section of each source. The turn to answer may be quoted again at the end. */
function sourcesOf({ items }: Compared): Map<string, ContextItemKind> {
  const sources = new Map<string, ContextItemKind>()
  for (const { kind, sourceIds } of items.filter(isIncluded)) {
    for (const id of sourceIds) if (!sources.has(id)) sources.set(id, kind)
  }
  return sources
}

export function compare(before: Compared, now: Compared): Comparison {
  const [old, recent] = [sourcesOf(before), sourcesOf(now)]
  const kinds = (Object.keys(KINDS) as ContextItemKind[])
    .map((kind) => ({ kind, before: tokensOf(before, kind), now: tokensOf(now, kind) }))
    .filter((each) => each.before > 0 || each.now > 0)
  return {
    kinds,
    gained: [...recent].filter(([id]) => !old.has(id)).map(([id, kind]) => ({ id, kind })),
    lost: [...old].filter(([id]) => !recent.has(id)).map(([id, kind]) => ({ id, kind })),
    moved: [...recent]
      .filter(([id, kind]) => old.has(id) && old.get(id) !== kind)
      .map(([id, kind]) => ({ id, kind, from: old.get(id)! })),
  }
}
