// Serialises and parses JSON in steps, so that a large value does not block the event loop.

import { stringify } from './text.ts'
import { runStepsYielding } from '../yield.ts'

/**
 * Approximate maximum size of a value that is serialised in one step, in UTF-16 units. Such a step takes about 0.5 ms.
 * A string is never divided, so a longer string takes one longer step.
 */
const STEP_UNITS = 64 * 1024
/** Approximate size of a number, a boolean or null, in UTF-16 units. */
const LEAF_UNITS = 8

/** Returns the approximate size of the value, in UTF-16 units; counting stops above `max`. */
export function unitsOf(value: unknown, max: number): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return LEAF_UNITS
  let units = 2
  if (Array.isArray(value)) {
    for (const item of value) if ((units += unitsOf(item, max - units)) > max) break
  } else {
    for (const key in value) {
      units += key.length + 4 + unitsOf((value as Record<string, unknown>)[key], max - units)
      if (units > max) break
    }
  }
  return units
}

/** Whether the JSON of the value has more than about so many UTF-16 units. Stops counting above them. */
export const isLargerThan = (value: unknown, units: number): boolean => unitsOf(value, units) > units

/** Whether the value is an object or list without `toJSON`, so that it can be serialised in steps. */
const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !('toJSON' in value && typeof value.toJSON === 'function')

/**
 * Returns the same JSON as JSON.stringify, in UTF-8, as pieces to concatenate; yields between steps. The value must be an
 * object or a list of JSON values; functions and symbols are not supported.
 */
export function* jsonSteps(value: object): Generator<void, Buffer[]> {
  const pieces: Buffer[] = []
  let text = ''
  function* add(each: unknown): Generator<void, void> {
    if (!isPlain(each) || !isLargerThan(each, STEP_UNITS)) {
      text += stringify(each) ?? 'null'
      if (text.length < STEP_UNITS) return
      pieces.push(Buffer.from(text))
      text = ''
      return yield
    }
    const isList = Array.isArray(each)
    let separator = isList ? '[' : '{'
    for (const [key, inner] of Object.entries(each)) {
      if (!isList && inner === undefined) continue
      text += isList ? separator : `${separator}${JSON.stringify(key)}:`
      separator = ','
      yield* add(inner)
    }
    if (separator !== ',') text += separator
    text += isList ? ']' : '}'
  }
  yield* add(value)
  pieces.push(Buffer.from(text))
  return pieces
}

/** Runs `jsonSteps`, and yields to the event loop between steps when it is due. */
export const stringifyInSteps = (value: object): Promise<Buffer[]> => runStepsYielding(jsonSteps(value))

/** Maximum number of levels that are parsed in steps. A deeper value is parsed in one step. */
const STEP_LEVELS = 8
const SPACE = /[ \t\n\r]*/y
const SCALAR = /[^\s,\]}]+/y

const isOpening = (text: string, at: number) => text[at] === '{' || text[at] === '['

/** Returns the index after the match of a sticky pattern at `at`, or `at` if there is none. */
function after(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

const BACKSLASH = 92

/** Returns the index after the string that begins at `at`. @throws SyntaxError */
function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === BACKSLASH) before -= 1
    if ((end - before) % 2 === 1) return end + 1
  }
  throw new SyntaxError('a string in the JSON does not end')
}

const BRACKETS = /["{}[\]]/g

/**
 * Returns the index after the value that begins at `at`; -1 if the value is an object or a list that does not end within
 * `max` UTF-16 units. Does not check the value.
 * @throws SyntaxError if there is no value, or if it does not end
 */
function endOfValue(text: string, at: number, max: number): number {
  if (text[at] === '"') return endOfString(text, at)
  if (!isOpening(text, at)) {
    const end = after(SCALAR, text, at)
    if (end === at) throw new SyntaxError('a value is missing in the JSON')
    return end
  }
  let depth = 0
  for (let next = at; next - at <= max;) {
    BRACKETS.lastIndex = next
    const found = BRACKETS.exec(text)
    if (!found) throw new SyntaxError('a value in the JSON does not end')
    next = found.index
    if (text[next] === '"') next = endOfString(text, next)
    else {
      depth += isOpening(text, next) ? 1 : -1
      next += 1
      if (depth === 0) return next
    }
  }
  return -1
}

/** Position of the parser in the text. */
type Reader = { readonly text: string; readonly stepUnits: number; at: number }

/**
 * Parses the object or list at the reader's position. Members that follow each other are parsed together, until they
 * have `stepUnits`; a member that is longer is parsed in steps itself. Yields between steps.
 */
function* readMembers(reader: Reader, level: number): Generator<void, unknown> {
  const { text, stepUnits } = reader
  const isList = text[reader.at] === '['
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  const list: unknown[] = []
  const object = {}
  const define = (key: string, value: unknown) =>
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  function add(json: string): void {
    const members = JSON.parse(open + json + close) as object
    if (isList) for (const item of members as unknown[]) list.push(item)
    else for (const [key, value] of Object.entries(members)) define(key, value)
  }
  reader.at = after(SPACE, text, reader.at + 1)
  if (text[reader.at] === close) {
    reader.at += 1
    return isList ? list : object
  }
  for (let from = reader.at, end = from; ; from = reader.at) {
    let hasLong = false
    let key = ''
    for (;;) {
      const start = reader.at
      if (!isList) {
        reader.at = after(SPACE, text, text[start] === '"' ? endOfString(text, start) : start)
        key = text.slice(start, reader.at)
        if (text[reader.at] !== ':') throw new SyntaxError('a member of an object in the JSON has no name')
        reader.at = after(SPACE, text, reader.at + 1)
      }
      const endOfMember = endOfValue(text, reader.at, level < STEP_LEVELS ? stepUnits : Infinity)
      hasLong = endOfMember === -1
      if (hasLong) {
        // The members before this one end before the comma.
        if (end > from) add(text.slice(from, end))
        break
      }
      end = endOfMember
      reader.at = after(SPACE, text, end)
      if (text[reader.at] !== ',' || end - from >= stepUnits) {
        add(text.slice(from, end))
        break
      }
      reader.at = after(SPACE, text, reader.at + 1)
    }
    if (hasLong) {
      const value = yield* readMembers(reader, level + 1)
      if (isList) list.push(value)
      else define(JSON.parse(key) as string, value)
      reader.at = after(SPACE, text, reader.at)
    }
    yield
    if (text[reader.at] === close) break
    if (text[reader.at] !== ',') throw new SyntaxError('a comma is missing in the JSON')
    reader.at = after(SPACE, text, reader.at + 1)
    end = reader.at
  }
  reader.at += 1
  return isList ? list : object
}

/**
 * Returns the same value as JSON.parse. A text of more than `stepUnits` UTF-16 units is parsed in steps; a string is
 * never divided. @throws SyntaxError
 */
export async function parseInSteps(text: string, stepUnits = STEP_UNITS): Promise<unknown> {
  const reader: Reader = { text, stepUnits, at: after(SPACE, text, 0) }
  if (text.length <= stepUnits || !isOpening(text, reader.at)) return JSON.parse(text)
  const value = await runStepsYielding(readMembers(reader, 1))
  if (after(SPACE, text, reader.at) !== text.length) throw new SyntaxError('the JSON is followed by other text')
  return value
}
