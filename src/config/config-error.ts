// The error for settings that are wrong, in the environment or in the settings file.

/** Thrown if settings are invalid; lists all of them. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** One line per problem, for example `PORT is "x": must be a whole number from 0 to 65535`. */
  readonly problems: string[]
  constructor(problems: string[]) {
    super(['The settings are invalid:', ...problems].join('\n  '))
    this.problems = problems
  }
}
