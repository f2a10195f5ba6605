// The transcript of the open conversation: its turns, those that are not sent yet, and what a person does with them.

import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { PendingTurn, Turn } from '../../client/index.ts'
import { useAction } from '../kit/load.ts'
import { Failure } from '../kit/notice.tsx'
import { payloadOf, USER_ERROR } from '../kit/result.ts'
import { errorText, shorten } from '../kit/text.ts'
import { useVisible } from '../kit/visible.ts'
import { navigate, useRoute } from '../session/route.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import type { TurnHandlers } from './actions.ts'
import { EraseDialog } from './erase.tsx'
import { indexAt } from './joined.ts'
import { firstUnread, readersByPosition, separatorOf } from './separators.ts'
import { TurnList } from './turn-list.tsx'
import { TurnView } from './turn.tsx'
import { Versions } from './versions.tsx'
import { useWindow } from './window.ts'

/** A turn that the server has not acknowledged. */
const Pending = ({ pending: { turn, status, error, retry, discard } }: { pending: PendingTurn }) => (
  <article className="turn pending" aria-label="A message that is not sent yet" tabIndex={-1}>
    <div className="content">
      <p dir="auto">{turn.content}</p>
      {status === 'PENDING' ? (
        <p className="muted" role="status">
          Sending …
        </p>
      ) : (
        <div className="row">
          <Failure error={errorText(error)} onRetry={retry} />
          <button type="button" onClick={discard}>
            Discard
          </button>
        </div>
      )}
    </div>
  </article>
)

/** Time for which the end must be on the screen before it is marked as read, ms. */
const READ_MS = 400

/** Marks all entries as read while the end of the transcript is on the screen. */
function useReadMark(isAtEnd: boolean): void {
  const { conversation, transcript } = useOpenConversation()
  const { viewer } = useSession()
  const isVisible = useVisible()
  const mayMark = isAtEnd && isVisible && transcript.viewer !== null && viewer.rights.includes('WRITE')
  // Not the seq of the newest turn: the entry that commits a streaming turn comes later than the turn.
  const { lastSeq } = transcript
  useEffect(() => {
    if (!mayMark || lastSeq === 0) return
    // A mark that fails is set with the next entry.
    const timer = setTimeout(() => void conversation.markRead(lastSeq).catch(() => {}), READ_MS)
    return () => clearTimeout(timer)
  }, [mayMark, lastSeq, conversation])
}

/** Returns the position where the unread turns began when the conversation was opened. It stays while it is open. */
function useFirstUnread(turns: readonly Turn[]): number | null {
  const { transcript } = useOpenConversation()
  const { viewer } = useSession()
  const found = useRef<number | null | undefined>(undefined)
  if (found.current === undefined && transcript.conversation) {
    const own = transcript.participants.find(({ actor }) => actor === viewer.actor)
    found.current = firstUnread(turns, viewer.actor, own?.lastReadSeq ?? 0)
  }
  return found.current ?? null
}

/** Returns the function that names those whose newest read turn it is. */
function useReaders(): (turn: Turn) => string {
  const { transcript, nameOf } = useOpenConversation()
  const { viewer } = useSession()
  const { turns, participants } = transcript
  const readers = useMemo(
    () => readersByPosition(turns, participants, viewer.actor),
    [turns, participants, viewer.actor],
  )
  return ({ position }) => shorten(readers.get(position)?.map(nameOf).join(', ') ?? '', 80)
}

/** Returns the function that finds the text of a turn by its id; null if the turn is not loaded. */
function useTexts(turns: readonly Turn[]): (id: string) => string | null {
  // Built for the first reply that is shown, and again only when turns are added: ids and positions never change.
  const positions = useMemo(() => {
    let map: ReadonlyMap<string, number> | null = null
    return () => (map ??= new Map(turns.map(({ id, position }) => [id, position])))
  }, [turns.length, turns[0]?.position])
  return (id) => {
    const position = positions().get(id)
    const index = position === undefined ? null : indexAt(turns, position)
    return index === null ? null : turns[index]!.text
  }
}

/** Tells screen readers the newest complete message of somebody else, once. */
function Announcement({ turns }: { turns: readonly Turn[] }) {
  const { viewer } = useSession()
  const { nameOf } = useOpenConversation()
  const newest = turns.findLast(({ status, actor }) => status === 'COMMITTED' && actor !== viewer.actor)
  const first = useRef<string | null | undefined>(undefined)
  if (first.current === undefined && turns.length > 0) first.current = newest?.id ?? null
  const isNew = newest !== undefined && newest.id !== first.current
  return (
    <p className="hidden" role="status">
      {isNew && `${nameOf(newest.actor)}: ${shorten(newest.text, 500)}`}
    </p>
  )
}

