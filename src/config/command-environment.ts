// The environment of the command `colloquy`: NODE_ENV, the defaults of the command line's options, and what its terminal
// can do. bin.ts imports this file first, because graphql reads NODE_ENV on import and, except in production, checks
// every value for a second copy of the library.

process.env.NODE_ENV ??= 'production'

type Environment = Record<string, string | undefined>

/** The defaults of --url and --token. */
type CommandDefaults = {
  /** URL of the server; undefined to run one for the duration of the command. */
  url: string | undefined
  /** Token for that server; undefined for none. */
  token: string | undefined
}

/** Returns the defaults of --url and --token. An empty variable counts as unset. */
export const commandDefaults = (env: Environment = process.env): CommandDefaults => ({
  url: env.COLLOQUY_URL || undefined,
  token: env.COLLOQUY_TOKEN || undefined,
})

/** Whether the terminal can move its cursor. */
export const hasCursor = (env: Environment = process.env): boolean => env.TERM !== 'dumb'

/** Whether a terminal may show colours (https://no-color.org). */
export const isColoured = (env: Environment = process.env): boolean => !env.NO_COLOR
