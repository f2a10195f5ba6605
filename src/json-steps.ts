// Serialises JSON in steps, so that a large value does not block the event loop.

import { stringify } from './json-text.ts'
import { runStepsYielding } from './yield.ts'

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

/** Appends the JSON of the value to `pieces`; yields between steps. */
function* print(value: unknown, pieces: Buffer[]): Generator<void, void> {
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
}

/**
 * Returns the same JSON as JSON.stringify, in UTF-8, as pieces to concatenate. The value must be an object or a list of
 * JSON values; functions and symbols are not supported.
 */
export async function stringifyInSteps(value: object): Promise<Buffer[]> {
  const pieces: Buffer[] = []
  await runStepsYielding(print(value, pieces))
  return pieces
}
