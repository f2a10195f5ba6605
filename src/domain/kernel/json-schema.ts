// JSON Schemas as input, and checks of values against them: the arguments of tool calls, and shared state. Both are
// untrusted input: a schema may contain a slow regular expression, or references whose number grows exponentially. So
// each check has a time limit.

import { createContext, runInContext } from 'node:vm'
import { Validator, type Schema } from '@cfworker/json-schema'
import { z } from 'zod'
import { json, JSON_BYTES } from './input.ts'

/** A JSON Schema of at most JSON_BYTES bytes. */
export const jsonSchema = json.pipe(
  z.unknown().superRefine((value, context) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      return context.addIssue({ code: 'custom', message: 'must be a JSON Schema: a JSON object' })
    }
    if (Buffer.byteLength(JSON.stringify(value)) > JSON_BYTES) {
      context.addIssue({ code: 'custom', message: `must be at most ${JSON_BYTES} bytes of JSON` })
    }
  }),
) as unknown as z.ZodType<Record<string, unknown>>

/** Default time limit of one check, ms. */
const CHECK_MS = 500
/** Maximum length of a problem, in UTF-16 units. */
const MAX_PROBLEM = 500

const sandbox = createContext({ work: null as unknown })

/** Number of attempts of a check for which the process got no processor time. */
const ATTEMPTS = 3

const isTimeout = (error: unknown) => (error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'

/**
 * Runs synchronous work; throws after `limitMs`. Only the time limit of the sandbox is used: V8 interrupts the work. The
 * limit counts the time for which a busy machine does not run the process, so work that used less than half of it as
 * processor time is tried again.
 */
function limited<T>(work: () => T, limitMs: number): T {
  for (let attempt = 1; ; attempt++) {
    const before = process.cpuUsage()
    sandbox.work = work
    try {
      return runInContext('work()', sandbox, { timeout: limitMs }) as T
    } catch (error) {
      const { user, system } = process.cpuUsage(before)
      const hasWaited = isTimeout(error) && (user + system) / 1000 < limitMs / 2
      if (!hasWaited || attempt === ATTEMPTS) throw error
    } finally {
      sandbox.work = null
    }
  }
}

/** Why a value does not match a schema, or why the check failed, as a text for people and models. */
export type SchemaProblem = { isOf: 'value' | 'schema'; reason: string }

/** Returns why the value does not match the schema, or why it cannot be checked; null if it matches. */
export function problemOf(schema: Record<string, unknown>, value: unknown, limitMs = CHECK_MS): SchemaProblem | null {
  const draft = typeof schema.$schema === 'string' && /draft-0?[47]/.test(schema.$schema) ? '7' : '2020-12'
  try {
    const { valid, errors } = limited(() => new Validator(schema as Schema, draft).validate(value), limitMs)
    if (valid) return null
    const { instanceLocation, error } = errors.at(-1)!
    return { isOf: 'value', reason: `${instanceLocation}: ${error}`.slice(0, MAX_PROBLEM) }
  } catch (error) {
    const reason = isTimeout(error) ? `checking the value takes longer than ${limitMs} ms` : (error as Error).message
    return { isOf: 'schema', reason: reason.slice(0, MAX_PROBLEM) }
  }
}
