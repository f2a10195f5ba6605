// Converts items of a LangGraph store to the metadata of conversations and back, and selects the items of an operation.
import type { Item, ListNamespacesOperation, MatchCondition } from '@langchain/langgraph'
import type { StoredConversation } from 'colloquy/conversation-core'

type Kept = Pick<Item, 'key' | 'value'> & { namespace: Record<number, string> }

export const toMetadata = ({ namespace, key, value }: Pick<Item, 'namespace' | 'key' | 'value'>) => ({
  item: { namespace: { ...namespace }, key, value } satisfies Kept,
})

export function toItem({ metadata, createdAt, updatedAt }: StoredConversation): Item {
  const { namespace, ...item } = metadata.item as Kept
  return { ...item, namespace: Object.values(namespace), createdAt, updatedAt }
}

/** Returns the metadata conditions for the items below the prefix whose values contain the fields of `filter`. */
export function conditionsOf(prefix: string[], filter: Record<string, unknown>) {
  const equal = (path: string[], equals: unknown) => ({ path: ['item', ...path], value: { equals } })
  const names = prefix.map((name, index) => equal(['namespace', String(index)], name))
  const values = Object.entries(filter).map(([name, value]) => equal(['value', name], value))
  return [{ path: ['item'], value: { exists: true } }, ...names, ...values]
}

/** Whether the namespace begins or ends with the path, in which `*` stands for any name. */
function matches(namespace: string[], { matchType, path }: MatchCondition): boolean {
  const start = matchType === 'prefix' ? 0 : namespace.length - path.length
  const part = start < 0 ? [] : namespace.slice(start, start + path.length)
  return part.length === path.length && path.every((name, index) => name === '*' || name === part[index])
}

export function selectNamespaces(items: Item[], operation: ListNamespacesOperation): string[][] {
  const { matchConditions = [], maxDepth, limit, offset } = operation
  const found = items.filter(({ namespace }) => matchConditions.every((each) => matches(namespace, each)))
  const names = new Set(found.map(({ namespace }) => JSON.stringify(namespace.slice(0, maxDepth))))
  return [...names].slice(offset, offset + limit).map((name) => JSON.parse(name) as string[])
}
