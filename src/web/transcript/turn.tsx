// One turn of the transcript: its author, its content, and badges: private, edited, pinned, streaming.

import { memo, type KeyboardEvent } from 'react'
import type { Turn } from '../../client/index.ts'
import { Avatar } from '../kit/avatar.tsx'
import { Menu } from '../kit/menu.tsx'
import { dateOf, shorten, timeOf } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'
import { useActions, type TurnHandlers } from './actions.ts'
import { Parts } from './parts/parts.tsx'
import type { Separator } from './separators.ts'

type TurnProps = {
  turn: Turn
  separator: Separator
  /** Whether the unread turns begin with it. */
  isFirstUnread: boolean
  /** Whether the person jumped to it. */
  isTarget: boolean
  /** Names of the others whose newest read turn it is. */
  readers: string
  nameOf(actor: string): string
  isAgent(actor: string): boolean
  /** Shows the turn to which it replies; null if the list cannot show it. */
  onShowReply: ((turnId: string) => void) | null
  /** Null in a view of another actor, which only shows. */
  handlers: TurnHandlers | null
  /** Text of the turn to which it replies; null if it is not loaded. */
  quoted: string | null
}

const Separators = ({ separator: { day, pause }, isFirstUnread }: Pick<TurnProps, 'separator' | 'isFirstUnread'>) => (
  <>
    {day !== null && (
      <div className="separator" role="separator">
        <span>{day}</span>
      </div>
    )}
    {pause !== null && (
      <div className="separator pause" role="separator">
        <span>{pause === 1 ? 'An hour later' : `${pause} hours later`}</span>
      </div>
    )}
    {isFirstUnread && (
      <div className="separator new" role="separator">
        <span>New since you left</span>
      </div>
    )}
  </>
)

/** Who sees a turn with an audience. */
function Audience({ turn, nameOf }: Pick<TurnProps, 'turn' | 'nameOf'>) {
  if (!turn.audience) return null
  const names = turn.audience.map(nameOf).join(', ')
  return (
    <span className="chip private" title={names}>
      Only <bdi>{shorten(names, 60)}</bdi>
    </span>
  )
}

function Badges({ turn, nameOf, handlers }: Pick<TurnProps, 'turn' | 'nameOf' | 'handlers'>) {
  return (
    <>
      {turn.role === 'SYSTEM' && <span className="chip">Instructions</span>}
      <Audience turn={turn} nameOf={nameOf} />
      {turn.pinned && <span className="chip accent">Pinned</span>}
      {turn.isEdited
        && (handlers ? (
          <button type="button" className="chip" onClick={() => handlers.showVersions(turn)}>
            Edited
          </button>
        ) : (
          <span className="chip">Edited</span>
        ))}
      {turn.status === 'STREAMING' && <span className="chip accent">Writing …</span>}
    </>
  )
}

/** The beginning of the turn to which a turn replies. */
function Quote({ turnId, quoted, onShowReply }: Pick<TurnProps, 'quoted' | 'onShowReply'> & { turnId: string }) {
  const text =
    quoted === null ? 'Reply to an earlier message' : shorten(quoted, 80) || 'Reply to a message without text'
  if (!onShowReply) {
    return (
      <p className="quote" dir="auto">
        ↪ {text}
      </p>
    )
  }
  return (
    <button type="button" className="quote" dir="auto" onClick={() => onShowReply(turnId)}>
      ↪ {text}
    </button>
  )
}

function Body({ turn }: { turn: Turn }) {
  if (turn.status === 'ERASED') return <p className="muted">This message was erased.</p>
  return (
    <>
      <Parts turn={turn} />
      {turn.status === 'ABORTED' && (
        <p className="aborted">
          <span className="chip danger">Stopped</span>{' '}
          <span dir="auto">{turn.abortReason ?? 'It is not complete.'}</span>
        </p>
      )}
    </>
  )
}

/** Whether two objects have the same values. */
const areSame = <Value extends object>(one: Value, other: Value): boolean =>
  (Object.keys(one) as (keyof Value)[]).every((key) => Object.is(one[key], other[key]))

/** Whether a turn looks the same with other properties. Its separator is a new object each time. */
const looksSame = ({ separator, ...props }: TurnProps, { separator: other, ...others }: TurnProps): boolean =>
  areSame(props, others) && areSame(separator, other)

export const TurnView = memo(function TurnView(props: TurnProps) {
  const { turn, separator, isFirstUnread, isTarget, readers, nameOf, isAgent, onShowReply, handlers, quoted } = props
  const session = useSession()
  const actions = useActions(turn, session, handlers)
  const name = nameOf(turn.actor)

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return
    const action = actions.find(({ key }) => key.toLowerCase() === event.key.toLowerCase())
    if (!action) return
    event.preventDefault()
    action.onSelect()
  }

  return (
    <>
      <Separators separator={separator} isFirstUnread={isFirstUnread} />
      <article
        className={`turn ${separator.isContinued ? 'continued' : ''} ${isTarget ? 'target' : ''} ${turn.audience ? 'whisper' : ''}`}
        aria-label={`${name}, ${timeOf(turn.createdAt)}`}
        data-position={turn.position}
        tabIndex={-1}
        onKeyDown={onKeyDown}
      >
        {!separator.isContinued && <Avatar name={name} isAgent={isAgent(turn.actor)} />}
        <div className="content">
          <header className={separator.isContinued ? 'compact' : undefined}>
            {!separator.isContinued && (
              <>
                <strong dir="auto">{name}</strong>
                {isAgent(turn.actor) && <span className="chip">{turn.role === 'TOOL' ? 'tool' : 'agent'}</span>}
                <time dateTime={turn.createdAt} title={dateOf(turn.createdAt)}>
                  {timeOf(turn.createdAt)}
                </time>
              </>
            )}
            <Badges turn={turn} nameOf={nameOf} handlers={handlers} />
          </header>
          {turn.replyTo && <Quote turnId={turn.replyTo.id} quoted={quoted} onShowReply={onShowReply} />}
          <Body turn={turn} />
          {readers !== '' && (
            <p className="readers">
              Read by <bdi>{readers}</bdi>
            </p>
          )}
        </div>
        {actions.length > 0 && (
          <div className="tools">
            <Menu label={`Actions for the message of ${name}, ${timeOf(turn.createdAt)}`} items={actions}>
              ⋯
            </Menu>
          </div>
        )}
      </article>
    </>
  )
}, looksSame)
