// Checks the arguments of tool calls against their JSON Schemas. Both are untrusted input: a schema may contain a slow
// regular expression, or references whose number grows exponentially. So each check has a time limit.

import { createContext, runInContext } from 'node:vm'
import { Validator, type Schema } from '@cfworker/json-schema'

/** Time limit of one check, ms. */
const CHECK_MS = 500
/** Maximum length of a problem, in UTF-16 units. */
const MAX_PROBLEM = 500

const sandbox = createContext({ work: null as unknown })

/** Number of attempts of a check for which the process got no processor time. */
const ATTEMPTS = 3

const isTimeout = (error: unknown) => (error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'

/**
 * Runs synchronous work; throws after CHECK_MS. Only the time limit of the sandbox is used: V8 interrupts the work. The
 * limit counts the time for which a busy machine does not run the process, so work that used less than half of it as
 * processor time is tried again.
 */
function limited<T>(work: () => T): T {
  for (let attempt = 1; ; attempt++) {
    const before = process.cpuUsage()
    sandbox.work = work
    try {
      return runInContext('work()', sandbox, { timeout: CHECK_MS }) as T
    } catch (error) {
      const { user, system } = process.cpuUsage(before)
      const hasWaited = isTimeout(error) && (user + system) / 1000 < CHECK_MS / 2
      if (!hasWaited || attempt === ATTEMPTS) throw error
    } finally {
      sandbox.work = null
    }
  }
}

/** Returns the reason that the value does not match the schema, as a text for the model; null if the value matches. */
export function problemOf(schema: Record<string, unknown>, value: unknown): string | null {
  const draft = typeof schema.$schema === 'string' && /draft-0?[47]/.test(schema.$schema) ? '7' : '2020-12'
  try {
    const { valid, errors } = limited(() => new Validator(schema as Schema, draft).validate(value))
    if (valid) return null
    const { instanceLocation, error } = errors.at(-1)!
    return `${instanceLocation}: ${error}`.slice(0, MAX_PROBLEM)
  } catch {
    return 'The arguments cannot be checked against the schema of the tool.'
  }
}
