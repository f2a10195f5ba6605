// Applies JSON Patches (RFC 6902) of clients, and computes the patch between two JSON values. Pure. Packages were
// rejected: rfc6902 5.4.0 reads inherited properties (`/toString`), copies beyond the end of arrays, cannot replace the
// root, and compares arrays in quadratic time and space; and no package bounds the size of what a patch copies.

import { isTooDeep, TOO_DEEP } from './input.ts'
import { isJsonObject, type JsonObject } from './merge-patch.ts'

/** The operations of RFC 6902. */
export const OPERATIONS = ['add', 'remove', 'replace', 'move', 'copy', 'test'] as const
export type Operation = { op: (typeof OPERATIONS)[number]; path: string; from?: string; value?: unknown }

/** Why a patch was not applied: a `test` failed, or the operation at `index` cannot be applied. */
export type PatchFault = { index: number; kind: 'TEST' | 'INVALID'; message: string }

type Container = JsonObject | unknown[]
const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null

class Fault extends Error {
  readonly kind: PatchFault['kind']
  constructor(message: string, kind: PatchFault['kind'] = 'INVALID') {
    super(message)
    this.kind = kind
  }
}

/** A key that would change the prototype of the objects of programs that assign it. */
export const FORBIDDEN_KEY = '__proto__'

/** Returns the tokens of a JSON Pointer (RFC 6901). */
function tokensOf(pointer: string): string[] {
  if (pointer === '') return []
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) {
    throw new Fault(
      `${quoted(pointer)} is not a JSON Pointer: "" or "/" and keys, in which "~0" means "~" and "~1" "/"`,
    )
  }
  const tokens = pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (tokens.includes(FORBIDDEN_KEY)) throw new Fault(`a path must not contain the key ${FORBIDDEN_KEY}`)
  return tokens
}

const quoted = (pointer: string) => JSON.stringify(pointer.length > 200 ? `${pointer.slice(0, 200)}…` : pointer)
const missing = (pointer: string) => new Fault(`there is no value at ${quoted(pointer)}`)

/** Returns the index that the token names in a list with `length` items; null for none. */
function indexOf(token: string, length: number): number | null {
  if (!/^(?:0|[1-9]\d{0,9})$/.test(token)) return null
  return Number(token) < length ? Number(token) : null
}

/** Returns the member or item of the container; undefined for none. */
function member(container: unknown, token: string): unknown {
  if (Array.isArray(container)) {
    const index = indexOf(token, container.length)
    return index === null ? undefined : (container[index] as unknown)
  }
  return isJsonObject(container) && Object.hasOwn(container, token) ? container[token] : undefined
}

/** A document, whose root may be replaced. */
type Document = { root: unknown }

/** Returns the value at the pointer. */
function valueAt({ root }: Document, pointer: string): unknown {
  let value = root
  for (const token of tokensOf(pointer)) {
    value = member(value, token)
    if (value === undefined) throw missing(pointer)
  }
  return value
}

/** Returns the container of the value at the pointer, and the last token; null for the root. */
function parentOf(document: Document, pointer: string): { parent: Container; token: string } | null {
  const tokens = tokensOf(pointer)
  const token = tokens.pop()
  if (token === undefined) return null
  let parent: unknown = document.root
  for (const each of tokens) parent = member(parent, each)
  if (!isContainer(parent)) throw missing(pointer.slice(0, pointer.lastIndexOf('/')))
  return { parent, token }
}

function add(document: Document, pointer: string, value: unknown): void {
  const at = parentOf(document, pointer)
  if (at === null) document.root = value
  else if (Array.isArray(at.parent)) {
    const index = at.token === '-' ? at.parent.length : indexOf(at.token, at.parent.length + 1)
    if (index === null)
      throw new Fault(`${quoted(pointer)} is not an index of the list, which has ${at.parent.length} items`)
    at.parent.splice(index, 0, value)
  } else at.parent[at.token] = value
}

