// The transcript of the open conversation: its turns, those that are not sent yet, and what a person does with them.

import { useCallback, useMemo, useRef, useState, type ReactNode } from 'react'
import type { PendingTurn, Turn } from '../../client/index.ts'
import { PIN_TURN, UNPIN_TURN } from '../../client/verbs/documents.ts'
import { copyText } from '../kit/copy.tsx'
import { useAction } from '../kit/load.ts'
import { Failure, Notice } from '../kit/notice.tsx'
import { call } from '../kit/result.ts'
import { countOf, errorText } from '../kit/text.ts'
import { useRoute } from '../session/route.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import type { TurnHandlers } from './actions.ts'
import { Announcement } from './announcement.tsx'
import { EraseDialog } from './erase.tsx'
import { indexAt, nearestTo } from './joined.ts'
import { useFirstUnread, useReaders, useReadMark } from './marks.ts'
import { useShowReply, useTexts } from './replies.ts'
import { separatorOf } from './separators.ts'
import { TurnList } from './turn-list.tsx'
import { TurnView } from './turn.tsx'
import { Versions } from './versions.tsx'
import { useWindow } from './window.ts'

/** The text of a turn that is sent, and the number of its files. */
function textOfSent({ content, parts }: PendingTurn['turn']): string {
  if (content != null) return content
  const files = parts?.filter((part) => 'file' in part).length ?? 0
  const texts = parts?.flatMap((part) => ('text' in part ? (part.text ?? []) : [])) ?? []
  return [...texts, ...(files > 0 ? [`(${countOf(files, 'file')})`] : [])].join(' ')
}

/** A turn that the server has not acknowledged. */
const Pending = ({ pending, onDiscard }: { pending: PendingTurn; onDiscard(pending: PendingTurn): void }) => {
  const { turn, status, error, retry } = pending
  return (
    <article className="turn pending" aria-label="A message that is not sent yet" tabIndex={-1}>
      <div className="content">
        <p dir="auto">{textOfSent(turn)}</p>
        {status === 'PENDING' ? (
          <p className="muted" role="status">
            Sending …
          </p>
        ) : (
          <div className="row">
            <Failure error={errorText(error)} onRetry={retry} />
            <button type="button" onClick={() => onDiscard(pending)}>
              Discard
            </button>
          </div>
        )}
      </div>
    </article>
  )
}

/** A message above the transcript; nothing without one. */
const Dismissible = ({
  kind,
  children,
  onDismiss,
}: {
  kind: 'info' | 'error'
  children: ReactNode
  onDismiss(): void
}) =>
  children && (
    <Notice kind={kind}>
      {children}{' '}
      <button type="button" className="link" onClick={onDismiss}>
        Dismiss
      </button>
    </Notice>
  )

/** What a person does with turns in the transcript, and why the newest action failed. */
function useTurnActions({ onReply, onEdit }: Editing) {
  const { client } = useSession()
  const [versionsOf, setVersionsOf] = useState<Turn | null>(null)
  const [erased, setErased] = useState<Turn | null>(null)
  const pin = useAction((turn: Turn) =>
    call(client, { document: turn.pinned ? UNPIN_TURN : PIN_TURN, input: { turnId: turn.id } }),
  )
  const copy = useAction(async ({ text }: Turn) => {
    if (!(await copyText(text))) throw new Error('The text was not copied: browsers allow it only on pages of https.')
  })
  const reply = useShowReply()
  const handlers: TurnHandlers = useMemo(
    () => ({
      reply: onReply,
      edit: onEdit,
      copy: (turn) => void copy.run(turn),
      showVersions: setVersionsOf,
      pin: (turn) => void pin.run(turn),
      erase: setErased,
    }),
    [onReply, onEdit, copy.run, pin.run],
  )
  const dialogs = (
    <>
      {versionsOf && <Versions turn={versionsOf} onClose={() => setVersionsOf(null)} />}
      {erased && <EraseDialog turn={erased} onClose={() => setErased(null)} />}
    </>
  )
  const clear = () => [pin, copy, reply].forEach((each) => each.clear())
  return { handlers, dialogs, showReply: reply.show, error: pin.error ?? copy.error ?? reply.error, clear }
}

type Editing = { onReply(turn: Turn): void; onEdit(turn: Turn): void }

export function TranscriptView(editing: Editing) {
  const open = useOpenConversation()
  const { transcript, nameOf, isAgent, jumpTo } = open
  const { position, jumps } = useRoute()
  const { turns, isFound, hasOlder, hasNewer, error, older, newer } = useWindow(open, position, jumps)
  const [isAtEnd, setAtEnd] = useState(true)
  const root = useRef<HTMLDivElement>(null)
  /** The jump whose notice the person has dismissed. */
  const [dismissed, setDismissed] = useState<number | null>(null)
  const unread = useFirstUnread()
  useReadMark(isAtEnd && !hasNewer)
  const actions = useTurnActions(editing)
  const readersOf = useReaders()
  const textOf = useTexts(turns)
  const pending = hasNewer ? [] : transcript.pending
  const keyOf = (index: number) => turns[index]?.position ?? pending[index - turns.length]?.clientId ?? index
  /** Called before the element that has the focus is removed. */
  const focusList = () => root.current!.querySelector<HTMLElement>('.turns')!.focus()
  function discard(unsent: PendingTurn): void {
    focusList()
    unsent.discard()
  }
  function showEnd(): void {
    focusList()
    jumpTo(null)
  }
  const render = (index: number) => {
    const turn = turns[index]
    if (!turn) return <Pending pending={pending[index - turns.length]!} onDiscard={discard} />
    return (
      <TurnView
        turn={turn}
        separator={separatorOf(turns[index - 1] ?? null, turn)}
        isFirstUnread={turn.position === unread}
        isTarget={turn.position === position}
        readers={readersOf(turn)}
        quoted={turn.replyTo ? textOf(turn.replyTo.id) : null}
        nameOf={nameOf}
        isAgent={isAgent}
        onShowReply={actions.showReply}
        handlers={actions.handlers}
      />
    )
  }
  const target = position === null ? 'end' : isFound ? nearestTo(turns, position) : null
  const isHidden = position !== null && typeof target === 'number' && indexAt(turns, position) === null
  const onStart = useCallback(() => void (hasOlder && older()), [hasOlder, older])
  const onEnd = useCallback(() => void (hasNewer && newer()), [hasNewer, newer])

  return (
    <div className="transcript" ref={root}>
      <Failure error={error} onRetry={isFound ? undefined : () => jumpTo(position)} />
      <Dismissible kind="error" onDismiss={actions.clear}>
        {actions.error}
      </Dismissible>
      <Dismissible kind="info" onDismiss={() => setDismissed(jumps)}>
        {isHidden && dismissed !== jumps && 'You do not see the message of the link. The nearest one is shown.'}
      </Dismissible>
      <TurnList
        label="Messages"
        count={turns.length + pending.length}
        keyOf={keyOf}
        render={render}
        target={target}
        targetKey={position === null ? `end ${jumps}` : `turn ${position}, jump ${jumps}`}
        isLive={!hasNewer}
        onStart={onStart}
        onEnd={onEnd}
        onAtEnd={setAtEnd}
      />
      <Announcement />
      {(hasNewer || !isAtEnd) && turns.length > 0 && (
        <button type="button" className="to-end primary" onClick={showEnd}>
          ↓ Newest messages
        </button>
      )}
      {turns.length === 0 && transcript.status === 'live' && <p className="empty">Nobody has said anything yet.</p>}
      {actions.dialogs}
    </div>
  )
}
