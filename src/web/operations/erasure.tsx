// Erases the data of an actor, or deletes the open conversation, after the person has typed the name.

import { useState, type FormEvent, type ReactNode } from 'react'
import { FormDialog } from '../kit/form-dialog.tsx'
import { useAction } from '../kit/load.ts'
import { Failure, Notice } from '../kit/notice.tsx'
import { call } from '../kit/result.ts'
import { Needs, rightName } from '../session/needs.tsx'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { ErasureItem, useErasures } from './receipts.tsx'
import { DELETE_CONVERSATION, ERASE_USER, READ_ERASURE, type Erasure as Started, type Receipt } from './requests.ts'
import { isSameName } from './words.ts'

/** A dialog whose button works once the person has typed `name`. */
function Confirmation({
  title,
  name,
  act,
  onClose,
  children,
}: {
  title: string
  name: string
  act(): Promise<unknown>
  onClose(): void
  children: ReactNode
}) {
  const [typed, setTyped] = useState('')
  return (
    <FormDialog
      title={title}
      verb={title.replace('?', '')}
      act={act}
      onClose={onClose}
      isDangerous
      isBlocked={!isSameName(typed, name)}
    >
      {children}
      <label className="field">
        <span>
          Type <strong dir="auto">{name}</strong> to confirm
        </span>
        <input value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" />
      </label>
    </FormDialog>
  )
}

function EraseActor() {
  const { client, viewer } = useSession()
  const { transcript } = useOpenConversation()
  const { put } = useErasures()
  const [userId, setUserId] = useState(viewer.actor)
  const [isOpen, setOpen] = useState(false)
  const actor = userId.trim()
  const isForeign = actor !== viewer.actor && !viewer.rights.includes('MANAGE')
  async function erase(): Promise<void> {
    const { erasure } = await call<{ erasure: Started }>(client, { document: ERASE_USER, input: { userId: actor } })
    put({ subject: actor, erasure })
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setOpen(true)
  }
  return (
    <>
      <form className="card stack" onSubmit={submit}>
        <h3>Erase the data of an actor</h3>
        <p className="hint">
          In all conversations of the tenant: the content of its turns, the facts about it, its profile, and the
          summaries and titles made from them. The turns keep their places, so no journal gets a gap.
        </p>
        <label className="field">
          Actor
          <input
            value={userId}
            maxLength={200}
            required
            list="actors-to-erase"
            autoComplete="off"
            onChange={(event) => setUserId(event.target.value)}
          />
        </label>
        <datalist id="actors-to-erase">
          {transcript.participants.map((participant) => (
            <option key={participant.actor} value={participant.actor} />
          ))}
        </datalist>
        {isForeign && <Notice>To erase another actor, a credential also needs the right {rightName('MANAGE')}.</Notice>}
        <div className="row">
          <button type="submit" className="dangerous" disabled={actor === '' || isForeign}>
            Erase …
          </button>
        </div>
      </form>
      {isOpen && (
        <Confirmation title="Erase this actor?" name={actor} act={erase} onClose={() => setOpen(false)}>
          <p>
            Everything that <strong dir="auto">{actor}</strong> wrote will lose its content, for everybody, in all
            conversations. There is no undo. Backups are not reached. Revoke the credentials of the actor first.
          </p>
        </Confirmation>
      )}
    </>
  )
}

function DeleteConversation() {
  const { client, viewer } = useSession()
  const { id, transcript } = useOpenConversation()
  const { put } = useErasures()
  const [isOpen, setOpen] = useState(false)
  const { conversation, status } = transcript
  const name = conversation?.title?.trim() || id
  const mayDelete = conversation?.owner === viewer.actor || viewer.rights.includes('MANAGE')
  async function erase(): Promise<void> {
    const input = { conversationId: id }
    const { receipt } = await call<{ receipt: Receipt }>(client, { document: DELETE_CONVERSATION, input })
    put({ subject: name, erasure: { id: receipt.id, createdAt: receipt.completedAt, receipt } })
  }
  if (status === 'deleted') return <Notice>This conversation is deleted.</Notice>
  return (
    <section className="card stack">
      <h3>Delete this conversation</h3>
      <p className="hint">With all its turns and summaries, and the facts that have no other source.</p>
      {conversation && !mayDelete && (
        <Notice>
          Only its owner (<bdi>{conversation.owner}</bdi>) may delete it, or a credential with the right{' '}
          {rightName('MANAGE')}.
        </Notice>
      )}
      <div className="row">
        <button type="button" className="dangerous" disabled={!mayDelete} onClick={() => setOpen(true)}>
          Delete …
        </button>
      </div>
      {isOpen && (
        <Confirmation title="Delete this conversation?" name={name} act={erase} onClose={() => setOpen(false)}>
          <p>
            The conversation disappears for all participants. There is no undo. The receipt stays in this tab until you
            leave. Download it.
          </p>
        </Confirmation>
      )}
    </section>
  )
}

function FindErasure() {
  const { client } = useSession()
  const { put } = useErasures()
  const [id, setId] = useState('')
  const find = useAction(async () => {
    const { erasure } = await client.request<{ erasure: Started | null }>(READ_ERASURE, { id: id.trim() })
    if (!erasure) throw new Error('There is no erasure with this id.')
    put({ subject: `Erasure of ${erasure.createdAt.slice(0, 10)}`, erasure })
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void find.run()
  }
  return (
    <form className="stack" onSubmit={submit}>
      <label className="field">
        Find an earlier erasure by its id, which the audit log names
        <input value={id} onChange={(event) => setId(event.target.value)} autoComplete="off" required />
      </label>
      <Failure error={find.error} />
      <div className="row">
        <button type="submit" disabled={find.isRunning || id.trim() === ''}>
          Find
        </button>
      </div>
    </form>
  )
}

function Erasures() {
  const { known } = useErasures()
  return (
    <div className="stack">
      {known.length > 0 && (
        <ul className="plain stack" aria-label="Erasures">
          {known.map((each) => (
            <ErasureItem key={each.erasure.id} known={each} />
          ))}
        </ul>
      )}
      <EraseActor />
      <DeleteConversation />
      <FindErasure />
    </div>
  )
}

export const Erasure = () => (
  <Needs right="ERASE" purpose="erase content">
    <Erasures />
  </Needs>
)
