// Returns the validation errors of environment variables, for the tests of single settings.

import { loadConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/settings-file.ts'

/** The messages of the ConfigError; empty if the environment is valid. */
export function problemsOf(env: Record<string, string>): string[] {
  try {
    loadConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}
