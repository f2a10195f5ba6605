// What a person can do with a turn, by its menu and by the keyboard.

import { useMemo } from 'react'
import type { Turn } from '../../client/index.ts'
import type { MenuItem } from '../kit/menu.tsx'
import type { Session } from '../session/session.tsx'

/** What the transcript does for an action that needs more than the turn. */
export type TurnHandlers = {
  reply(turn: Turn): void
  copy(turn: Turn): void
  edit(turn: Turn): void
  showVersions(turn: Turn): void
  pin(turn: Turn): void
  erase(turn: Turn): void
}

type TurnAction = MenuItem & { key: string }

/**
 * Whether the viewer may write a newer version of the turn: it is its own, complete, and text only. The newer version
 * would not have the files and data.
 */
export const isEditable = (turn: Turn, { viewer }: { viewer: Pick<Session['viewer'], 'actor' | 'rights'> }): boolean =>
  viewer.rights.includes('WRITE')
  && turn.actor === viewer.actor
  && turn.status === 'COMMITTED'
  && turn.role === 'USER'
  && turn.parts.every(({ __typename }) => __typename === 'TextPart')

/** Returns the actions of a turn. `key` is the key that starts the action while the turn is focused. */
function actionsOf(turn: Turn, session: Pick<Session, 'viewer'>, handlers: TurnHandlers): TurnAction[] {
  if (turn.status === 'ERASED') return []
  const mayWrite = session.viewer.rights.includes('WRITE')
  const all: (TurnAction | false)[] = [
    mayWrite && turn.status !== 'STREAMING' && { label: 'Reply', key: 'r', onSelect: () => handlers.reply(turn) },
    { label: 'Copy text', key: 'c', onSelect: () => handlers.copy(turn) },
    isEditable(turn, session) && { label: 'Edit', key: 'e', onSelect: () => handlers.edit(turn) },
    turn.isEdited && { label: 'Earlier versions', key: 'v', onSelect: () => handlers.showVersions(turn) },
    mayWrite
      && turn.status === 'COMMITTED' && {
        label: turn.pinned ? 'Unpin' : 'Pin',
        key: 'p',
        onSelect: () => handlers.pin(turn),
      },
    session.viewer.rights.includes('ERASE')
      && turn.status !== 'STREAMING' && {
        label: 'Erase',
        key: 'Delete',
        isDangerous: true,
        onSelect: () => handlers.erase(turn),
      },
  ]
  return all.filter((each) => each !== false).map((each) => ({ ...each, shortcut: each.key.toUpperCase() }))
}

/** Returns the actions of a turn, which change only with it. */
export const useActions = (turn: Turn, session: Session, handlers: TurnHandlers | null): TurnAction[] =>
  useMemo(() => (handlers ? actionsOf(turn, session, handlers) : []), [turn, session, handlers])
