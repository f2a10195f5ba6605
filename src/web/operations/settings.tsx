// The settings of the tenant: those that apply, and a form that changes them.

import { useState, type FormEvent } from 'react'
import { useAction, useLoad } from '../kit/load.ts'
import { Empty, Failure, Notice } from '../kit/notice.tsx'
import { formatNumber } from '../kit/text.ts'
import { Needs } from '../session/needs.tsx'
import { useSession } from '../session/session.tsx'
import { mutate, READ_SETTINGS, UPDATE_SETTINGS, type Settings as Stored } from './requests.ts'
import { changesOf, FIELDS, problemOf, unitOf, UNITS, valuesOf, type Field, type Unit } from './settings-form.ts'
import { durationOf } from './words.ts'

/** Returns the value that applies, in words; null if the form shows it anyway. */
function inEffect(settings: Stored, field: Field): string | null {
  const { defaultsInEffect: defaults } = settings
  if (field.name === 'tokensPerDay') return null
  const value = field.name === 'redact' ? settings.redactInEffect : defaults[field.name]
  if (value === null) return field.name === 'recallHits' ? '10, and 5 in a context' : 'never'
  if (field.kind === 'choice') return field.options[value] ?? String(value)
  return field.kind === 'duration' ? durationOf(Number(value)) : formatNumber(value)
}

/** A duration as a number and a unit. `value`: in seconds; '' for none. */
function Duration({ field, value, onChange }: { field: Field; value: string; onChange(seconds: string): void }) {
  const [unit, setUnit] = useState<Unit>(unitOf(value))
  const shown = value === '' ? '' : String(Number(value) / UNITS[unit])
  const change = (number: string, next: Unit) => onChange(number === '' ? '' : String(Number(number) * UNITS[next]))
  return (
    <span className="row">
      <input
        type="number"
        min={0}
        step="any"
        value={shown}
        placeholder={field.none}
        aria-label={`${field.label}, number`}
        onChange={(event) => change(event.target.value, unit)}
      />
      <select
        aria-label={`${field.label}, unit`}
        value={unit}
        onChange={(event) => {
          setUnit(event.target.value as Unit)
          change(shown, event.target.value as Unit)
        }}
      >
        {Object.keys(UNITS).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </span>
  )
}

type Editing = { field: Field; value: string; onChange(value: string): void }

function Control({ field, value, onChange }: Editing) {
  if (field.kind === 'duration') return <Duration field={field} value={value} onChange={onChange} />
  if (field.kind === 'number') {
    const { min, max, step, none } = field
    const limits = { min, max, step, placeholder: none }
    return <input type="number" {...limits} value={value} onChange={(event) => onChange(event.target.value)} />
  }
  return (
    <select value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">{field.none}</option>
      {Object.entries(field.options).map(([name, words]) => (
        <option key={name} value={name}>
          {words}
        </option>
      ))}
    </select>
  )
}

function SettingRow({ settings, problem, ...editing }: Editing & { settings: Stored; problem: string | null }) {
  const { field } = editing
  const effect = inEffect(settings, field)
  const hint = [field.hint, effect !== null && `In effect: ${effect}.`].filter(Boolean).join(' ')
  const parts = (
    <>
      {field.label}
      <Control {...editing} />
      {hint !== '' && <span className="hint">{hint}</span>}
    </>
  )
  // A duration has two controls, each with a label of its own.
  return (
    <div>
      {field.kind === 'duration' ? <div className="field">{parts}</div> : <label className="field">{parts}</label>}
      <Failure error={problem} />
    </div>
  )
}

function Form({ settings, onSaved }: { settings: Stored; onSaved(settings: Stored): void }) {
  const { client } = useSession()
  const [values, setValues] = useState(() => valuesOf(settings))
  const [isSaved, setSaved] = useState(false)
  const changes = changesOf(settings, values)
  const hasProblem = FIELDS.some((field) => problemOf(field, values[field.name]) !== null)
  const action = useAction(async () => {
    const input = changes
    const saved = await mutate<{ tenantSettings: Stored }>(client, { document: UPDATE_SETTINGS, input })
    setSaved(true)
    setValues(valuesOf(saved.tenantSettings))
    onSaved(saved.tenantSettings)
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void action.run()
  }
  const hasChanges = Object.keys(changes).length > 0
  return (
    <form className="stack" onSubmit={submit} noValidate>
      {FIELDS.map((field) => (
        <SettingRow
          key={field.name}
          problem={problemOf(field, values[field.name])}
          field={field}
          settings={settings}
          value={values[field.name]}
          onChange={(value) => {
            setSaved(false)
            setValues((before) => ({ ...before, [field.name]: value }))
          }}
        />
      ))}
      <Failure error={action.error} />
      {isSaved && <Notice kind="success">Saved. New calls and new conversations use these settings.</Notice>}
      <div className="row">
        <button type="submit" className="primary" disabled={!hasChanges || hasProblem || action.isRunning}>
          {action.isRunning ? 'Saving …' : 'Save'}
        </button>
        <button type="button" disabled={!hasChanges} onClick={() => setValues(valuesOf(settings))}>
          Undo the changes
        </button>
      </div>
    </form>
  )
}

function Editor() {
  const { client, viewer } = useSession()
  const [saved, setSaved] = useState<Stored | null>(null)
  const { value, error, reload } = useLoad(
    async (signal) => (await client.request<{ tenantSettings: Stored }>(READ_SETTINGS, {}, { signal })).tenantSettings,
    'settings',
  )
  const settings = saved ?? value
  return (
    <div className="stack">
      <h3>
        Settings of the tenant <span dir="auto">{viewer.tenant}</span>
      </h3>
      <p className="hint">An empty field takes the setting of the server.</p>
      <Failure error={error} onRetry={reload} />
      {!settings && !error && <Empty>Loading …</Empty>}
      {settings && <Form settings={settings} onSaved={setSaved} />}
    </div>
  )
}

export const Settings = () => (
  <Needs right="OPERATE" purpose="see and change the settings of the tenant">
    <Editor />
  </Needs>
)
