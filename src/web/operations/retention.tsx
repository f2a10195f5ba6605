// The retention of the open conversation: its content, its expiry, and legal holds.

import { useState, type FormEvent } from 'react'
import { useAction, useLoad } from '../kit/load.ts'
import { Empty, Failure, Notice } from '../kit/notice.tsx'
import { call } from '../kit/result.ts'
import { dateOf, isolated } from '../kit/text.ts'
import { useKept } from '../session/kept.ts'
import { Needs, rightName } from '../session/needs.tsx'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { READ_RETENTION, SET_HOLD, UPDATE_RETENTION, type RetentionSettings } from './requests.ts'
import { localInput, RETENTIONS } from './words.ts'

/** Why the viewer may not change the retention, in words; null if it may. */
function refusalOf(
  { owner, viewerParticipant }: RetentionSettings,
  { actor, rights }: { actor: string; rights: readonly string[] },
): string | null {
  if (!rights.includes('WRITE')) return `To change this, a credential needs the right ${rightName('WRITE')}.`
  const isAdministrator = viewerParticipant?.administrator === true && viewerParticipant.leftAt === null
  if (owner === actor || isAdministrator || rights.includes('MANAGE')) return null
  const right = rightName('MANAGE')
  return `To change this, you must be the owner (${isolated(owner)}) or an administrator, or have the right ${right}.`
}

type Edited = { retention?: string; expiry?: string }