const READ_POSITION = 'query Place($id: ID!, $as: String) { nodes(ids: [$id], as: $as) { ... on Turn { position } } }'

/** Returns the function that shows the turn with an id, and its error. */
function useShowReply() {
  const { client } = useSession()
  const { jumpTo } = useOpenConversation()
  const { run, error } = useAction(async (id: string) => {
    const { nodes } = await client.request(READ_POSITION, { id, as: client.as })
    if (!nodes[0]) throw new Error('You do not see the message, or it was erased.')
    jumpTo(nodes[0].position)
  })
  return { show: useCallback((id: string) => void run(id), [run]), error }
}

/** Returns the action that pins a turn, or unpins it. */
function usePin() {
  const { client } = useSession()
  return useAction(async (turn: Turn) => {
    const verb = turn.pinned ? 'unpin' : 'pin'
    const { result } = await client.request(
      `mutation ($input: ${turn.pinned ? 'Unpin' : 'Pin'}TurnInput!) {
        result: ${verb}Turn(input: $input) { __typename ${USER_ERROR} }
      }`,
      { input: { turnId: turn.id, as: client.as } },
    )
    payloadOf(result)
  })
}

export function TranscriptView({ onReply, onEdit }: { onReply(turn: Turn): void; onEdit(turn: Turn): void }) {
  const open = useOpenConversation()
  const { transcript, nameOf, isAgent, jumps } = open
  const { position } = useRoute()
  const { turns, hasOlder, hasNewer, error, older, newer } = useWindow(open, position)
  const [isAtEnd, setAtEnd] = useState(true)
  /** Number of times that the person asked for the end. */
  const [ends, setEnds] = useState(0)
  const [versionsOf, setVersionsOf] = useState<Turn | null>(null)
  const [erased, setErased] = useState<Turn | null>(null)
  const unread = useFirstUnread(transcript.turns)
  useReadMark(isAtEnd && !hasNewer)

  const pin = usePin()
  const handlers: TurnHandlers = useMemo(
    () => ({
      reply: onReply,
      edit: onEdit,
      showVersions: setVersionsOf,
      pin: (turn) => void pin.run(turn),
      erase: setErased,
    }),
    [onReply, onEdit, pin.run],
  )
  const showReply = useShowReply()

  const readersOf = useReaders()
  const textOf = useTexts(turns)
  const pending = hasNewer ? [] : transcript.pending
  const keyOf = (index: number) => turns[index]?.position ?? pending[index - turns.length]?.clientId ?? index
  const render = (index: number) => {
    const turn = turns[index]
    if (!turn) return <Pending pending={pending[index - turns.length]!} />
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
        onShowReply={showReply.show}
        handlers={handlers}
      />
    )
  }
  const target = position === null ? 'end' : indexAt(turns, position)
  function showEnd(): void {
    setEnds(ends + 1)
    navigate({ position: null })
  }
  const onStart = useCallback(() => void (hasOlder && older()), [hasOlder, older])
  const onEnd = useCallback(() => void (hasNewer && newer()), [hasNewer, newer])

  return (
    <div className="transcript">
      <Failure error={error ?? pin.error ?? showReply.error} />
      <TurnList
        label="Messages"
        count={turns.length + pending.length}
        keyOf={keyOf}
        render={render}
        target={target}
        targetKey={position === null ? `end ${ends}` : `turn ${position}, jump ${jumps}`}
        isLive={!hasNewer}
        onStart={onStart}
        onEnd={onEnd}
        onAtEnd={setAtEnd}
      />
      <Announcement turns={transcript.turns} />
      {(hasNewer || !isAtEnd) && turns.length > 0 && (
        <button type="button" className="to-end primary" onClick={showEnd}>
          ↓ Newest messages
        </button>
      )}
      {turns.length === 0 && transcript.status === 'live' && <p className="empty">Nobody has said anything yet.</p>}
      {versionsOf && <Versions turn={versionsOf} onClose={() => setVersionsOf(null)} />}
      {erased && <EraseDialog turn={erased} onClose={() => setErased(null)} />}
    </div>
  )
}
