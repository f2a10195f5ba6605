// The content of a turn: text, folded reasoning and tool calls, files, data and citations.

import { memo } from 'react'
import type { Turn } from '../../client/index.ts'
import { JsonBlock } from '../kit/copy.tsx'
import { Markdown } from '../kit/markdown.tsx'

type ContentPart = Turn['parts'][number]

/** Returns the URL if it is one that a page may open; null for any other, such as `javascript:`. */
function safeUrl(url: string): string | null {
  if (!URL.canParse(url)) return null
  const { protocol, href } = new URL(url)
  return ['http:', 'https:', 'mailto:'].includes(protocol) ? href : null
}

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
const gistOf = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.length > 60 ? `${text.slice(0, 59)}…` : text
}

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
    <summary>
      {citations.length} {citations.length === 1 ? 'source' : 'sources'}
    </summary>
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
