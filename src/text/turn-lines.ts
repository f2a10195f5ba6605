// Turns as lines of text, for people and models. Pure.

type Part =
  | { __typename: 'ToolCallPart'; name: string; arguments: unknown }
  | { __typename: 'ToolResultPart'; name: string; result: unknown }
  | { __typename: 'FilePart'; url: string; fileName: string | null; caption: string | null }
  | { __typename: 'SourcePart'; url: string; title: string | null }
  | { __typename: 'TextPart' | 'ReasoningPart' | 'DataPart' }

/** A turn, with the fields that its lines show. */
export type WrittenTurn = {
  seq: number
  createdAt: string
  actor: string
  author: { displayName: string | null } | null
  role: string
  status: string
  text: string
  parts: readonly Part[]
  audience: readonly string[] | null
}

/** Returns the date and time of an ISO 8601 time in UTC, to the minute. */
export const minuteOf = (time: string): string => time.slice(0, 16).replace('T', ' ')

/** Returns the text of a part that is neither text nor reasoning; null for other parts. */
export function textOfPart(part: Part): string | null {
  if (part.__typename === 'ToolCallPart') return `[calls ${part.name} ${JSON.stringify(part.arguments)}]`
  if (part.__typename === 'ToolResultPart') return `[result of ${part.name}: ${JSON.stringify(part.result)}]`
  if (part.__typename === 'SourcePart') return `[source ${part.title ?? part.url}]`
  if (part.__typename !== 'FilePart') return null
  return `[file ${part.fileName ?? part.url}${part.caption ? `: ${part.caption}` : ''}]`
}

/** Returns the lines of a turn: its seq, time and author, and its text, whose further lines are indented. */
export function linesOfTurn(turn: WrittenTurn): string[] {
  const { seq, createdAt, actor, author, role, status, text, parts, audience } = turn
  const marks = [
    ...(role === 'SYSTEM' ? ['system'] : []),
    ...(audience ? [`to ${audience.join(', ')}`] : []),
    ...(status === 'COMMITTED' ? [] : [status.toLowerCase()]),
  ]
  const name = author?.displayName ?? actor
  const head = `${seq}  ${minuteOf(createdAt)}  ${name}${marks.length > 0 ? ` (${marks.join('; ')})` : ''}`
  return [
    head,
    ...[text, ...parts.map(textOfPart)]
      .filter((line) => line !== null && line !== '')
      .flatMap((line) => line!.split('\n'))
      .map((line) => `    ${line}`),
  ]
}
