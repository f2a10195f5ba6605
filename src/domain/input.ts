// How inputs are read: zod schemas for what several verbs take, and one way to fail. Library callers and GraphQL get
// the same checks, because each domain function parses its own input.

import { z } from 'zod'
import { InvalidInput } from '../errors.ts'
import { kindOf, type Kind } from './id.ts'

/** What Postgres can store: no U+0000, no half of a surrogate pair. */
export function storable(text: string): string | null {
  if (text.includes('\0')) return 'must not contain U+0000'
  if (!text.isWellFormed()) return 'must not contain half of a surrogate pair'
  return null
}

const checked = z.string().superRefine((text, context) => {
  const problem = storable(text)
  if (problem) context.addIssue({ code: 'custom', message: problem })
})

/** Text of at most `max` characters. */
export const text = (max: number) => checked.max(max, `must be at most ${max} characters`)

/** A name people give: an actor, a key, a model. */
export const name = text(200).min(1, 'must not be empty')

/** An id of that kind, well-formed. Whether it exists is another question. */
export const id = (kind: Kind) => z.string().refine((value) => kindOf(value) === kind, `is not the id of a ${kind}`)

/** Bytes of the caller's own JSON on one row. */
const JSON_BYTES = 64 * 1024

/** How deep JSON may be nested: databases and clients walk it by recursion. */
const JSON_DEPTH = 64

function depthOf(printed: string): number {
  let depth = 0
  let deepest = 0
  for (const [bracket] of printed.replace(/"(?:[^"\\]+|\\.)*"/g, '').matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

/** A JSON value that Postgres can store, nested at most 64 deep. */
export const json = z.unknown().superRefine((value, context) => {
  let printed: string
  try {
    printed = JSON.stringify(value) ?? 'null'
  } catch {
    return context.addIssue({ code: 'custom', message: 'must be JSON' })
  }
  // In printed JSON both show as escapes; an escaped backslash before them does not count.
  if (/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f]..)/i.test(printed)) {
    context.addIssue({ code: 'custom', message: 'must not contain U+0000 or half of a surrogate pair' })
  }
  if (depthOf(printed) > JSON_DEPTH) {
    context.addIssue({ code: 'custom', message: `must be nested at most ${JSON_DEPTH} deep` })
  }
})

/** A JSON object of at most 64 KiB. */
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

/** A time that Postgres, ISO 8601 and JavaScript all can say. */
export const time = z
  .date()
  .min(new Date('0001-01-01T00:00:00Z'), 'must not be before the year 1')
  .max(new Date('9999-12-31T23:59:59.999Z'), 'must not be after the year 9999')

/** A Postgres integer that counts something. */
export const count = z.int().min(0, 'must not be negative').max(2_147_483_647, 'must be below 2³¹')

/** A whole number in a range, both ends included. */
export const between = (least: number, most: number) => {
  const range = `must be ${least} to ${most.toLocaleString('en-US')}`
  return z.int(range).min(least, range).max(most, range)
}

/** From 0 to 1, both included. */
export const share = z.number().min(0, 'must be 0 to 1').max(1, 'must be 0 to 1')

/**
 * The parsed input.
 * @throws InvalidInput with one issue for each thing wrong with it.
 */
export function parse<T>(schema: z.ZodType<T>, input: unknown): T {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  throw new InvalidInput(result.error.issues.map(({ path, message }) => ({ path: path.map(String), message })))
}