function remove(document: Document, pointer: string): unknown {
  const at = parentOf(document, pointer)
  if (at === null) throw new Fault('the root cannot be removed: delete the key, or replace the value')
  const { parent, token } = at
  const value = member(parent, token)
  if (value === undefined) throw missing(pointer)
  if (Array.isArray(parent)) parent.splice(Number(token), 1)
  else delete parent[token]
  return value
}

function replace(document: Document, pointer: string, value: unknown): void {
  const at = parentOf(document, pointer)
  if (at === null) document.root = value
  else if (member(at.parent, at.token) === undefined) throw missing(pointer)
  else (at.parent as JsonObject)[at.token] = value
}

/** Returns a copy of the value at the pointer. `budget` is reduced by its size in bytes. */
function copyOf(document: Document, pointer: string, budget: { bytes: number }): unknown {
  const value = valueAt(document, pointer)
  if (isTooDeep(value)) throw new Fault(`the copied value ${TOO_DEEP}`)
  const printed = JSON.stringify(value)
  budget.bytes -= Buffer.byteLength(printed)
  if (budget.bytes < 0) throw new Fault('the operations copy too much')
  return JSON.parse(printed)
}

/** What the comparisons of one patch may still cost: the number of values and keys that they read. */
type Work = { steps: number }
/** Maximum of `Work`: the largest values are read several times, in a few milliseconds. */
const MAX_STEPS = 500_000

/** Whether two JSON values are equal, regardless of the order of keys. False once the work is spent. */
function isSame(one: unknown, other: unknown, work: Work): boolean {
  if (--work.steps < 0) return false
  if (!isContainer(one) || !isContainer(other)) return one === other
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false
    return one.every((item, index) => isSame(item, other[index], work))
  }
  const keys = Object.keys(one)
  const others = Object.keys(other)
  work.steps -= keys.length + others.length
  if (keys.length !== others.length) return false
  return keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key], work))
}

/** What a patch may still copy, and compare. */
type Budget = Work & { bytes: number }

/** Applies one operation. */
function applyOperation(document: Document, { op, path, from, value }: Operation, budget: Budget): void {
  const needsFrom = op === 'move' || op === 'copy'
  if (needsFrom && from == null) throw new Fault('the operation needs `from`')
  if ((op === 'add' || op === 'replace' || op === 'test') && value === undefined) {
    throw new Fault('the operation needs `value`')
  }
  switch (op) {
    case 'add':
      return add(document, path, value)
    case 'remove':
      return void remove(document, path)
    case 'replace':
      return replace(document, path, value)
    case 'copy':
      return add(document, path, copyOf(document, from!, budget))
    case 'move':
      if (path.startsWith(`${from}/`)) throw new Fault('a value cannot be moved into itself')
      if (path === from) return void valueAt(document, path)
      return add(document, path, remove(document, from!))
    case 'test':
      if (isSame(valueAt(document, path), value, budget)) return
      if (budget.steps < 0) throw new Fault('the operations compare too much')
      throw new Fault(`the value at ${quoted(path)} is another one`, 'TEST')
  }
}

/**
 * Returns the value with the operations applied in order, or the fault of the first that fails. Changes `root`, but not
 * the operations; their values must be JSON without the key FORBIDDEN_KEY, nested at
 * most JSON_DEPTH levels deep.
 * @param maxCopied maximum size of all values that `copy` operations copy, in bytes of JSON
 */
export function applyPatch(
  root: unknown,
  operations: readonly Operation[],
  maxCopied: number,
): { value: unknown } | { fault: PatchFault } {
  const document: Document = { root }
  const budget = { bytes: maxCopied, steps: MAX_STEPS }
  for (const [index, operation] of operations.entries()) {
    const { value } = operation
    // A later operation may change the value, which another one may contain too.
    const own = isContainer(value) ? { ...operation, value: JSON.parse(JSON.stringify(value)) as unknown } : operation
    try {
      applyOperation(document, own, budget)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return { fault: { index, kind: error.kind, message: error.message } }
    }
  }
  return { value: document.root }
}

