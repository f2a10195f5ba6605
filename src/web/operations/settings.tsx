// The settings of the tenant: those that apply, and a form that changes them.

import { useState, type FormEvent } from 'react'
import { useAction, useLoad } from '../kit/load.ts'
import { Empty, Failure, Notice } from '../kit/notice.tsx'
import { call } from '../kit/result.ts'
import { formatNumber } from '../kit/text.ts'
import { useKept } from '../session/kept.ts'
import { Needs } from '../session/needs.tsx'
import { useSession } from '../session/session.tsx'
import { READ_SETTINGS, UPDATE_SETTINGS, type Settings as Stored } from './requests.ts'
import {
  changesOf,
  durationIn,
  durationText,
  FIELDS,
  problemOf,
  UNIT_NAMES,
  valuesOf,
  type Field,
  type Values,
} from './settings-form.ts'
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

type Editing = { field: Field; value: string; onChange(value: string): void }

/** A duration as a number and a unit. */
function Duration({ field, value, onChange }: Editing) {
  const given = durationIn(value)
  // An empty duration has no unit, so the chosen one is remembered.
  const [chosen, setChosen] = useState(given.unit)
  const unit = value === '' ? chosen : given.unit
  return (
    <span className="row">
      <input
        inputMode="numeric"
        value={given.number}
        placeholder={field.none}
        aria-label={`${field.label}, number`}
        onChange={({ target }) => onChange(durationText(target.value, unit))}
      />
      <select
        aria-label={`${field.label}, unit`}
        value={unit}
        onChange={({ target }) => {
          setChosen(target.value)
          onChange(durationText(given.number, target.value))
        }}
      >
        {UNIT_NAMES.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </span>
  )
}

function Control({ field, value, onChange }: Editing) {
  if (field.kind === 'duration') return <Duration field={field} value={value} onChange={onChange} />
  // Not an input of numbers: its value is empty while the text is no number, and an empty value removes the setting.
  if (field.kind === 'number') {
    const mode = field.step === 1 ? 'numeric' : 'decimal'
    return (
      <input
        inputMode={mode}
        value={value}
        placeholder={field.none}
        onChange={(event) => onChange(event.target.value)}
      />
    )
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
  // Only what the person has changed, so that the other fields show what the server returns next.
  const [{ edited }, change] = useKept<{ edited: Partial<Values> }>('settings', { edited: {} })
  const [isSaved, setSaved] = useState(false)
  const values = { ...valuesOf(settings), ...edited }
  const changes = changesOf(settings, values)
  const hasProblem = FIELDS.some((field) => problemOf(field, values[field.name]) !== null)
  const action = useAction(async () => {
    const { tenantSettings } = await call<{ tenantSettings: Stored }>(client, {
      document: UPDATE_SETTINGS,
      input: changes,
    })
    change({ edited: {} })
    setSaved(true)
    onSaved(tenantSettings)
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void action.run()
  }
  return (
    <form className="stack" onSubmit={submit}>
      {FIELDS.map((field) => (
        <SettingRow
          key={field.name}
          problem={problemOf(field, values[field.name])}
          field={field}
          settings={settings}
          value={values[field.name]}
          onChange={(value) => {
            setSaved(false)
            change({ edited: { ...edited, [field.name]: value } })
          }}
        />
      ))}
      <Failure error={action.error} />
      {isSaved && <Notice kind="success">Saved. New calls and new conversations use these settings.</Notice>}
      <div className="row">
        <button
          type="submit"
          className="primary"
          disabled={Object.keys(changes).length === 0 || hasProblem || action.isRunning}
        >
          {action.isRunning ? 'Saving …' : 'Save'}
        </button>
        <button type="button" disabled={Object.keys(edited).length === 0} onClick={() => change({ edited: {} })}>
          Undo the changes
        </button>
      </div>
    </form>
  )
}

function Editor() {
  const { client, viewer } = useSession()
  const { value, error, reload, put } = useLoad(
    (signal) => call<Stored>(client, { document: READ_SETTINGS }, { signal }),
    'settings',
  )
  return (
    <div className="stack">
      <h3>
        Settings of the tenant <span dir="auto">{viewer.tenant}</span>
      </h3>
      <p className="hint">An empty field uses the server setting; an empty quota means no quota.</p>
      <Failure error={error} onRetry={reload} />
      {!value && !error && <Empty>Loading …</Empty>}
      {value && <Form settings={value} onSaved={put} />}
    </div>
  )
}

export const Settings = () => (
  <Needs right="OPERATE" purpose="see and change the settings of the tenant">
    <Editor />
  </Needs>
)
