// The content of a turn: text, folded reasoning and tool calls, files, data and citations.

import { memo } from 'react'
import type { Turn } from '../../client/index.ts'
import { JsonBlock } from '../kit/copy.tsx'
import { Markdown, safeUrl } from '../kit/markdown.tsx'
import { countOf, shorten } from '../kit/text.ts'

type ContentPart = Turn['parts'][number]

function File({ url, fileName, mediaType, caption }: Extract<ContentPart, { __typename: 'FilePart' }>) {
  const href = safeUrl(url)
  const name = fileName ?? caption ?? (href ?? url).slice(0, 80)
  return (
    <p className="file">
      <span className="muted">File </span>
      {href ? (
        <a href={href} target="_blank" rel="noopener noreferrer nofollow" dir="auto">
          {name}
        </a>
      ) : (
        <span dir="auto">{name}</span>
      )}{' '}
      <span className="muted">{mediaType}</span>
      {caption && fileName && (
        <span className="muted" dir="auto">
          {' '}
          {caption}
        </span>
      )}
    </p>
  )
}

/** The first words of a result, for its folded line. */
const gistOf = (value: unknown): string =>
  shorten(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), 60)

function Part({ part }: { part: ContentPart }) {
  switch (part.__typename) {
    case 'TextPart':
      return <Markdown text={part.text} />
    case 'ReasoningPart':
      return (
        <details className="fold">
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
      return <File {...part} />
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

/** The content of a turn; of an open turn, the text so far. */
export const Parts = memo(function Parts({ turn: { parts, citations } }: { turn: Turn }) {
  return (
    <>
      {parts.map((part, index) => (
        // Parts never move: a turn that is being written only grows.
        <Part key={index} part={part} />
      ))}
      {citations.length > 0 && <Citations citations={citations} />}
    </>
  )
})
