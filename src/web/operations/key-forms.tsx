// The dialogs that make a secret of an API key: create and rotate. The secret is shown once, and kept nowhere.

import { CopyButton } from '../kit/copy.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { FormDialog, textOf } from '../kit/form-dialog.tsx'
import { Notice } from '../kit/notice.tsx'
import { call } from '../kit/result.ts'
import { rightName } from '../session/needs.tsx'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { CREATE_KEY, ROTATE_KEY, type ApiKey, type NewToken } from './requests.ts'
import { durationOf, RIGHTS } from './words.ts'

type Making = { onMade(made: NewToken): void; onClose(): void }

const KINDS = [
  ['AGENT', 'Agent'],
  ['HUMAN', 'Human'],
  ['TOOL', 'Tool'],
] as const

/** Rights that are selected at first: what an agent needs. */
const USUAL = new Set(['READ', 'WRITE'])

/** Returns the input of createApiKey. `conversationId`: the open conversation. */
function inputOf(data: FormData, conversationId: string) {
  const expiry = textOf(data, 'expiresAt')
  return {
    name: textOf(data, 'name'),
    actor: textOf(data, 'actor'),
    kind: data.get('kind'),
    rights: data.getAll('rights'),
    expiresAt: expiry === '' ? null : new Date(expiry).toISOString(),
    conversationIds: data.has('limited') ? [conversationId] : null,
  }
}

export function CreateKey({ onMade, onClose }: Making) {
  const { client, viewer } = useSession()
  const { id } = useOpenConversation()
  async function create(data: FormData): Promise<void> {
    const input = inputOf(data, id)
    if (input.rights.length === 0) throw new Error('Choose at least one right.')
    onMade(await call<NewToken>(client, { document: CREATE_KEY, input }))
  }
  return (
    <FormDialog title="Create an API key" verb="Create" act={create} onClose={onClose}>
      <label className="field">
        Name, for administrators
        <input name="name" maxLength={200} required autoComplete="off" />
      </label>
      <label className="field">
        Actor that it authenticates
        <input name="actor" maxLength={200} required autoComplete="off" defaultValue={viewer.actor} />
      </label>
      <label className="field">
        Kind of the actor
        <select name="kind">
          {KINDS.map(([kind, label]) => (
            <option key={kind} value={kind}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <fieldset>
        <legend>Rights</legend>
        {Object.entries(RIGHTS).map(([right, words]) => (
          <label className="check" key={right}>
            <input
              type="checkbox"
              name="rights"
              value={right}
              defaultChecked={USUAL.has(right) && viewer.rights.includes(right)}
              disabled={!viewer.rights.includes(right)}
            />
            <span>
              <code>{rightName(right)}</code> <span className="hint">{words}</span>
            </span>
          </label>
        ))}
        <p className="hint">A key can only permit what your own credential permits.</p>
      </fieldset>
      <label className="field">
        Expires {viewer.expiresAt === null ? '(empty for never)' : '(at the latest when your own credential does)'}
        <input name="expiresAt" type="datetime-local" required={viewer.expiresAt !== null} />
      </label>
      <label className="check">
        <input type="checkbox" name="limited" /> Only for this conversation
      </label>
    </FormDialog>
  )
}

/** For how long the previous secret may stay valid, seconds. */
const OVERLAPS = [0, 300, 3_600, 86_400, 604_800, 2_592_000]

export function RotateKey({ apiKey, onMade, onClose }: Making & { apiKey: ApiKey }) {
  const { client } = useSession()
  async function rotate(data: FormData): Promise<void> {
    const overlapSeconds = Number(textOf(data, 'overlap'))
    const input = { id: apiKey.id, expectedVersion: apiKey.version, overlapSeconds }
    onMade(await call<NewToken>(client, { document: ROTATE_KEY, input }))
  }
  return (
    <FormDialog title="Rotate this key?" verb="Rotate" act={rotate} onClose={onClose}>
      <p>
        The key <strong dir="auto">{apiKey.name}</strong> gets a new secret. Its actor, rights and expiry stay.
      </p>
      <label className="field">
        The previous secret stays valid for
        <select name="overlap">
          {OVERLAPS.map((seconds) => (
            <option key={seconds} value={seconds}>
              {seconds === 0 ? 'no time' : durationOf(seconds)}
            </option>
          ))}
        </select>
      </label>
    </FormDialog>
  )
}

/** Closes only by its button: the secret cannot be shown again. */
export const NewSecret = ({ made: { apiKey, token }, onClose }: { made: NewToken; onClose(): void }) => (
  <Dialog title="The secret of the key" onClose={null}>
    <Notice kind="success">
      Copy the secret of <strong dir="auto">{apiKey.name}</strong> now. The server keeps only a hash of it, and this
      page keeps nothing: it is never shown again.
    </Notice>
    <div className="secret">
      <code>{token}</code>
      <CopyButton text={token} label="Copy the secret" />
    </div>
    <p className="hint">
      Clients send it as <code>Authorization: Bearer …</code>
    </p>
    <div className="row">
      <button type="button" className="primary" onClick={onClose}>
        I have stored it
      </button>
    </div>
  </Dialog>
)
