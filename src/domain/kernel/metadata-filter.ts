// Parses the conditions of a filter on application-defined metadata, and compiles them for the SQL function that
// evaluates them (prisma/functions/metadata_matches.sql). Pure.

import { z } from 'zod'
import type { MetadataCondition, MetadataConditions } from '../../store/sql/kernel/metadata.ts'
import { json, text } from './input.ts'

/** Maximum number of conditions in one filter. */
export const METADATA_CONDITIONS = 10
/** Maximum number of keys in a path. */
export const METADATA_PATH_KEYS = 16
/** Maximum number of values of `in`. */
export const METADATA_VALUES = 100
/** Maximum size of all conditions of a filter, in bytes of JSON. */
export const METADATA_FILTER_BYTES = 16 * 1024

const bound = json.pipe(z.union([z.number(), text(200)], 'must be a number, or a string of at most 200 characters'))

const range = z
  .object({ gt: bound.nullish(), gte: bound.nullish(), lt: bound.nullish(), lte: bound.nullish() })
  .transform((given) => Object.fromEntries(Object.entries(given).filter(([, value]) => value != null)))
  .refine((bounds) => new Set(Object.values(bounds).map((value) => typeof value)).size === 1, {
    message: 'must have at least one bound, and bounds of one type: numbers or strings',
  })

const operators = z
  .object({
    equals: json.optional(),
    contains: json.optional(),
    exists: z.boolean().optional(),
    in: z.array(json).max(METADATA_VALUES).optional(),
    range: range.optional(),
  })
  .refine((given) => Object.values(given).filter((operand) => operand !== undefined).length === 1, {
    message: 'must have exactly one operator',
  })

const condition = z.object({
  path: z
    .array(text(200))
    .max(METADATA_PATH_KEYS, `must have at most ${METADATA_PATH_KEYS} keys`)
    .nullish()
    .transform((path) => path ?? []),
  value: operators,
})

type Condition = z.output<typeof condition>

/** Returns an object that contains only the value, at the path; the value itself for an empty path. */
const nest = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight<unknown>((inner, key) => Object.fromEntries([[key, inner]]), value)

const isScalar = (value: unknown) => typeof value !== 'object' || value === null

function compile({ path, value }: Condition): MetadataCondition {
  const [operator, operand] = Object.entries(value).find(([, given]) => given !== undefined)! as [
    MetadataCondition['operator'],
    unknown,
  ]
  const bounds = operator === 'range' ? Object.values(operand as object) : []
  return {
    path,
    parents: nest(path.slice(0, -1), {}),
    operator,
    operand,
    type: bounds.length ? typeof bounds[0] : null,
  }
}

/**
 * Returns objects for a search by the metadata index: metadata that meets the condition contains at least one of these
 * objects. Null for operators without such objects.
 */
function containedBy({ path, value: { equals, contains, in: values } }: Condition): unknown[] | null {
  if (equals !== undefined) return [nest(path, equals)]
  if (values !== undefined) return values.map((each) => nest(path, each))
  if (contains === undefined) return null
  // Postgres' containment: a scalar is contained in an equal scalar and in an array with that element.
  return isScalar(contains) ? [nest(path, contains), nest(path, [contains])] : [nest(path, contains)]
}

/** A list of conditions, all of which must be met. Parsing compiles them; null for an empty list. */
export const metadataFilter = z
  .array(condition)
  .max(METADATA_CONDITIONS, `must have at most ${METADATA_CONDITIONS} conditions`)
  .refine((conditions) => Buffer.byteLength(JSON.stringify(conditions)) <= METADATA_FILTER_BYTES, {
    message: `must be at most ${METADATA_FILTER_BYTES} bytes of JSON`,
    // Other problems may keep JSON.stringify from serialising the conditions.
    when: ({ issues }) => issues.length === 0,
  })
  .transform((conditions): MetadataConditions | null =>
    conditions.length === 0
      ? null
      : {
          conditions: conditions.map(compile),
          containing: conditions.flatMap((each) => [containedBy(each) ?? []]).filter((each) => each.length > 0),
        },
  )
