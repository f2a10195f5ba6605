// The input of updateSharedState, and the value and the patch that it gives. Pure.

import { z } from 'zod'
import { Conflict, InvalidInput } from '../../../errors.ts'
import { audience, count, id, isTooDeep, json, name, text, TOO_DEEP } from '../../kernel/input.ts'
import { applyPatch, FORBIDDEN_KEY, OPERATIONS, patchBetween, type Operation } from '../../kernel/json-patch.ts'
import { jsonSchema, problemOf } from '../../kernel/json-schema.ts'
import { isJsonObject, mergePatch, plain } from '../../kernel/merge-patch.ts'
import { CHECK_MS, KEPT_PATCHES, MAX_OPERATIONS, PATCH_BYTES, VALUE_BYTES } from './shared-state.ts'

/** Whether an object in the JSON value has the key that a patch must not contain. The value is not nested too deeply. */
function hasForbiddenKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, each]) => key === FORBIDDEN_KEY || hasForbiddenKey(each))
}

const FORBIDDEN = `must not have the key ${FORBIDDEN_KEY}`
const tooLarge = (bytes: number) => `must be at most ${bytes} bytes of JSON`

/** JSON without FORBIDDEN_KEY, of at most `bytes` bytes. */
const stateJson = (bytes: number) =>
  json.pipe(
    z.unknown().superRefine((value, context) => {
      const fail = (message: string) => context.addIssue({ code: 'custom', message })
      if (hasForbiddenKey(value)) fail(FORBIDDEN)
      if (Buffer.byteLength(JSON.stringify(value) ?? '') > bytes) fail(tooLarge(bytes))
    }),
  )

/** Whether each pattern in the schema is a regular expression. A check of a value reaches only some of them. */
function hasValidPatterns(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return true
  return Object.entries(schema).every(([key, value]) => {
    const patterns =
      key === 'pattern' && typeof value === 'string'
        ? [value]
        : key === 'patternProperties'
          ? Object.keys(value ?? {})
          : []
    return patterns.every(isPattern) && hasValidPatterns(value)
  })
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, 'u')
    return true
  } catch {
    return false
  }
}

/** A value of shared state. */
export const stateValue = stateJson(VALUE_BYTES)

const operation = z.object({
  op: z.enum(OPERATIONS, `must be one of ${OPERATIONS.join(', ')}`),
  path: text(PATCH_BYTES),
  from: text(PATCH_BYTES).nullish(),
  value: stateJson(PATCH_BYTES).optional(),
})

const patch = z
  .array(operation)
  .min(1, 'must not be empty')
  .max(MAX_OPERATIONS, `must have at most ${MAX_OPERATIONS} operations`)
  .refine((operations) => Buffer.byteLength(JSON.stringify(operations)) <= PATCH_BYTES, tooLarge(PATCH_BYTES))

const merge = stateJson(VALUE_BYTES).refine(
  isJsonObject,
  'must be a JSON object: give `value` to replace the value by another one',
) as unknown as z.ZodType<Record<string, unknown>>

export const updateSharedStateInput = z
  .object({
    conversationId: id('conversation'),
    key: name,
    patch: patch.nullish(),
    merge: merge.nullish(),
    value: stateValue.optional(),
    schema: jsonSchema.refine(hasValidPatterns, 'has a pattern that is not a regular expression').nullish(),
    audience: audience.nullish(),
    expectedVersion: count.nullish(),
    clientId: name.nullish(),
  })
  .refine(
    ({ patch: operations, merge: changes, value }) =>
      [operations, changes, value].filter((each) => each != null).length <= 1,
    { path: ['value'], message: 'give only one of patch, merge and value' },
  )
  .refine((given) => [given.patch, given.merge, given.value, given.schema].some((each) => each != null), {
    path: ['value'],
    message: 'give one of patch, merge and value. To store null, replace the root by a patch',
  })
export type UpdateSharedStateInput = Omit<z.input<typeof updateSharedStateInput>, 'merge' | 'value'> & {
  merge?: unknown
  value?: unknown
}
export type ParsedUpdate = z.output<typeof updateSharedStateInput>

/** The field that gives the new value. */
const fieldOf = ({ patch: operations, merge: changes }: ParsedUpdate) =>
  operations != null ? 'patch' : changes != null ? 'merge' : 'value'

/** The value as JSON, and the operations that change the earlier value into it; null if they are too large to keep. */
export type NewValue = { value: unknown; printed: string; patch: Operation[] | null }

/** Applies the patch of the input. @throws InvalidInput @throws Conflict if a `test` fails */
function patched(before: unknown, operations: readonly Operation[]): { after: unknown; operations: Operation[] } {
  const result = applyPatch(before, operations, VALUE_BYTES)
  if ('value' in result) return { after: result.value, operations: operations.filter(({ op }) => op !== 'test') }
  const { index, kind, message } = result.fault
  if (kind === 'TEST') throw new Conflict(`patch.${index}: the test failed: ${message}. Read the state again.`)
  throw InvalidInput.at(`patch.${index}`, message)
}

/** Returns the value that the input gives, and its operations. */
function valueAfter(before: unknown, given: ParsedUpdate): { after: unknown; operations: Operation[] } {
  if (given.patch != null) return patched(before, plain(given.patch) as Operation[])
  const after =
    given.merge != null
      ? mergePatch(isJsonObject(before) ? before : {}, plain(given.merge) as Record<string, unknown>)
      : given.value != null
        ? plain(given.value)
        : before
  return { after, operations: patchBetween(before, after, KEPT_PATCHES.bytes) }
}

/**
 * Returns the value after the change. A key that does not exist counts as `{}`; its first operation adds the whole value.
 * @param before the stored value, which is changed; undefined for a key that does not exist
 * @param schema the JSON Schema that the value must match; null for none
 * @throws InvalidInput @throws Conflict if a `test` fails
 */
export function newValue(before: unknown, given: ParsedUpdate, schema: Record<string, unknown> | null): NewValue {
  const isNew = before === undefined
  const { after, operations } = valueAfter(isNew ? {} : before, given)
  const field = fieldOf(given)
  if (isTooDeep(after)) throw InvalidInput.at(field, `the result ${TOO_DEEP}`)
  const printed = JSON.stringify(after)
  if (Buffer.byteLength(printed) > VALUE_BYTES) throw InvalidInput.at(field, `the result ${tooLarge(VALUE_BYTES)}`)
  const problem = schema && problemOf(schema, after, CHECK_MS)
  if (problem?.isOf === 'value') {
    throw InvalidInput.at(field, `the result does not match the schema: ${problem.reason}`)
  }
  if (problem) {
    const message = `the schema cannot be checked: ${problem.reason}`
    throw InvalidInput.at(given.schema ? 'schema' : field, message)
  }
  const kept: Operation[] = isNew ? [{ op: 'add', path: '', value: after }] : operations
  return { value: after, printed, patch: Buffer.byteLength(JSON.stringify(kept)) <= KEPT_PATCHES.bytes ? kept : null }
}
