// Applies JSON Patches (RFC 6902) and JSON Merge Patches (RFC 7396) without changing the value. Small, and for the
// patches of the server and of the program itself: hostile ones are refused by the server
// (src/domain/kernel/json-patch.ts), whose results a property test compares with these.

import type { JsonPatchOperationInput } from '../generated.ts'

type Container = Record<string, unknown> | unknown[]
type Change = (container: any, key: string) => void

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const tokensOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replace(/~1/g, '/').replace(/~0/g, '~'))

/** Returns the member at the key. @throws TypeError if there is none */
function member(container: unknown, key: string): unknown {
  const isMember = Array.isArray(container)
    ? key !== 'length' && Object.hasOwn(container, key)
    : isObject(container) && Object.hasOwn(container, key)
  if (isMember) return (container as Record<string, unknown>)[key]
  throw new TypeError(`There is no value at ${JSON.stringify(key)}.`)
}

const read = (value: unknown, pointer: string): unknown => tokensOf(pointer).reduce(member, value)

/** Returns a copy of the value in which the container of the pointer's last key is a changed copy. */
function write(value: unknown, pointer: string, change: Change): unknown {
  const tokens = tokensOf(pointer)
  const last = tokens.pop()!
  const copyWith = (container: unknown, depth: number): unknown => {
    if (typeof container !== 'object' || container === null)
      throw new TypeError('There is no object or list to change.')
    const copy = (Array.isArray(container) ? [...container] : { ...container }) as Container
    if (depth === tokens.length) change(copy, last)
    else (copy as any)[tokens[depth]!] = copyWith(member(container, tokens[depth]!), depth + 1)
    return copy
  }
  return copyWith(value, 0)
}

const add = (value: unknown, pointer: string, added: unknown): unknown =>
  pointer === ''
    ? added
    : write(value, pointer, (container, key) => {
        if (!Array.isArray(container)) container[key] = added
        else container.splice(key === '-' ? container.length : Number(key), 0, added)
      })

const remove = (value: unknown, pointer: string): unknown =>
  write(value, pointer, (container, key) => {
    member(container, key)
    if (Array.isArray(container)) container.splice(Number(key), 1)
    else delete container[key]
  })

function applyOne(value: unknown, { op, path, from, value: given }: JsonPatchOperationInput): unknown {
  switch (op) {
    case 'add':
      return add(value, path, given)
    case 'remove':
      return remove(value, path)
    case 'replace':
      read(value, path)
      return path === '' ? given : write(value, path, (container, key) => void (container[key] = given))
    case 'copy':
      return add(value, path, read(value, from!))
    case 'move': {
      const moved = read(value, from!)
      return path === from ? value : add(remove(value, from!), path, moved)
    }
    default:
      read(value, path)
      return value
  }
}

/**
 * Returns the value with the operations applied. Does not compare what `test` compares.
 * @throws TypeError if an operation names a value that does not exist
 */
export const applyPatch = (value: unknown, operations: readonly JsonPatchOperationInput[]): unknown =>
  operations.reduce(applyOne, value)

/** Returns the value with the merge patch applied. */
export function applyMerge(value: unknown, merge: unknown): unknown {
  if (!isObject(merge)) return merge
  const merged: Record<string, unknown> = isObject(value) ? { ...value } : {}
  for (const [key, each] of Object.entries(merge)) {
    if (each === null) delete merged[key]
    else merged[key] = applyMerge(merged[key], each)
  }
  return merged
}
