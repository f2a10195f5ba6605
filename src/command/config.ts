// The command `colloquy config`: prints the effective settings of the server, and the source of each.

import type { Setting } from '../config/settings.ts'
import { nearest } from '../text/nearest.ts'
import { columns, type Result } from './output.ts'

const sourceOf = ({ source, file }: Setting) => (file === null ? source : `${source} ${file}`)

/** Returns the settings with these names, or all settings; or the message about the first unknown name. */
export function selectSettings(settings: readonly Setting[], names: readonly string[]): Result | { unknown: string } {
  const known = new Map(settings.map((setting) => [setting.name, setting]))
  const unknown = names.find((name) => !known.has(name))
  if (unknown !== undefined) {
    const similar = nearest(unknown, known.keys())
    return { unknown: `There is no setting ${unknown}.${similar ? ` Did you mean ${similar}?` : ''}` }
  }
  const selected = names.length > 0 ? names.map((name) => known.get(name)!) : settings
  const rows = selected.map((setting) => [setting.name, setting.value ?? '', sourceOf(setting)])
  return { json: selected, lines: columns([['NAME', 'VALUE', 'SOURCE'], ...rows]) }
}
