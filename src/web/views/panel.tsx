// The panel that shows the conversation in the view of another participant, beside one's own: what they do not see is
// visibly absent.

import { useCallback, useMemo, useState } from 'react'
import { ColloquyProvider, useConversation, useTranscript } from '../../react/index.ts'
import { Empty, Failure, Notice } from '../kit/notice.tsx'
import { useSettled } from '../kit/load.ts'
import { countOf } from '../kit/text.ts'
import { Needs } from '../session/needs.tsx'
import { useSession } from '../session/session.tsx'
import { separatorOf } from '../transcript/separators.ts'
import { TurnList } from '../transcript/turn-list.tsx'
import { TurnView } from '../transcript/turn.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { rowsOf, type ViewRow } from './rows.ts'

const HiddenRow = ({ name, audience }: { name: string; audience: string }) => (
  <div className="hidden-turn" role="note">
    {name} does not see a message here{audience && ` (only ${audience})`}.
  </div>
)

/** Time after which a new turn must have arrived in both views, ms. */
const SETTLE_MS = 2_000

/** Returns what the view lacks, in words. */
function comparisonText(name: string, hidden: number): string {
  if (hidden === 0) return `${name} sees every message that you see here.`
  const are = `${hidden === 1 ? 'is' : 'are'} absent from this view`
  return `${countOf(hidden, 'message')} that you see here ${are}: from its history, search, counts and contexts.`
}

/** The transcript in the view of the actor, whose client the components below use. */
function OtherTranscript({ id, actor }: { id: string; actor: string }) {
  const open = useOpenConversation()
  const { nameOf, isAgent } = open
  const { turns, status, error, hasOlder, older } = useTranscript(useConversation(id))
  const from = hasOlder ? (turns[0]?.position ?? 0) : 0
  const own = open.transcript.turns
  const newest = Math.max(own.at(-1)?.position ?? 0, turns.at(-1)?.position ?? 0)
  const settled = useSettled(newest, SETTLE_MS)
  const isComparable = status === 'live' && open.transcript.status === 'live'
  const through = isComparable ? settled : null
  const rows = useMemo(() => rowsOf(turns, own, { from, through }), [turns, own, from, through])
  const hidden = rows.filter(({ kind }) => kind === 'hidden').length
  const keyOf = useCallback((index: number) => rows[index]?.turn.position ?? index, [rows])
  const onStart = useCallback(() => void (hasOlder && older()), [hasOlder, older])
  const onEnd = useCallback(() => {}, [])
  const render = (index: number) => {
    const row = rows[index]!
    const name = nameOf(actor)
    if (row.kind === 'hidden')
      return <HiddenRow name={name} audience={row.turn.audience?.map(nameOf).join(', ') ?? ''} />
    const previous: ViewRow | undefined = rows[index - 1]
    const separator = separatorOf(previous?.turn ?? null, row.turn)
    return (
      <div className={row.isExtra ? 'extra' : undefined}>
        {row.isExtra && <p className="hint">Only {name} sees this message, you do not.</p>}
        <TurnView
          turn={row.turn}
          separator={{ ...separator, isContinued: separator.isContinued && previous?.kind === 'turn' }}
          isFirstUnread={false}
          isTarget={false}
          readers=""
          quoted={row.turn.replyTo ? (turns.find((turn) => turn.id === row.turn.replyTo!.id)?.text ?? null) : null}
          nameOf={nameOf}
          isAgent={isAgent}
          onShowReply={null}
          handlers={null}
        />
      </div>
    )
  }
  if (status === 'failed') {
    const text = error?.code === 'NOT_FOUND' ? `${nameOf(actor)} does not see this conversation.` : error?.message
    return <Failure error={text ?? null} />
  }
  if (status === 'loading') return <Empty>Loading …</Empty>
  return (
    <>
      <Notice>
        {isComparable ? comparisonText(nameOf(actor), hidden) : 'The views are compared once both are current.'}
      </Notice>
      <TurnList
        label={`Messages in the view of ${nameOf(actor)}`}
        count={rows.length}
        keyOf={keyOf}
        render={render}
        target="end"
        targetKey="end"
        isLive
        onStart={onStart}
        onEnd={onEnd}
      />
    </>
  )
}

function View() {
  const { id, present, nameOf } = useOpenConversation()
  const { viewer, clientOf } = useSession()
  const others = present.filter(({ actor }) => actor !== viewer.actor)
  const [chosen, setChosen] = useState<string | null>(null)
  const actor = others.find((each) => each.actor === chosen)?.actor ?? others[0]?.actor
  if (actor === undefined) return <Empty>Nobody else takes part in this conversation.</Empty>
  return (
    <div className="view">
      <label className="row">
        View as
        <select value={actor} onChange={(event) => setChosen(event.target.value)}>
          {others.map((each) => (
            <option key={each.actor} value={each.actor}>
              {nameOf(each.actor)}
            </option>
          ))}
        </select>
      </label>
      <ColloquyProvider client={clientOf(actor)} key={actor}>
        <OtherTranscript id={id} actor={actor} />
      </ColloquyProvider>
    </div>
  )
}

export default function ViewPanel() {
  return (
    <Needs right="ACT_AS" purpose="read in the view of others">
      <View />
    </Needs>
  )
}