/** `expiry`: in the time zone of the browser; '' for none. */
function Fields({
  retention,
  expiry,
  isDisabled,
  onChange,
}: Required<Edited> & { isDisabled: boolean; onChange(changes: Edited): void }) {
  return (
    <>
      <label className="field">
        Content of turns
        <select
          value={retention}
          disabled={isDisabled}
          onChange={(event) => onChange({ retention: event.target.value })}
        >
          {Object.entries(RETENTIONS).map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
      </label>
      {retention !== 'FULL' && (
        <p className="hint">The content of turns that summaries cover is removed soon after. It cannot be restored.</p>
      )}
      <label className="field">
        Deleted at (empty for never)
        <input
          type="datetime-local"
          value={expiry}
          disabled={isDisabled}
          onChange={(event) => onChange({ expiry: event.target.value })}
        />
      </label>
      {expiry !== '' && Date.parse(expiry) <= Date.now() && (
        <Notice kind="error">This time has passed: the conversation would be deleted within seconds.</Notice>
      )}
    </>
  )
}

/** `onSaved` receives the new settings. */
function Form({
  settings,
  onSaved,
  onConflict,
}: {
  settings: RetentionSettings
  onSaved(settings: RetentionSettings): void
  onConflict(): void
}) {
  const { client, viewer } = useSession()
  // What the person has changed stays when the conversation is read again after a conflict.
  const [{ edited }, change] = useKept<{ edited: Edited }>(`retention ${settings.id}`, { edited: {} })
  const [isSaved, setSaved] = useState(false)
  const storedExpiry = settings.expiresAt === null ? '' : localInput(settings.expiresAt)
  const { retention = settings.retention, expiry = storedExpiry } = edited
  const refusal = refusalOf(settings, viewer)
  const isExpiryChanged = expiry !== storedExpiry
  const isChanged = retention !== settings.retention || isExpiryChanged
  const save = useAction(async () => {
    const expiresAt = expiry === '' ? null : new Date(expiry).toISOString()
    const input = {
      conversationId: settings.id,
      expectedVersion: settings.version,
      ...(retention !== settings.retention && { retention }),
      ...(isExpiryChanged && { expiresAt }),
    }
    const saved = await call<{ conversation: RetentionSettings }>(client, { document: UPDATE_RETENTION, input })
    change({ edited: {} })
    setSaved(true)
    onSaved(saved.conversation)
  })
  const readAgain = () => {
    save.clear()
    onConflict()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void save.run()
  }
  return (
    <form className="card stack" onSubmit={submit}>
      <h3>This conversation</h3>
      <Fields
        retention={retention}
        expiry={expiry}
        isDisabled={refusal !== null}
        onChange={(changes) => change({ edited: { ...edited, ...changes } })}
      />
      {refusal !== null && <Notice>{refusal}</Notice>}
      <Failure error={save.error} />
      {isSaved && !isChanged && <Notice kind="success">Saved.</Notice>}
      {refusal === null && (
        <div className="row">
          <button type="submit" className="primary" disabled={!isChanged || save.isRunning}>
            {save.isRunning ? 'Saving …' : 'Save'}
          </button>
          {save.error !== null && (
            <button type="button" onClick={readAgain}>
              Read it again, and keep my changes
            </button>
          )}
        </div>
      )}
    </form>
  )
}

/** `onChanged` receives the new settings. */
function ConversationHold({
  settings,
  onChanged,
}: {
  settings: RetentionSettings
  onChanged(settings: RetentionSettings): void
}) {
  const { client } = useSession()
  const set = useAction(async () => {
    const input = { conversationId: settings.id, legalHold: !settings.legalHold }
    const { legalHold } = await call<{ legalHold: boolean }>(client, { document: SET_HOLD, input })
    onChanged({ ...settings, legalHold })
  })
  return (
    <section className="card stack">
      <div className="row">
        <h3>Legal hold</h3>
        <span className={`chip ${settings.legalHold ? 'accent' : ''}`}>{settings.legalHold ? 'Held' : 'Not held'}</span>
      </div>
      <p className="hint">
        Under a legal hold, nothing of this conversation is deleted or erased: not by a person, by its expiry or by its
        retention.
      </p>
      <Needs right="OPERATE" purpose="begin or end a legal hold">
        <div className="row">
          <button type="button" onClick={() => void set.run()} disabled={set.isRunning}>
            {settings.legalHold ? 'End the hold' : 'Begin a hold'}
          </button>
        </div>
      </Needs>
      <Failure error={set.error} />
    </section>
  )
}

/** Begins and ends holds of the data of an actor, in all conversations. The API does not tell whether there is one. */
function ActorHold() {
  const { client } = useSession()
  const { present } = useOpenConversation()
  const [userId, setUserId] = useState('')
  const [outcome, setOutcome] = useState<string | null>(null)
  const set = useAction(async (legalHold: boolean) => {
    setOutcome(null)
    const input = { userId: userId.trim(), legalHold }
    const { changed } = await call<{ changed: boolean }>(client, { document: SET_HOLD, input })
    const state = legalHold ? 'is under legal hold' : 'is not under legal hold'
    setOutcome(`The data of ${isolated(userId.trim())} ${state}${changed ? ' now' : ', as before'}.`)
  })
  const submit = (event: FormEvent) => event.preventDefault()
  const isUnusable = userId.trim() === '' || set.isRunning
  return (
    <form className="card stack" onSubmit={submit}>
      <h3>Legal hold of an actor</h3>
      <p className="hint">Protects the data of an actor, and the conversations that the actor is or was in.</p>
      <label className="field">
        Actor
        <input
          value={userId}
          maxLength={200}
          list="actors-to-hold"
          autoComplete="off"
          onChange={(event) => setUserId(event.target.value)}
        />
      </label>
      <datalist id="actors-to-hold">
        {present.map(({ actor }) => (
          <option key={actor} value={actor} />
        ))}
      </datalist>
      <div className="row">
        <button type="button" disabled={isUnusable} onClick={() => void set.run(true)}>
          Begin a hold
        </button>
        <button type="button" disabled={isUnusable} onClick={() => void set.run(false)}>
          End the hold
        </button>
      </div>
      {outcome && <Notice kind="success">{outcome}</Notice>}
      <Failure error={set.error} />
    </form>
  )
}

export function Retention() {
  const { client, viewer } = useSession()
  const { id } = useOpenConversation()
  const { value, error, isLoading, reload, put } = useLoad(
    (signal) => call<RetentionSettings | null>(client, { document: READ_RETENTION, variables: { id } }, { signal }),
    id,
  )
  return (
    <div className="stack">
      <Failure error={error} onRetry={reload} />
      {!value && !error && <Empty>{isLoading ? 'Loading …' : 'This conversation does not exist any more.'}</Empty>}
      {value && (
        <>
          {value.expiresAt !== null && (
            <Notice>
              {value.legalHold ? 'Would be deleted after ' : 'Will be deleted after '}
              {dateOf(value.expiresAt)}
              {value.legalHold ? ', but is under legal hold.' : '.'}
            </Notice>
          )}
          <Form settings={value} onSaved={put} onConflict={reload} />
          <ConversationHold settings={value} onChanged={put} />
          {viewer.rights.includes('OPERATE') && <ActorHold />}
        </>
      )}
    </div>
  )
}
