// Application-defined metadata: the descriptions that several inputs share, and the input type of filters, which every
// list and search with such a filter has.

import { JSON_BYTES, JSON_DEPTH } from '../../domain/kernel/input.ts'
import {
  METADATA_CONDITIONS,
  METADATA_FILTER_BYTES,
  METADATA_PATH_KEYS,
  METADATA_VALUES,
} from '../../domain/kernel/metadata-filter.ts'
import { builder } from './builder.ts'

const LIMITS = `a JSON object of at most ${JSON_BYTES / 1024} KiB, nested at most ${JSON_DEPTH} levels deep.`

export const METADATA = `Application-defined metadata: ${LIMITS}`
export const REPLACED_METADATA = `Replaces the metadata as a whole: ${LIMITS}`
export const METADATA_PATCH =
  'Changes to the metadata as a JSON Merge Patch (RFC 7396): null removes a key, an object is merged, any other value '
  + `replaces the old one. The result has at most ${JSON_BYTES / 1024} KiB. Exclusive with \`metadata\`. Defaults to `
  + 'null, for no change.'

const BOUND = 'a number, or a string of at most 200 characters. Defaults to null, for no such bound.'

const MetadataRange = builder.inputType('MetadataRange', {
  description:
    'Bounds of a value: at least one, and all numbers or all strings. A value of another type is outside the range. '
    + 'Strings are compared by code points, so times in one ISO 8601 format and time zone are compared as times.',
  fields: (t) => ({
    gt: t.field({ type: 'JSON', description: `The value is greater than this: ${BOUND}` }),
    gte: t.field({ type: 'JSON', description: `The value is greater than or equal to this: ${BOUND}` }),
    lt: t.field({ type: 'JSON', description: `The value is less than this: ${BOUND}` }),
    lte: t.field({ type: 'JSON', description: `The value is less than or equal to this: ${BOUND}` }),
  }),
})

const MetadataValue = builder.inputType('MetadataValue', {
  description: 'Condition on one value of the metadata: exactly one operator.',
  isOneOf: true,
  fields: (t) => ({
    equals: t.field({
      type: 'JSON',
      description:
        `The value equals this JSON value, nested at most ${JSON_DEPTH} levels deep. The number 1 and the string "1" differ. `
        + 'Use `in: [null]` to find null.',
    }),
    contains: t.field({
      type: 'JSON',
      description:
        'The value contains this JSON value: an object contains an object if it has all its keys with values that '
        + 'contain the given ones; an array contains an array if it contains each of its items, in any order, and a '
        + 'string, number or boolean that is one of its items; other values contain only equal ones.',
    }),
    exists: t.boolean({ description: 'Whether there is a value, which may be null.' }),
    in: t.field({
      type: t.listRef('JSON', { required: false }),
      description: `The value equals one of these JSON values, at most ${METADATA_VALUES}. An empty list matches none.`,
    }),
    range: t.field({ type: MetadataRange, description: 'The value is a number or a string between bounds.' }),
  }),
})

export const MetadataFilter = builder.inputType('MetadataFilter', {
  description:
    'Condition on application-defined metadata, such as `{ path: ["plan", "tier"], value: { equals: "pro" } }`.',
  fields: (t) => ({
    path: t.stringList({
      defaultValue: [],
      description:
        `Keys of nested objects that lead to the value: at most ${METADATA_PATH_KEYS} keys of at most 200 characters. `
        + 'A key never selects an item of an array. Defaults to an empty list, which selects the metadata as a whole.',
    }),
    value: t.field({ type: MetadataValue, required: true, description: 'Condition that the value must meet.' }),
  }),
})

/** The limits of every such filter, as text for descriptions. */
export const METADATA_FILTER_LIMITS =
  `All conditions must be met; at most ${METADATA_CONDITIONS}, with at most ${METADATA_FILTER_BYTES / 1024} KiB of JSON `
  + 'together. Null and an empty list match all metadata.'
