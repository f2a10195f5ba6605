// Validation errors of an environment, for the tests of its parts.

import { ConfigError, loadConfig } from '../../src/config/config.ts'

/** Empty if the environment is valid. */
export function problemsOf(env: Record<string, string>): string[] {
  try {
    loadConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}
