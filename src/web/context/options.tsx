// The form with the settings of a context.

import type { ContextStrategy, RecallScope } from '../../client/index.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { BudgetField } from './budget-field.tsx'
import { SCOPES, STRATEGIES, takesQuery, type Settings } from './settings.ts'

type Changing = { settings: Settings; onChange(changes: Partial<Settings>): void }

function ParticipantField({ settings: { actor }, onChange }: Changing) {
  const { viewer, mayViewAs } = useSession()
  const { present, nameOf, isAgent } = useOpenConversation()
  const names = [...new Set([...present.map((each) => each.actor), actor])]
  return (
    <label className="field">
      Participant that answers
      <select value={actor} onChange={({ target }) => onChange({ actor: target.value })} disabled={!mayViewAs}>
        {names.map((name) => (
          <option key={name} value={name}>
            {nameOf(name)}
            {isAgent(name) ? ' (agent)' : name === viewer.actor ? ' (you)' : ''}
          </option>
        ))}
      </select>
      {!mayViewAs && <span className="hint">Seeing the context of another participant needs the right act-as.</span>}
    </label>
  )
}

function Memory({ settings, onChange }: Changing) {
  const { viewer } = useSession()
  const mayManage = viewer.rights.includes('MANAGE')
  return (
    <fieldset>
      <legend>Memory to include</legend>
      <label className="check">
        <input
          type="checkbox"
          checked={settings.facts}
          onChange={({ target }) => onChange({ facts: target.checked })}
        />
        Facts
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={settings.profiles}
          onChange={({ target }) => onChange({ profiles: target.checked })}
        />
        Profiles
      </label>
      <label className="field">
        Recalled turns
        <select
          value={settings.recall ?? ''}
          onChange={({ target }) => onChange({ recall: (target.value || null) as RecallScope | null })}
        >
          <option value="">None</option>
          {(Object.keys(SCOPES) as RecallScope[]).map((scope) => (
            <option key={scope} value={scope} disabled={scope === 'TENANT' && !mayManage}>
              From {SCOPES[scope]}
              {scope === 'TENANT' && !mayManage ? ' (needs the right manage)' : ''}
            </option>
          ))}
        </select>
      </label>
    </fieldset>
  )
}

export function Options({ settings, onChange }: Changing) {
  const hasQuery = takesQuery(settings)
  return (
    <form className="context-options" onSubmit={(event) => event.preventDefault()}>
      <ParticipantField settings={settings} onChange={onChange} />
      <BudgetField budget={settings.budget} onChange={(budget) => onChange({ budget })} />
      <details>
        <summary>Options</summary>
        <div className="stack">
          <label className="field">
            Strategy
            <select
              value={settings.strategy ?? ''}
              onChange={({ target }) => onChange({ strategy: (target.value || null) as ContextStrategy | null })}
            >
              <option value="">Default of the tenant</option>
              {(Object.keys(STRATEGIES) as ContextStrategy[]).map((strategy) => (
                <option key={strategy} value={strategy}>
                  {STRATEGIES[strategy]}
                </option>
              ))}
            </select>
          </label>
          <Memory settings={settings} onChange={onChange} />
          <label className="field">
            Query for facts and recalled turns
            <input
              dir="auto"
              maxLength={10_000}
              value={settings.query}
              disabled={!hasQuery}
              placeholder="The newest turn of a person"
              onChange={({ target }) => onChange({ query: target.value })}
            />
            {!hasQuery && <span className="hint">A query needs facts or recalled turns.</span>}
          </label>
        </div>
      </details>
    </form>
  )
}
