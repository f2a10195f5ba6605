// The sections of a context: consecutive messages of one kind, and the groups of sources that were left out.

import type { Context, ContextItem, ContextItemKind, ContextMessage } from '../../client/index.ts'

/** One message with the item of the manifest that describes it. */
export type Entry = { message: ContextMessage; item: ContextItem }

/** `isStable`: whether the section belongs to the prefix that the next context usually repeats. */
export type Section = {
  /** Distinct within a context, and the same in the next one. */
  key: string
  kind: ContextItemKind
  label: string
  tokens: number
  isStable: boolean
  entries: Entry[]
}

export const KINDS: Record<ContextItemKind, string> = {
  SYSTEM_PROMPT: 'System prompt',
  PROFILE: 'Profiles',
  FACT: 'Facts',
  SUMMARY: 'Summaries',
  PINNED: 'Instructions, pins',
  RECENT: 'Recent turns',
  SHARED_STATE: 'Shared state',
  RECALLED: 'Recalled turns',
  ANSWERED: 'Turn to answer',
}

/** Names of sections that follow the stable prefix. */
const AFTER: Partial<Record<ContextItemKind, string>> = {
  PROFILE: 'More profiles',
  FACT: 'More facts',
  RECENT: 'Newest turn',
}

type Manifest = Pick<Context, 'items' | 'messages' | 'stablePrefixTokens' | 'tokenCount'>

/** Kinds of the messages that can follow the stable prefix. The newest turn comes after them. */
const VARYING = new Set<ContextItemKind>(['PROFILE', 'FACT', 'SHARED_STATE', 'RECALLED'])

/**
 * Returns the number of messages of the stable prefix. Only its tokens are known, and those of a whole are not quite
 * the sum of its messages, so this finds the nearest place at which the prefix can end.
 */
function stableCountOf({ items, messages, stablePrefixTokens, tokenCount }: Manifest): number {
  const sum = messages.reduce((tokens, message) => tokens + message.tokenCount, 0)
  let [count, distance, before] = [0, Infinity, 0]
  for (let index = 0; index <= messages.length; index++) {
    if (index === messages.length || VARYING.has(items[index]!.kind)) {
      const off = Math.abs((before * tokenCount) / (sum || 1) - stablePrefixTokens)
      if (off < distance) [count, distance] = [index, off]
    }
    before += messages[index]?.tokenCount ?? 0
  }
  return count
}

/** Returns the sections in the order of the messages. The first items of the manifest describe the messages. */
export function sectionsOf(manifest: Manifest): Section[] {
  const { items, messages } = manifest
  const sections: Section[] = []
  const stableCount = stableCountOf(manifest)
  messages.forEach((message, index) => {
    const item = items[index]!
    const isStable = index < stableCount
    const last = sections.at(-1)
    if (last?.kind === item.kind && last.isStable === isStable) {
      last.entries.push({ message, item })
      last.tokens += message.tokenCount
      return
    }
    const { kind } = item
    const count = sections.filter((section) => section.kind === kind).length
    const label = (isStable ? undefined : AFTER[kind]) ?? KINDS[kind]
    sections.push({
      key: `${kind} ${count}`,
      kind,
      label,
      tokens: message.tokenCount,
      isStable,
      entries: [{ message, item }],
    })
  })
  return sections
}

/** Returns the reason of most entries. */
export function usualReasonOf(entries: readonly Entry[]): string {
  const counts = new Map<string, number>()
  for (const { item } of entries) counts.set(item.reason, (counts.get(item.reason) ?? 0) + 1)
  return [...counts].reduce((most, each) => (each[1] > most[1] ? each : most), ['', 0])[0]
}

/** Returns the items that were left out, those with the most tokens first. */
export const omissionsOf = ({ items }: Pick<Context, 'items'>): ContextItem[] =>
  items.filter(({ included }) => !included).toSorted((a, b) => b.tokenCount - a.tokenCount)
