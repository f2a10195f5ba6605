// The form of the tenant's settings: its fields with their limits, and the changes that it makes.

import { formatNumber } from '../kit/text.ts'
import type { Settings } from './requests.ts'
import { RETENTIONS } from './words.ts'

type SettingName =
  | 'redact'
  | 'retention'
  | 'ttlSeconds'
  | 'contextStrategy'
  | 'tokenBudget'
  | 'recallHits'
  | 'recallThreshold'
  | 'tokensPerDay'

/** The values of the form as text; '' for the setting of the server. */
type Values = Record<SettingName, string>

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
    options: {
      HYBRID: 'Summaries, recent and pinned turns',
      SUMMARIZATION: 'Summaries and recent turns',
      SIMPLE: 'Recent and pinned turns, no summaries',
    },
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
    label: 'Threshold of recall: the least score of a hit',
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

/** Returns the values of the form for the settings. */
export const valuesOf = (settings: Settings): Values =>
  Object.fromEntries(FIELDS.map(({ name }) => [name, String(settings[name] ?? '')])) as Values

const CHOICES = new Set(FIELDS.filter(({ kind }) => kind === 'choice').map(({ name }) => name))

/** Returns the fields of the input that the form changes: only these, so that a concurrent change of others is kept. */
export function changesOf(settings: Settings, values: Values): Record<string, string | number | null> {
  const before = valuesOf(settings)
  const changed = FIELDS.filter(({ name }) => values[name].trim() !== before[name])
  return Object.fromEntries(
    changed.map(({ name }) => {
      const text = values[name].trim()
      return [name, text === '' ? null : CHOICES.has(name) ? text : Number(text)]
    }),
  )
}

/** Returns why a value cannot be sent, in words; null if it can. */
export function problemOf(field: Field, text: string): string | null {
  if (field.kind === 'choice' || text.trim() === '') return null
  const value = Number(text)
  const isWhole = field.kind === 'duration' || field.step === 1
  if (!Number.isFinite(value) || (isWhole && !Number.isInteger(value)))
    return `${field.label}: ${isWhole ? 'a whole number' : 'a number'} is needed.`
  if (value >= field.min && value <= field.max) return null
  const limits = `from ${formatNumber(field.min)} to ${formatNumber(field.max)}`
  return `${field.label}: ${limits}${field.kind === 'duration' ? ' seconds' : ''}.`
}

/** The units of a duration, largest first, in seconds. */
export const UNITS = { days: 86_400, hours: 3_600, minutes: 60, seconds: 1 }
export type Unit = keyof typeof UNITS

/** Returns the largest unit in which the duration is a whole number. */
export const unitOf = (seconds: string): Unit =>
  (Object.keys(UNITS) as Unit[]).find((unit) => seconds !== '' && Number(seconds) % UNITS[unit] === 0) ?? 'days'
