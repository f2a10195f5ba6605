// Input validation: zod schemas for values that several verbs take, and `parse`, which throws InvalidInput. Every verb
// parses its own input, so calls from GraphQL clients and from library users are checked in the same way.

import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import { createYield } from '../../runtime/yield.ts'
import { kindOf, type Kind } from './id.ts'

/** Returns why Postgres cannot store the text (U+0000, or half of a surrogate pair); null if it can. */
export function storable(text: string): string | null {
  if (text.includes('\0')) return 'must not contain U+0000'
  if (!text.isWellFormed()) return 'must not contain half of a surrogate pair'
  return null
}

const checked = z.string().superRefine((text, context) => {
  const problem = storable(text)
  if (problem) context.addIssue({ code: 'custom', message: problem })
})

/** Text of at most `max` characters (code points). */
export const text = (max: number) => checked.max(max, `must be at most ${max} characters`)

/** A name chosen by the client, such as an actor, a key or a model: 1 to 200 characters. */
export const name = text(200).min(1, 'must not be empty')

/** A well-formed id of that kind. Does not check that the object exists. */
export const id = (kind: Kind) =>
  z.string().refine((value) => kindOf(value) === kind, `is not the id of ${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`)

/**
 * Checks the ids or names for which a read returns values. Library users may pass others than lists; GraphQL does not.
 * @throws InvalidInput
 */
export function requireStrings(values: readonly string[], path: string): void {
  if (!Array.isArray(values)) throw InvalidInput.at(path, 'must be a list of strings')
  const index = values.findIndex((value) => typeof value !== 'string')
  if (index >= 0) throw InvalidInput.at(`${path}.${index}`, 'must be a string')
}

/** Maximum size of one application-defined JSON value, in bytes. */
export const JSON_BYTES = 64 * 1024

/** Maximum nesting depth of JSON. Limited because databases and clients process JSON recursively. */
export const JSON_DEPTH = 64

/** The problem of JSON that is nested more than JSON_DEPTH levels deep. */
export const TOO_DEEP = `must be nested at most ${JSON_DEPTH} levels deep`

/** Adds the value to `found` if it is an object or a list. */
function addObject(value: unknown, found: object[]): void {
  if (typeof value !== 'object' || value === null) return
  const json: unknown = 'toJSON' in value && typeof value.toJSON === 'function' ? value.toJSON() : value
  if (typeof json === 'object' && json !== null) found.push(json)
}

/**
 * Whether the value is nested more than JSON_DEPTH levels deep. Reads one level after the other, because a function that
 * calls itself for each level would exceed the call stack. A value that contains itself counts as nested too deeply.
 */
export function isTooDeep(value: unknown): boolean {
  let level: object[] = []
  addObject(value, level)
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > JSON_DEPTH) return true
    const next: object[] = []
    for (const each of level) for (const inner of Object.values(each)) addObject(inner, next)
    level = next
  }
  return false
}

/** A JSON value that Postgres can store, nested at most JSON_DEPTH levels deep. */
export const json = z.unknown().superRefine((value, context) => {
  const fail = (message: string) => context.addIssue({ code: 'custom', message })
  let printed: string
  try {
    if (isTooDeep(value)) return fail(TOO_DEEP)
    printed = JSON.stringify(value) ?? 'null'
  } catch {
    return fail('must be JSON')
  }
  // JSON.stringify escapes U+0000 and unpaired surrogates. An escape has an odd number of backslashes before `u`.
  if (/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f]..)/i.test(printed)) {
    fail('must not contain U+0000 or half of a surrogate pair')
  }
})

/** A JSON object of at most JSON_BYTES bytes. */
export const metadata = json.pipe(
  z.unknown().superRefine((value, context) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      return context.addIssue({ code: 'custom', message: 'must be a JSON object' })
    }
    if (Buffer.byteLength(JSON.stringify(value)) > JSON_BYTES) {
      context.addIssue({ code: 'custom', message: `must be at most ${JSON_BYTES} bytes of JSON` })
    }
  }),
) as unknown as z.ZodType<Record<string, unknown>>

/** A time that Postgres, ISO 8601 and JavaScript can all represent. */
export const time = z
  .date()
  .min(new Date('0001-01-01T00:00:00Z'), 'must not be before the year 1')
  .max(new Date('9999-12-31T23:59:59.999Z'), 'must not be after the year 9999')

/** Maximum difference between the clocks of client and server, in milliseconds. */
const CLOCK_SKEW_MS = 60_000

/**
 * A time that is not in the future. A fact with a future `observedAt` would win over every contradictory fact observed
 * before that time.
 */
export const pastTime = time.refine((given) => given.getTime() <= Date.now() + CLOCK_SKEW_MS, {
  message: `must not be in the future: it may be at most ${CLOCK_SKEW_MS / 1000} s ahead of the server's clock`,
})

/** Maximum number of actors in an audience. */
export const MAX_AUDIENCE = 1000

/** An audience: the participants who see an object, besides its author. */
export const audience = z
  .array(name)
  .min(1, 'must not be empty; omit it to include every participant')
  .max(MAX_AUDIENCE)

/** A count: 0 to the largest Postgres integer. */
export const count = z.int().min(0, 'must not be negative').max(2_147_483_647, 'must be below 2³¹')

/** A whole number from `min` to `max`, both included. */
export const between = (min: number, max: number) => {
  const range = `must be ${min} to ${max.toLocaleString('en-US')}`
  return z.int(range).min(min, range).max(max, range)
}

/** A quota: maximum number of tokens in one day (UTC). */
export const tokensPerDay = between(0, 2_147_483_647)

/** A number from 0 to 1, both included. */
export const share = z.number().min(0, 'must be 0 to 1').max(1, 'must be 0 to 1')

/**
 * Returns the parsed input.
 * @throws InvalidInput with one issue for each problem
 */
export function parse<T>(schema: z.ZodType<T>, input: unknown): T {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  throw new InvalidInput(issuesOf(result.error))
}

const issuesOf = ({ issues }: z.ZodError, ...prefix: readonly string[]) =>
  issues.map(({ path, message }) => ({ path: [...prefix, ...path.map(String)], message }))

/**
 * Returns the parsed items of the list `name` of an input. Yields to the event loop between items.
 * @throws InvalidInput with one issue for each problem of any item
 */
export async function parseItems<T>(schema: z.ZodType<T>, items: readonly unknown[], name: string): Promise<T[]> {
  const parsed: T[] = []
  const issues: ReturnType<typeof issuesOf> = []
  const yieldIfDue = createYield()
  for (const [index, item] of items.entries()) {
    const result = schema.safeParse(item)
    if (result.success) parsed.push(result.data)
    else issues.push(...issuesOf(result.error, name, String(index)))
    await yieldIfDue()
  }
  if (issues.length > 0) throw new InvalidInput(issues)
  return parsed
}
