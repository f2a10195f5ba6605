// The list of the participants, with their presence and what an administrator can do with each.

import { useState } from 'react'
import type { Participant, PresenceState, Respond } from '../../client/index.ts'
import { Avatar } from '../kit/avatar.tsx'
import { FormDialog, textOf } from '../kit/form-dialog.tsx'
import { useAction } from '../kit/load.ts'
import { Menu } from '../kit/menu.tsx'
import { Failure } from '../kit/notice.tsx'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'

const PRESENCE: Record<PresenceState, string> = {
  ONLINE: 'here',
  AWAY: 'away',
  TYPING: 'writing',
  THINKING: 'thinking',
  OFFLINE: 'not here',
}
const RESPOND: Record<Respond, string> = {
  ALWAYS: 'answers every message',
  ADDRESSED: 'answers when mentioned or addressed',
  MENTIONED: 'answers when mentioned',
  NEVER: '',
}

function Rename({ participant: { actor, displayName }, onClose }: { participant: Participant; onClose(): void }) {
  const { conversation } = useOpenConversation()
  const rename = (data: FormData) =>
    conversation.updateParticipant(actor, { displayName: textOf(data, 'name') || null })
  return (
    <FormDialog title={`Rename ${actor}`} verb="Save" act={rename} onClose={onClose}>
      <label className="field">
        Name for display
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
        {isSelf ? 'You do' : `${nameOf(actor)} does`} not see new messages from then on.{' '}
        {isSelf ? 'Your messages' : `The messages of ${nameOf(actor)}`} stay. A participant can add{' '}
        {isSelf ? 'you' : nameOf(actor)} again.
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
  const signs = [
    isOwner ? 'owner' : administrator ? 'administrator' : '',
    PRESENCE[presence],
    kind === 'AGENT' ? RESPOND[respond] : '',
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
        <p className="muted">{signs.filter(Boolean).join(' · ')}</p>
        <Failure error={change.error} />
      </div>
      {viewer.rights.includes('WRITE') && (
        <Menu
          label={`Actions for ${displayName ?? actor}`}
          items={[
            { label: 'Rename', onSelect: () => setDialog('rename') },
            {
              label: administrator ? 'Make an ordinary participant' : 'Make an administrator',
              onSelect: () => void change.run({ administrator: !administrator }),
            },
            ...(kind === 'AGENT'
              ? (['MENTIONED', 'ALWAYS', 'NEVER'] as const)
                  .filter((each) => each !== respond)
                  .map((each) => ({
                    label:
                      each === 'NEVER'
                        ? 'Let it answer nothing'
                        : `Let it ${RESPOND[each].replace('answers', 'answer')}`,
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
