// Reads the settings file, and puts the environment on top of it. The file has the names of the environment variables:
// a JSON object, or the default export of a module. Its values become texts, which the schema in config.ts parses like
// those of the environment. Defines the error for invalid settings, in the file or in the environment.

import { existsSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { types } from 'node:util'
import { nearest } from '../text/nearest.ts'
import { fileVariable, isSecret } from './secret-files.ts'

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

/** Names of the file in the working directory. At most one of them may exist. */
const SETTINGS_FILES = [
  'colloquy.config.json',
  'colloquy.config.js',
  'colloquy.config.mjs',
  'colloquy.config.ts',
] as const
/** Variable with the path of the file, in place of a file in the working directory. */
const SETTINGS_FILE_VARIABLE = 'COLLOQUY_CONFIG'
/** Maximum size of a JSON file, in bytes. */
const MAX_BYTES = 1024 * 1024

type Environment = Record<string, string | undefined>

/** The settings file. `path` is its name in messages: relative to the working directory, or as the variable gives it. */
export type SettingsFile = { path: string; values: Readonly<Record<string, unknown>> }

/** Returns the path of the file as messages name it; null if there is none. @throws ConfigError */
function findFile(env: Environment, directory: string): string | null {
  const given = env[SETTINGS_FILE_VARIABLE]
  if (given) return given
  const found = SETTINGS_FILES.filter((name) => existsSync(join(directory, name)))
  if (found.length > 1) {
    const problem = `${found.join(' and ')} exist: keep one of them, or name it in ${SETTINGS_FILE_VARIABLE}`
    throw new ConfigError([problem])
  }
  return found[0] ?? null
}

/** @throws Error with a message that follows the name of the file */
function parseJson(path: string): unknown {
  if (statSync(path).size > MAX_BYTES) throw new Error(`must have at most ${MAX_BYTES} bytes`)
  const text = readFileSync(path, 'utf8')
  try {
    return JSON.parse(text)
  } catch (error) {
    // The message is not repeated, because it may quote a secret.
    const [, position] = /position (\d+)/.exec((error as Error).message) ?? []
    const line = position === undefined ? '' : ` (line ${text.slice(0, Number(position)).split('\n').length})`
    throw new Error(`is not JSON${line}`, { cause: error })
  }
}

const require = createRequire(import.meta.url)

/** Whether this process can load TypeScript: by Node itself, or by a loader such as tsx. */
const loadsTypeScript = (): boolean =>
  Boolean('typescript' in process.features && process.features.typescript) || '.ts' in require.extensions

/**
 * Returns the default export of the module. Every supported Node loads ES modules by `require`, except those with
 * top-level await. `require` works in the bundle of the command too, in which Node supports no `import()`.
 * @throws Error with a message that follows the name of the file
 */
function loadModule(path: string): unknown {
  statSync(path)
  if (path.endsWith('.ts') && !loadsTypeScript()) {
    const version = process.versions.node
    throw new Error(`needs Node 22.18 or later, and this is Node ${version}; use a .mjs file or JSON`)
  }
  try {
    const loaded = require(path) as { default?: unknown; __esModule?: unknown }
    return types.isModuleNamespaceObject(loaded) || loaded.__esModule ? loaded.default : loaded
  } catch (error) {
    throw new Error(`cannot be loaded: ${(error as Error).message.split('\n')[0]}`, { cause: error })
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Reads the settings file that COLLOQUY_CONFIG names, or the one in the directory. Returns null if there is none. A
 * TypeScript file needs a Node that removes types: 22.18 or later, or one with a loader such as tsx.
 * @throws ConfigError if the file cannot be read, or contains no object
 */
export function readSettingsFile(
  env: Environment = process.env,
  directory: string = process.cwd(),
): SettingsFile | null {
  const path = findFile(env, directory)
  if (path === null) return null
  const absolute = resolve(directory, path)
  try {
    const values = path.endsWith('.json') ? parseJson(absolute) : loadModule(absolute)
    if (isObject(values)) return { path, values }
    throw new Error(path.endsWith('.json') ? 'must contain an object' : 'must export an object as its default')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new ConfigError([`${path} ${code ? `cannot be read (${code})` : message}`])
  }
}

/** Returns the value as the text of a variable; undefined for a value of another type. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value.join(',') : undefined
}

/** The environment on top of the file. */
export type Layered = {
  /** The environment, with the settings of the file that it does not set. */
  env: Environment
  /** Names of the variables in `env` that come from the file. */
  fromFile: ReadonlySet<string>
  /** One line for each unknown name, and each value of a wrong type. */
  problems: string[]
}

/**
 * Puts the environment on top of the file. An empty variable of the environment counts as unset, and so does null in the
 * file. A secret that the environment sets, directly or by the path of its file, replaces both forms of it in the file.
 * @param names names of all settings
 */
export function layer(env: Environment, file: SettingsFile | null, names: readonly string[]): Layered {
  const values = { ...env }
  const fromFile = new Set<string>()
  const problems: string[] = []
  if (!file) return { env: values, fromFile, problems }
  const formsOf = new Map<string, string[]>()
  for (const name of names) {
    const forms = isSecret(name) ? [name, fileVariable(name)] : [name]
    for (const form of forms) formsOf.set(form, forms)
  }
  for (const [name, value] of Object.entries(file.values)) {
    const forms = formsOf.get(name)
    if (!forms) {
      const similar = nearest(name, formsOf.keys())
      problems.push(`${name} in ${file.path}: is not a setting${similar ? `; did you mean ${similar}?` : ''}`)
      continue
    }
    if (value === null || value === undefined || forms.some((form) => env[form])) continue
    const text = textOf(value)
    if (text === undefined) {
      problems.push(`${name} in ${file.path}: must be a string, a number, a boolean or a list of strings`)
    } else if (text !== '') {
      values[name] = text
      fromFile.add(name)
    }
  }
  return { env: values, fromFile, problems }
}
