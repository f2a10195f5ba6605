// One hit of a recall: the memory, with its scores.

import { useState, type CSSProperties } from 'react'
import { TurnLink } from '../context/sources/turn-link.tsx'
import type { PlacedTurn } from '../kit/result.ts'
import { formatNumber, percentOf, whenOf } from '../kit/text.ts'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { statementOf } from './history.ts'
import type { Hit } from './queries.ts'
import { excerptOf, markWords } from './words.ts'

/** Length above which the text of a hit is shortened at first, in UTF-16 units. */
const MAX_SHOWN = 320

const decimals = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2, minimumFractionDigits: 2 })

/** `share`: length of the bar, 0 to 1; null for a score without a scale. */
function Score({ label, value, share }: { label: string; value: string; share: number | null }) {
  return (
    <div className="score">
      <dt>{label}</dt>
      <dd>
        <span className="meter" aria-hidden="true">
          {share !== null && <span style={{ '--share': Math.max(0, Math.min(1, share)) } as CSSProperties} />}
        </span>
        <span className="number">{value}</span>
      </dd>
    </div>
  )
}

/** `best`: greatest score of the recall, on whose scale the score is. */
function Scores({ hit: { textScore, similarity, rerankScore, score }, best }: { hit: Hit; best: number }) {
  return (
    <dl className="scores">
      <Score label="Words" value={textScore === null ? 'none' : decimals.format(textScore)} share={textScore ?? 0} />
      <Score
        label="Meaning"
        value={similarity === null ? 'none' : decimals.format(similarity)}
        share={similarity ?? 0}
      />
      {rerankScore !== null && <Score label="Reranker" value={formatNumber(rerankScore)} share={null} />}
      <Score label="Score" value={decimals.format(score)} share={best > 0 ? score / best : 0} />
    </dl>
  )
}

function Marked({ text, query }: { text: string; query: string }) {
  return (
    <>
      {markWords(text, query).map((piece, index) =>
        // The pieces of one text never change their order.
        piece.isMatch ? <mark key={index}>{piece.text}</mark> : piece.text,
      )}
    </>
  )
}

function HitText({ text, query }: { text: string; query: string }) {
  const [isWhole, setWhole] = useState(text.length <= MAX_SHOWN)
  return (
    <>
      <p className="hit-text" dir="auto">
        <Marked text={isWhole ? text : excerptOf(text, query, MAX_SHOWN)} query={query} />
      </p>
      {!isWhole && (
        <button type="button" className="link small" onClick={() => setWhole(true)}>
          Show all
        </button>
      )}
    </>
  )
}

type Described = {
  kind: string
  author: string | null
  at: string
  text: string
  /** Where the memory can be shown; null if no turn of it is visible. */
  place: PlacedTurn | null
}

function describe({ memory }: Hit): Described {
  switch (memory.__typename) {
    case 'Turn':
      return { kind: 'Turn', author: memory.actor, at: memory.createdAt, text: memory.text, place: memory }
    case 'Fact': {
      const { assertedBy: author, observedAt: at, sourceTurn: place } = memory
      return { kind: 'Fact', author, at, text: statementOf(memory), place }
    }
    case 'Summary': {
      const { content: text, createdAt: at, fromPosition: position, toPosition, conversation } = memory
      const kind = `Summary of turns ${position} to ${toPosition}`
      return { kind, author: null, at, text, place: { position, conversation } }
    }
  }
}

export function HitItem({ hit, query, best }: { hit: Hit; query: string; best: number }) {
  const { nameOf } = useOpenConversation()
  const { kind, author, at, text, place } = describe(hit)
  return (
    <li className="card hit">
      <div className="bar">
        <div className="row">
          <span className="chip">{kind}</span>
          {author !== null && <strong dir="auto">{nameOf(author)}</strong>}
          <time className="muted" dateTime={at}>
            {whenOf(at)}
          </time>
        </div>
        <span className="relevance" title="Estimated probability that this is evidence for the query">
          <strong>{percentOf(hit.relevance)}</strong> relevant
        </span>
      </div>
      <HitText text={text} query={query} />
      <Scores hit={hit} best={best} />
      {place && (
        <p className="small">
          <TurnLink position={place.position} conversation={place.conversation} label="Show in place" />
        </p>
      )}
    </li>
  )
}
