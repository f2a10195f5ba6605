// The defaults of the command line's options, from the environment.

/** Returns the defaults of --url and --token. An empty variable counts as unset. */
export const commandDefaults = (
  env: Record<string, string | undefined> = process.env,
): { url: string | undefined; token: string | undefined } => ({
  url: env.COLLOQUY_URL || undefined,
  token: env.COLLOQUY_TOKEN || undefined,
})