const escaped = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1')
const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

/** A pointer, and its size in bytes of JSON. Operations repeat it, so it is neither printed nor measured for each. */
type Place = { path: string; bytes: number }
const itemOf = ({ path, bytes }: Place, index: number): Place => ({
  path: `${path}/${index}`,
  bytes: bytes + 1 + String(index).length,
})
const memberOf = ({ path, bytes }: Place, key: string): Place => {
  const token = escaped(key)
  return { path: `${path}/${token}`, bytes: bytes + sizeOf(token) - 1 }
}

/** The operations found so far, and what the search may still cost. It stops once either is spent. */
type Found = Work & { operations: Operation[]; bytes: number }
const isSpent = ({ bytes, steps }: Found) => bytes < 0 || steps < 0

/** Bytes of JSON of an operation without its name, its path and its value, with a comma. */
const [REMOVE_BYTES, VALUE_BYTES] = ['{"op":"","path":""},'.length, '{"op":"","path":"","value":},'.length]

/** Adds an operation, unless the budget is spent. */
function push(found: Found, { path, bytes }: Place, op: 'add' | 'remove' | 'replace', value?: unknown): void {
  found.bytes -= bytes + op.length + (op === 'remove' ? REMOVE_BYTES : VALUE_BYTES)
  if (found.bytes < 0) return
  if (op !== 'remove') found.bytes -= sizeOf(value)
  found.operations.push(op === 'remove' ? { op, path } : { op, path, value })
}

/** Lists of one length are compared item by item. Of others, the items that both begin and end with are left out. */
function diffLists(before: readonly unknown[], after: readonly unknown[], place: Place, found: Found): void {
  let start = 0
  let end = 0
  const shorter = Math.min(before.length, after.length)
  if (before.length !== after.length) {
    while (start < shorter && isSame(before[start], after[start], found)) start++
    while (end < shorter - start && isSame(before.at(-1 - end), after.at(-1 - end), found)) end++
  }
  const changed = shorter - end
  for (let index = start; index < changed && !isSpent(found); index++) {
    diff(before[index], after[index], itemOf(place, index), found)
  }
  for (let index = before.length - end - 1; index >= changed && !isSpent(found); index--) {
    push(found, itemOf(place, index), 'remove')
  }
  for (let index = changed; index < after.length - end && !isSpent(found); index++) {
    push(found, itemOf(place, index), 'add', after[index])
  }
}

function diff(before: unknown, after: unknown, place: Place, found: Found): void {
  if (--found.steps < 0) return
  if (Array.isArray(before) && Array.isArray(after)) return diffLists(before, after, place, found)
  if (isJsonObject(before) && isJsonObject(after)) {
    for (const key of Object.keys(before)) {
      if (isSpent(found)) return
      if (!Object.hasOwn(after, key)) push(found, memberOf(place, key), 'remove')
    }
    for (const [key, value] of Object.entries(after)) {
      if (isSpent(found)) return
      const at = memberOf(place, key)
      if (Object.hasOwn(before, key)) diff(before[key], value, at, found)
      else push(found, at, 'add', value)
    }
    return
  }
  if (before !== after) push(found, place, 'replace', after)
}

/**
 * Returns operations that change `before` into `after`: only those of items and members that differ, or one that
 * replaces the root if that is shorter, if they would have more than `maxBytes` bytes of JSON, or if the comparison
 * would take more than MAX_STEPS. Both are plain JSON.
 */
export function patchBetween(before: unknown, after: unknown, maxBytes: number): Operation[] {
  const whole: Operation = { op: 'replace', path: '', value: after }
  const found: Found = { operations: [], bytes: Math.min(maxBytes, sizeOf([whole])) - 1, steps: MAX_STEPS }
  diff(before, after, { path: '', bytes: 0 }, found)
  return isSpent(found) ? [whole] : found.operations
}
