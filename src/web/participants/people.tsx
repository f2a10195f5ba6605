// The list of the participants, with their presence and what an administrator can do with each.

import { useState } from 'react'
import type { Participant, PresenceState } from '../../client/index.ts'
import { CHOICES, RESPOND } from '../conversations/agent-fields.tsx'
import { Avatar } from '../kit/avatar.tsx'
import { FormDialog, textOf } from '../kit/form-dialog.tsx'
import { useAction } from '../kit/load.ts'
import { Menu } from '../kit/menu.tsx'
import { Failure } from '../kit/notice.tsx'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'

const PRESENCE: Record<PresenceState, string> = {
  ONLINE: 'online',
  AWAY: 'away',
  TYPING: 'writing',
  THINKING: 'thinking',
  OFFLINE: 'offline',
}

function Rename({ participant: { actor, displayName }, onClose }: { participant: Participant; onClose(): void }) {
  const { conversation } = useOpenConversation()
  const rename = (data: FormData) =>
    conversation.updateParticipant(actor, { displayName: textOf(data, 'name') || null })
  return (
    <FormDialog title={`Rename ${actor}`} verb="Save" act={rename} onClose={onClose}>
      <label className="field">
        Display name
        <input name="name" maxLength={200} defaultValue={displayName ?? ''} placeholder={actor} />
      </label>
    </FormDialog>
  )
}

function Remove({ participant: { actor }, onClose }: { participant: Participant; onClose(): void }) {
  const { conversation, nameOf } = useOpenConversation()
  const { viewer } = useSession()
  const isSelf = actor === viewer.actor
  return (
    <FormDialog
      title={isSelf ? 'Leave this conversation?' : `Remove ${nameOf(actor)}?`}
      verb={isSelf ? 'Leave' : 'Remove'}
      act={() => conversation.removeParticipant(actor)}
      onClose={onClose}
      isDangerous
    >
      <p>
        {isSelf ? 'You' : <bdi>{nameOf(actor)}</bdi>} will no longer see new messages. {isSelf ? 'Your' : 'Their'}{' '}
        messages stay. A participant can add {isSelf ? 'you' : 'them'} again.
      </p>
    </FormDialog>
  )
}

function Person({ participant }: { participant: Participant }) {
  const { conversation, transcript } = useOpenConversation()
  const { viewer } = useSession()
  const [dialog, setDialog] = useState<'rename' | 'remove' | null>(null)
  const { actor, displayName, kind, presence, respond, administrator } = participant
  const change = useAction((changes: Parameters<typeof conversation.updateParticipant>[1]) =>
    conversation.updateParticipant(actor, changes),
  )
  const isOwner = transcript.conversation?.owner === actor
  const facts = [
    isOwner ? 'owner' : administrator ? 'administrator' : '',
    PRESENCE[presence],
    kind === 'AGENT' ? `answers ${RESPOND[respond]}` : '',
  ]
  return (
    <li className="member">
      <Avatar name={displayName ?? actor} isAgent={kind !== 'HUMAN'} presence={presence} />
      <div>
        <strong dir="auto">{displayName ?? actor}</strong>{' '}
        {displayName && (
          <span className="muted" dir="auto">
            {actor}
          </span>
        )}{' '}
        {actor === viewer.actor && <span className="muted">(you)</span>}
        {kind !== 'HUMAN' && <span className="chip">{kind.toLowerCase()}</span>}
        <p className="muted">{facts.filter(Boolean).join(' · ')}</p>
        <Failure error={change.error} />
      </div>
      {viewer.rights.includes('WRITE') && (
        <Menu
          label={`Actions for ${displayName ?? actor}`}
          items={[
            { label: 'Rename', onSelect: () => setDialog('rename') },
            {
              label: administrator ? 'Remove as administrator' : 'Make an administrator',
              onSelect: () => void change.run({ administrator: !administrator }),
            },
            ...(kind === 'AGENT'
              ? CHOICES.filter((each) => each !== respond).map((each) => ({
                  label: each === 'NEVER' ? 'Never answer' : `Answer ${RESPOND[each]}`,
                  onSelect: () => void change.run({ respond: each }),
                }))
              : []),
            {
              label: actor === viewer.actor ? 'Leave …' : 'Remove …',
              isDangerous: true,
              onSelect: () => setDialog('remove'),
            },
          ]}
        >
          ⋯
        </Menu>
      )}
      {dialog === 'rename' && <Rename participant={participant} onClose={() => setDialog(null)} />}
      {dialog === 'remove' && <Remove participant={participant} onClose={() => setDialog(null)} />}
    </li>
  )
}

export function People() {
  const { present } = useOpenConversation()
  return (
    <ul className="plain stack">
      {present.map((participant) => (
        <Person key={participant.id} participant={participant} />
      ))}
    </ul>
  )
}
