// Reads secrets from files, as Docker and Kubernetes provide them: NAME_FILE is the path of a file that contains the
// value of NAME.

import { readFileSync } from 'node:fs'

/**
 * Whether the variable may contain a secret: a key, a secret, or a URL with a password. Errors do not quote the value
 * of such a variable, and the value may be read from a file.
 */
export const isSecret = (name: string): boolean => /_(URL|KEY|SECRET)$/.test(name)

/** Returns the name of the variable that contains the path of a secret's file. */
export const fileVariable = (name: string): string => `${name}_FILE`

type Environment = Record<string, string | undefined>

/** Reads a secret and trims white space. @throws Error with a message that follows "NAME_FILE is PATH:" */
function readSecret(path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new Error(`cannot be read (${(error as NodeJS.ErrnoException).code})`, { cause: error })
  }
  if (text === '') throw new Error('must not be empty')
  return text
}

/**
 * Returns the environment with the secrets read from their files, and, by variable name, a problem for each secret that
 * cannot be read or is also set directly. An empty variable counts as unset.
 * @param names names of all settings; only secrets (`isSecret`) may be read from files
 */
export function readSecretFiles(
  env: Environment,
  names: readonly string[],
): { env: Environment; problems: Map<string, string> } {
  const values = { ...env }
  const problems = new Map<string, string>()
  for (const name of names.filter(isSecret)) {
    const file = fileVariable(name)
    const path = env[file]
    if (!path) continue
    if (env[name]) {
      problems.set(name, `${file}: ${name} is set too; unset one of them`)
      continue
    }
    try {
      values[name] = readSecret(path)
    } catch (error) {
      problems.set(name, `${file} is ${JSON.stringify(path)}: ${(error as Error).message}`)
    }
  }
  return { env: values, problems }
}
