// The content of a turn: text, folded reasoning and tool calls, files, data, sources and citations. An open turn shows what
// was written so far.

import { memo } from 'react'
import type { JoinedPartDelta, TranscriptTurn, Turn } from '../../../client/index.ts'
import { JsonBlock } from '../../kit/copy.tsx'
import { Markdown, safeUrl } from '../../kit/markdown.tsx'
import { countOf, shorten } from '../../kit/text.ts'
import { FileOfTurn } from './file.tsx'

type ContentPart = Turn['parts'][number]

/** The first words of a result, for its folded line. */
const gistOf = (value: unknown): string =>
  shorten(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), 60)

function Source({ url, title }: Extract<ContentPart, { __typename: 'SourcePart' }>) {
  const href = safeUrl(url)
  return (
    <p className="file">
      <span className="muted">Source </span>
      {href ? (
        <a href={href} target="_blank" rel="noopener noreferrer nofollow" dir="auto">
          {title ?? shorten(url, 80)}
        </a>
      ) : (
        <span dir="auto">{title ?? shorten(url, 80)}</span>
      )}
    </p>
  )
}

/** The newest progress of each running tool. */
function Progress({ live }: { live: readonly JoinedPartDelta[] }) {
  const running = live.filter(({ type, callId }) => type === 'TOOL_PROGRESS' && !hasResult(live, callId))
  return running.map(({ number, joined }) => (
    <p key={number} className="muted" dir="auto">
      {shorten(joined.trimEnd().split('\n').at(-1) ?? '', 200)}
    </p>
  ))
}

const hasResult = (live: readonly JoinedPartDelta[], callId: string | null): boolean =>
  live.some((part) => part.type === 'TOOL_RESULT' && part.callId === callId)

/** @param isLast whether the part is the last one of a turn that is being written */
function Part({ turnId, part, isLast }: { turnId: string; part: ContentPart; isLast: boolean }) {
  switch (part.__typename) {
    case 'TextPart':
      return <Markdown text={part.text} />
    case 'ReasoningPart':
      return (
        // Open while the model thinks.
        <details className="fold" open={isLast}>
          <summary>Reasoning</summary>
          <Markdown text={part.reasoning} />
        </details>
      )
    case 'ToolCallPart':
      return (
        <details className="fold">
          <summary>
            Calls <code>{part.name}</code> <span className="muted">{gistOf(part.arguments)}</span>
          </summary>
          <JsonBlock value={part.arguments} label="arguments" />
        </details>
      )
    case 'ToolResultPart':
      return (
        <details className="fold">
          <summary>
            Result of <code>{part.name}</code> <span className="muted">{gistOf(part.result)}</span>
          </summary>
          <JsonBlock value={part.result} label="result" />
        </details>
      )
    case 'FilePart':
      return <FileOfTurn turnId={turnId} part={part} />
    case 'SourcePart':
      return <Source {...part} />
    case 'DataPart':
      return (
        <details className="fold">
          <summary>Data</summary>
          <JsonBlock value={part.data} label="data" />
        </details>
      )
    default:
      return null
  }
}

const Citations = ({ citations }: Pick<Turn, 'citations'>) => (
  <details className="fold">
    <summary>{countOf(citations.length, 'source')}</summary>
    <ol>
      {citations.map(({ documentId, documentName, chunk }, index) => (
        // A document may be cited several times.
        <li key={index}>
          <cite dir="auto">{documentName ?? documentId}</cite>
          {chunk && <blockquote dir="auto">{chunk}</blockquote>}
        </li>
      ))}
    </ol>
  </details>
)

/** The content of a turn; of an open turn, what was written so far. */
export const Parts = memo(function Parts({ turn }: { turn: TranscriptTurn }) {
  const { id, parts, citations, status, live = [] } = turn
  return (
    <>
      {parts.map((part, index) => (
        // Parts never move: a turn that is being written only grows.
        <Part key={index} turnId={id} part={part} isLast={status === 'STREAMING' && index === parts.length - 1} />
      ))}
      <Progress live={live} />
      {citations.length > 0 && <Citations citations={citations} />}
    </>
  )
})
