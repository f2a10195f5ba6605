// The defaults of the command line's options, and what its terminal can do, from the environment.

/** Returns the defaults of --url and --token. An empty variable counts as unset. */
export const commandDefaults = (
  env: Record<string, string | undefined> = process.env,
): { url: string | undefined; token: string | undefined } => ({
  url: env.COLLOQUY_URL || undefined,
  token: env.COLLOQUY_TOKEN || undefined,
})

type Environment = Record<string, string | undefined>

/** Whether the terminal can move its cursor. */
export const hasCursor = (env: Environment = process.env): boolean => env.TERM !== 'dumb'

/** Whether a terminal may show colours (https://no-color.org). */
export const isColoured = (env: Environment = process.env): boolean => !env.NO_COLOR
