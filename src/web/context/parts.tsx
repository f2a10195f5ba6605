// The parts of a message that are not text: tool calls and results, files, reasoning and data.

import type { Part } from '../../client/index.ts'
import { JsonBlock } from '../kit/copy.tsx'

const isLink = (url: string): boolean => /^https?:/i.test(url)

function OtherPart({ part }: { part: Part }) {
  switch (part.__typename) {
    case 'ToolCallPart':
      return (
        <>
          <p className="muted">
            Calls the tool <strong>{part.name}</strong> with
          </p>
          <JsonBlock value={part.arguments} label="the arguments" />
        </>
      )
    case 'ToolResultPart':
      return (
        <>
          <p className="muted">
            Result of the tool <strong>{part.name}</strong>
          </p>
          <JsonBlock value={part.result} label="the result" />
        </>
      )
    case 'FilePart': {
      const name = part.fileName ?? part.mediaType
      return (
        <p>
          File{' '}
          {isLink(part.url) ? (
            <a href={part.url} target="_blank" rel="noopener noreferrer nofollow" dir="auto">
              {name}
            </a>
          ) : (
            <span dir="auto">{name}</span>
          )}
        </p>
      )
    }
    case 'SourcePart':
      return (
        <p>
          Source{' '}
          {isLink(part.url) ? (
            <a href={part.url} target="_blank" rel="noopener noreferrer nofollow" dir="auto">
              {part.title ?? part.url}
            </a>
          ) : (
            <span dir="auto">{part.title ?? part.url}</span>
          )}
        </p>
      )
    case 'ReasoningPart':
      return (
        <p className="muted context-content" dir="auto">
          Reasoning: {part.reasoning}
        </p>
      )
    case 'DataPart':
      return <JsonBlock value={part.data} label="the data" />
    case 'TextPart':
      return null
  }
}

export const OtherParts = ({ parts }: { parts: readonly Part[] }) => (
  <>
    {parts.map((part, index) => (
      // The parts of a message never change their order.
      <OtherPart key={index} part={part} />
    ))}
  </>
)
