// The effective settings of the process, and the source of each. Secrets are masked.

import { variables } from './config.ts'
import { fileVariable, isSecret, readSecretFiles } from './secret-files.ts'
import { layer, type SettingsFile } from './settings-file.ts'

export type Setting = {
  name: string
  /** The effective value as text; null for a setting that is not set and has no default. */
  value: string | null
  source: 'environment' | 'file' | 'default' | 'unset'
  /** Path of the file that the value was read from; null for other sources. */
  file: string | null
}

const MASK = '***'

/** Returns the value without secrets: a URL without its password, and nothing of a key. */
function masked(name: string, value: string): string {
  if (!isSecret(name)) return value
  if (!name.endsWith('_URL') || !URL.canParse(value)) return MASK
  const url = new URL(value)
  if (url.password !== '') url.password = MASK
  if (url.searchParams.has('password')) url.searchParams.set('password', MASK)
  return url.href
}

/** Returns every setting, in the order of docs/configuration.md. An empty variable counts as unset. */
export function readSettings(
  env: Record<string, string | undefined> = process.env,
  settingsFile: SettingsFile | null = null,
): Setting[] {
  const names = variables.map(({ name }) => name)
  const layered = layer(env, settingsFile, names)
  const { env: values } = readSecretFiles(layered.env, names)
  return variables.map(({ name, default: initial }) => {
    const value = values[name]
    if (!value) return { name, value: initial ?? null, source: initial === undefined ? 'unset' : 'default', file: null }
    const isDirect = Boolean(layered.env[name])
    const isFromFile = layered.fromFile.has(name)
    const file = isFromFile ? settingsFile!.path : isDirect ? null : layered.env[fileVariable(name)]!
    return { name, value: masked(name, value), source: file === null ? 'environment' : 'file', file }
  })
}
