// Encodes the calls of append_turns as arrays with one element per turn, because typed parameters take less time than
// JSON. Large arrays are encoded in Postgres' binary format, which can be done in steps.

import { jsonSteps, unitsOf } from '../../../runtime/json/in-steps.ts'
import { binaryIntegers, binaryTexts } from '../../vectors/binary-array.ts'
import type { AppendCall, AppendedTurn } from './append-call.ts'

/** Number of UTF-16 units of turns above which the parameters of a statement are encoded in steps. */
const LARGE_UNITS = 128 * 1024

/** Whether the texts and JSON values of the turns have more than about LARGE_UNITS. */
export function isLarge(calls: readonly AppendCall[]): boolean {
  let units = 0
  for (const { turns } of calls) {
    for (const { text, parts, metadata, sources } of turns) {
      units += text.length
      for (const json of [parts, metadata, sources]) {
        if (json != null && units <= LARGE_UNITS) units += unitsOf(json, LARGE_UNITS - units)
      }
      if (units > LARGE_UNITS) return true
    }
  }
  return false
}

/** The fields that have an array of their own, and `status`, which `restOf` adds for open turns. */
const NOT_IN_REST: ReadonlySet<string> = new Set<keyof AppendedTurn>([
  'id',
  'actor',
  'authorKind',
  'role',
  'text',
  'tokens',
  'clientId',
  'clientHash',
  'terms',
  'cues',
  'status',
])

/**
 * Returns the other fields, which most turns do not have, without null fields; null if the turn has none of them.
 * @param before number of turns of earlier calls
 */
function restOf(turn: AppendedTurn, viewer: string, before: number): Record<string, unknown> | null {
  let rest: Record<string, unknown> | null = turn.status === 'STREAMING' ? { status: turn.status, viewer } : null
  for (const [name, value] of Object.entries(turn)) {
    if (value == null || value === false || NOT_IN_REST.has(name)) continue
    rest ??= {}
    rest[name] = value
  }
  if (rest && turn.results) {
    rest.results = turn.results.map((result) =>
      result.place === undefined ? result : { ...result, place: before + result.place + 1 },
    )
  }
  return rest
}

// Arrays in Postgres' text format. pg also quotes and escapes numbers, one by one, which takes longer than the rest of
// the call.
type Values<T> = readonly (T | null | undefined)[]
const numbers = (values: Values<number>): string => `{${values.map((each) => each ?? 'NULL').join()}}`
const quoted = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&')}"`
const texts = (values: Values<string>): string =>
  `{${values.map((each) => (each == null ? 'NULL' : quoted(each))).join()}}`

/** Returns the array, or null if it has no value. */
const unlessEmpty = <T>(toArray: (values: Values<T>) => string, values: Values<T>): string | null =>
  values.some((value) => value != null) ? toArray(values) : null

/** Returns the JSON of the values as an array in binary format, encoded in steps. */
function* jsonArray(values: readonly (object | null)[]): Generator<void, Buffer> {
  const pieces: (Buffer | null)[] = []
  for (const value of values) {
    pieces.push(value && Buffer.concat(yield* jsonSteps(value)))
    yield
  }
  return yield* binaryTexts('jsonb', pieces)
}

/** The call of a turn, and the turn's index in it. */
type Place = { call: number; index: number }

/**
 * Returns the parameters p_conversations and all that follow it, and the place of each turn. The arrays of texts, terms
 * and JSON are in binary format if `inSteps` is true.
 */
export function* toArrays(
  calls: readonly AppendCall[],
  inSteps: boolean,
): Generator<void, { arrays: (string | Buffer | null)[]; places: Place[] }> {
  const conversations = [...new Set(calls.map(({ conversationId }) => conversationId))].sort()
  const indices = new Map(conversations.map((id, index) => [id, index]))
  const counts = conversations.map(() => 0)
  const expected = conversations.map((): number | null => null)
  const turns: AppendedTurn[] = []
  const places: Place[] = []
  const rest: (Record<string, unknown> | null)[] = []
  const [of, nth, ends]: [number[], number[], number[]] = [[], [], []]
  let end = 0
  for (const [call, { conversationId, viewer, expected: seq, turns: ofCall }] of calls.entries()) {
    const at = indices.get(conversationId)!
    expected[at] ??= seq ?? null
    const before = turns.length
    for (const [index, turn] of ofCall.entries()) {
      places.push({ call, index })
      turns.push(turn)
      rest.push(restOf(turn, viewer, before))
      of.push(at + 1)
      nth.push((counts[at]! += 1))
      ends.push((end += turn.terms?.length ?? 0))
    }
  }
  const contents = turns.map(({ text }) => text)
  const terms = turns.map((turn) => turn.terms ?? [])
  const hasRest = rest.some((each) => each !== null)
  const arrays = [
    texts(conversations),
    unlessEmpty(numbers, expected),
    numbers(places.map(({ call }) => call)),
    numbers(of),
    numbers(nth),
    texts(turns.map(({ id }) => id)),
    texts(turns.map(({ actor }) => actor)),
    unlessEmpty(
      texts,
      turns.map(({ authorKind }) => authorKind),
    ),
    texts(turns.map(({ role }) => role)),
    inSteps ? yield* binaryTexts('text', contents) : texts(contents),
    numbers(turns.map(({ tokens }) => tokens)),
    inSteps && end > 0 ? yield* binaryIntegers(terms) : `{${terms.flat().join()}}`,
    numbers(ends),
    unlessEmpty(
      numbers,
      turns.map(({ cues }) => cues),
    ),
    unlessEmpty(
      texts,
      turns.map(({ clientId }) => clientId),
    ),
    unlessEmpty(
      texts,
      turns.map(({ clientHash }) => clientHash),
    ),
    !hasRest ? null : inSteps ? yield* jsonArray(rest) : texts(rest.map((each) => each && JSON.stringify(each))),
  ]
  return { arrays, places }
}
