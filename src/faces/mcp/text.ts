// The answers of tools as text that a model can read. Pure.

import type {
  ContextItem,
  ContextMessage,
  ContextFields,
  Fact,
  ListedConversation,
  PageInfo,
  RecallHit,
  Summary,
  Turn,
  UserProfile,
} from '../../client/generated.ts'
import { linesOfTurn, minuteOf, textOfPart } from '../../text/turn-lines.ts'
import type { Waited } from './wait.ts'

type Page<Node> = { nodes: Node[]; pageInfo: PageInfo }

/** Joins the lines, or returns the text for no lines. */
const textOf = (lines: readonly string[], none: string): string => (lines.length > 0 ? lines.join('\n') : none)

/** Returns the text of a message: its text parts, and lines for tool calls, results and files. */
const contentOf = ({ content, parts }: Pick<ContextMessage, 'content' | 'parts'>): string =>
  [content, ...parts.map(textOfPart)].filter((text) => text !== null && text !== '').join('\n')

export function textOfContext({
  messages,
  items,
  tokenCount,
  tokenBudget,
}: ContextFields & { messages: ContextMessage[]; items: ContextItem[] }): string {
  const omitted = items.filter(({ included }) => !included).length
  const lines = messages.map((message) => {
    const { role, name } = message
    return `[${role.toLowerCase()}${name === null ? '' : ` ${name}`}] ${contentOf(message)}`
  })
  const sizes = `${tokenCount} of ${tokenBudget} tokens${omitted > 0 ? `; ${omitted} items did not fit` : ''}`
  return textOf([...lines, `(${sizes})`], '')
}

const textOfFact = ({ subject, predicate, object, confidence, supersededAt }: Fact): string =>
  [
    `${subject} ${predicate} ${object}`,
    ...(confidence < 1 ? [`(confidence ${confidence})`] : []),
    ...(supersededAt === null ? [] : ['(superseded)']),
  ].join(' ')

function textOfMemory(memory: RecallHit['memory']): string {
  if (memory.__typename === 'Fact') return `fact: ${textOfFact(memory)}`
  const { key, title, id } = memory.conversation
  const source = `conversation ${key ?? id}${title === null ? '' : ` "${title}"`}`
  if (memory.__typename === 'Summary') return `summary of ${source}: ${memory.content}`
  return [`turn of ${source}:`, ...linesOfTurn(memory)].join('\n')
}

export const textOfHits = ({ hits }: { hits: RecallHit[] }): string =>
  textOf(
    hits.map(({ relevance, memory, neighbours }) =>
      [
        `relevance ${relevance.toFixed(2)}, ${textOfMemory(memory)}`,
        ...(neighbours.length > 0 ? ['  near it:', ...neighbours.flatMap(linesOfTurn)] : []),
      ].join('\n'),
    ),
    'Nothing is relevant to the query.',
  )

export const textOfAppended = ({ turn, deduplicated }: { turn: Turn; deduplicated: boolean }): string =>
  `${deduplicated ? 'The turn existed already' : 'The turn was appended'}: id ${turn.id}, seq ${turn.seq}.`

export function textOfHistory({ nodes, pageInfo }: Page<Turn>): string {
  const older = pageInfo.hasPreviousPage ? [`(older turns: before ${pageInfo.startCursor})`] : []
  return textOf([...older, ...nodes.flatMap(linesOfTurn)], 'There are no turns.')
}

/** Returns a line that says how to read the next page, if there is one. */
const nextPage = ({ hasNextPage, endCursor }: PageInfo): string[] => (hasNextPage ? [`(more: after ${endCursor})`] : [])

export const textOfConversations = ({ nodes, pageInfo }: Page<ListedConversation>): string =>
  textOf(
    [
      ...nodes.map(({ id, key, title, updatedAt, viewerUnreadCount }) => {
        const unread = viewerUnreadCount > 0 ? `, ${viewerUnreadCount} unread` : ''
        return `${key ?? id}: ${title ?? 'without a title'} (${minuteOf(updatedAt)}${unread})`
      }),
      ...nextPage(pageInfo),
    ],
    'There are no conversations.',
  )

export const textOfFacts = ({ nodes, pageInfo }: Page<Fact>): string =>
  textOf([...nodes.map(textOfFact), ...nextPage(pageInfo)], 'There are no facts.')

export const textOfRecorded = ({ facts, exactDuplicatesSkipped }: { facts: Fact[]; exactDuplicatesSkipped: number }) =>
  exactDuplicatesSkipped > 0 ? 'The fact was known already.' : `Remembered: ${facts.map(textOfFact).join('; ')}`

export const textOfProfile = ({ content }: UserProfile): string => content

export const textOfSummary = ({ summary }: { summary: Summary }): string => summary.content

export function textOfWait({ turns, lastSeq, timedOut }: Waited): string {
  const lines = timedOut ? ['No turn was written.'] : turns.flatMap(linesOfTurn)
  return [...lines, `(continue with afterSeq ${lastSeq})`].join('\n')
}
