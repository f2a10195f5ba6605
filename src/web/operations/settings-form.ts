// The form of the tenant's settings: its fields with their limits, and the changes that it makes.

import { STRATEGIES } from '../context/settings.ts'
import { formatNumber } from '../kit/text.ts'
import type { Settings } from './requests.ts'
import { RETENTIONS, UNITS } from './words.ts'

type SettingName =
  | 'redact'
  | 'retention'
  | 'ttlSeconds'
  | 'contextStrategy'
  | 'tokenBudget'
  | 'recallHits'
  | 'recallThreshold'
  | 'tokensPerDay'

/**
 * The values of the form as the person typed them; '' for the setting of the server. A duration has a unit: `2 days`.
 */
export type Values = Record<SettingName, string>

export type Field = { name: SettingName; label: string; hint: string; none: string } & (
  | { kind: 'choice'; options: Record<string, string> }
  | { kind: 'number'; min: number; max: number; step: number }
  | { kind: 'duration'; min: number; max: number }
)

const MAX_INT = 2_147_483_647
const SERVER = 'Server setting'

export const FIELDS: readonly Field[] = [
  {
    name: 'redact',
    kind: 'choice',
    label: 'Redaction of personal data',
    hint: 'Cannot be weaker than the setting of the server. Applies to what is written from now on.',
    none: SERVER,
    options: { OFF: 'Nothing', FACTS: 'Facts', TURNS: 'Facts, turns, metadata, titles and names' },
  },
  {
    name: 'retention',
    kind: 'choice',
    label: 'Content of new conversations',
    hint: 'Keeping only a hash needs the server setting INTEGRITY_KEY.',
    none: 'Restore the server setting',
    options: RETENTIONS,
  },
  {
    name: 'ttlSeconds',
    kind: 'duration',
    label: 'New conversations are deleted after',
    hint: 'After their creation.',
    none: SERVER,
    min: 1,
    max: MAX_INT,
  },
  {
    name: 'contextStrategy',
    kind: 'choice',
    label: 'Strategy of contexts and runs',
    hint: '',
    none: SERVER,
    options: STRATEGIES,
  },
  {
    name: 'tokenBudget',
    kind: 'number',
    label: 'Token budget of contexts and runs',
    hint: '',
    none: SERVER,
    min: 1,
    max: 2_000_000,
    step: 1,
  },
  { name: 'recallHits', kind: 'number', label: 'Hits of recall', hint: '', none: SERVER, min: 1, max: 100, step: 1 },
  {
    name: 'recallThreshold',
    kind: 'number',
    label: 'Recall threshold: minimum relevance of a hit',
    hint: '',
    none: SERVER,
    min: 0,
    max: 1,
    step: 0.01,
  },
  {
    name: 'tokensPerDay',
    kind: 'number',
    label: 'Tokens that all runs may use in one day (UTC)',
    hint: 'At 0, no run starts.',
    none: 'No quota',
    min: 0,
    max: MAX_INT,
    step: 1,
  },
]

/** The names of the units of a duration, largest first. */
export const UNIT_NAMES = UNITS.map(([, name]) => `${name}s`)

/** Returns the number and the unit of a duration. */
export function durationIn(text: string): { number: string; unit: string } {
  const unit = UNIT_NAMES.find((name) => text.endsWith(` ${name}`))
  return unit === undefined ? { number: text, unit: UNIT_NAMES[0]! } : { number: text.slice(0, -unit.length - 1), unit }
}

/** Returns the text of a duration; '' for none. */
export const durationText = (number: string, unit: string): string => (number === '' ? '' : `${number} ${unit}`)

/** Returns the duration in the largest unit in which it is a whole number. */
function durationTextOf(seconds: number): string {
  const [size, name] = UNITS.find(([each]) => seconds % each === 0) ?? UNITS.at(-1)!
  return durationText(String(seconds / size), `${name}s`)
}

/** Returns the value that the text of a field means; null for the setting of the server, NaN for no number. */
function valueOf(field: Field, typed: string): string | number | null {
  const text = typed.trim()
  if (text === '') return null
  if (field.kind === 'choice') return text
  if (field.kind === 'number') return Number(text)
  const { number, unit } = durationIn(text)
  return number.trim() === '' ? NaN : Number(number) * UNITS[UNIT_NAMES.indexOf(unit)]![0]
}

/** Returns the values of the form for the settings. */
export const valuesOf = (settings: Settings): Values =>
  Object.fromEntries(
    FIELDS.map(({ name, kind }) => {
      const value = settings[name]
      return [name, value === null ? '' : kind === 'duration' ? durationTextOf(Number(value)) : String(value)]
    }),
  ) as Values

/** Returns the fields of the input that the form changes: only these, so that a concurrent change of others is kept. */
export const changesOf = (settings: Settings, values: Values): Record<string, string | number | null> =>
  Object.fromEntries(
    FIELDS.map((field) => [field.name, valueOf(field, values[field.name])] as const).filter(
      ([name, value]) => value !== settings[name],
    ),
  )

/** Returns why a value cannot be sent, in words; null if it can. */
export function problemOf(field: Field, text: string): string | null {
  const value = valueOf(field, text)
  if (field.kind === 'choice' || typeof value !== 'number') return null
  const isWhole = field.kind === 'duration' || field.step === 1
  if (!Number.isFinite(value) || (isWhole && !Number.isInteger(value)))
    return `${field.label}: ${isWhole ? 'a whole number' : 'a number'} is needed.`
  if (value >= field.min && value <= field.max) return null
  const limits = `from ${formatNumber(field.min)} to ${formatNumber(field.max)}`
  return `${field.label}: ${limits}${field.kind === 'duration' ? ' seconds' : ''}.`
}
