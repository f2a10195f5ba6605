// The commands that read: conversations, history, recall, context, facts, and config, which reads the effective settings
// of the server with their sources. Each returns its result; program.ts prints it.

import type { AsOf } from '../client/generated.ts'
import type { Client, ConversationHandle } from '../client/index.ts'
import { linesOfTurn, minuteOf } from '../text/turn-lines.ts'
import { columns, oneLine, type Result } from './output.ts'
import type { Setting } from '../config/settings.ts'
import { nearest } from '../text/nearest.ts'

const CONVERSATION_ID = /^conv_[0-9A-HJKMNP-TV-Z]{26}$/

export const isConversationId = (name: string): boolean => CONVERSATION_ID.test(name)

/** Returns the conversation with that id or key. */
export const conversationOf = (client: Client, name: string): ConversationHandle =>
  client.conversation(isConversationId(name) ? name : { key: name })

/** Lists the conversations of the actor, the most recently active first. */
export async function listConversations(
  client: Client,
  { search, limit }: { search?: string; limit: number },
): Promise<Result> {
  const { nodes } = await client.findConversations({ filter: { search }, orderBy: 'UPDATED_AT', first: limit })
  const rows = nodes.map(({ id, key, title, updatedAt, viewerUnreadCount, lastTurn }) => [
    minuteOf(updatedAt),
    key ?? id,
    viewerUnreadCount > 0 ? `${viewerUnreadCount} unread` : '',
    oneLine(title ?? lastTurn?.text ?? ''),
  ])
  return { json: nodes, lines: rows.length > 0 ? columns(rows) : ['There are no conversations.'] }
}

/** Reads the newest turns of a conversation, oldest first. */
export async function readHistory(
  conversation: ConversationHandle,
  { last, before, asOf }: { last: number; before?: string; asOf?: AsOf },
): Promise<Result> {
  const page = await conversation.turns({ last, before, asOf })
  const lines = page.nodes.flatMap(linesOfTurn)
  const { hasPreviousPage, startCursor } = page.pageInfo
  const more = hasPreviousPage ? ['', `Older turns: add --before ${startCursor}`] : []
  return { json: page, lines: page.nodes.length > 0 ? [...lines, ...more] : ['There are no turns.'] }
}

type Recall = Awaited<ReturnType<ConversationHandle['recall']>>

/** Prints the hits of a recall, best first. */
export function resultOfRecall(recall: Recall): Result {
  const lines = recall.hits.map(({ relevance, memory }) => {
    const score = relevance.toFixed(2)
    if (memory.__typename === 'Turn') return `${score}  turn ${memory.seq}  ${memory.actor}: ${oneLine(memory.text)}`
    if (memory.__typename === 'Summary') return `${score}  summary  ${oneLine(memory.content)}`
    return `${score}  fact  ${memory.subject} ${memory.predicate} ${memory.object}`
  })
  return { json: recall, lines: lines.length > 0 ? lines : ['Nothing is relevant to the query.'] }
}

/** Prints the sections of a context with their tokens, and what was left out. */
export async function readContext(
  conversation: ConversationHandle,
  input: { tokenBudget?: number; query?: string; includeFacts: boolean; includeProfile: boolean; asOf?: AsOf },
): Promise<Result> {
  const context = await conversation.context(input)
  const rows = context.items.map(({ kind, included, tokenCount, sourceIds, reason }) => [
    kind.toLowerCase().replaceAll('_', ' '),
    included ? String(tokenCount) : `(${tokenCount})`,
    `${sourceIds.length} ${sourceIds.length === 1 ? 'source' : 'sources'}`,
    included ? reason : `left out: ${reason}`,
  ])
  const { tokenCount, tokenBudget, messages } = context
  const lines = [
    ...columns([['SECTION', 'TOKENS', 'SOURCES', 'REASON'], ...rows]),
    '',
    `${messages.length} messages, ${tokenCount} of ${tokenBudget} tokens.`,
  ]
  return { json: context, lines }
}

export type FactsOptions = { user?: string; predicate?: string; limit: number; asOf?: AsOf }

/** Lists the active facts, newest first. */
export async function listFacts(
  client: Client,
  { conversation, user, predicate, limit, asOf }: FactsOptions & { conversation?: string },
): Promise<Result> {
  const filter = { userId: user, predicate }
  const page =
    conversation === undefined
      ? await client.facts({ filter, first: limit, asOf })
      : await conversationOf(client, conversation).facts({ filter, first: limit, asOf })
  const rows = page.nodes.map(({ id, subject, predicate, object, confidence, observedAt }) => [
    minuteOf(observedAt),
    `${subject} ${predicate} ${object}`,
    confidence < 1 ? `${Math.round(confidence * 100)} %` : '',
    id,
  ])
  return { json: page, lines: rows.length > 0 ? columns(rows) : ['There are no facts.'] }
}

const sourceOf = ({ source, file }: Setting) => (file === null ? source : `${source} ${file}`)

/** Returns the settings with these names, or all settings; or the message about the first unknown name. */
export function selectSettings(settings: readonly Setting[], names: readonly string[]): Result | { unknown: string } {
  const known = new Map(settings.map((setting) => [setting.name, setting]))
  const unknown = names.find((name) => !known.has(name))
  if (unknown !== undefined) {
    const similar = nearest(unknown, known.keys())
    return { unknown: `There is no setting ${unknown}.${similar ? ` Did you mean ${similar}?` : ''}` }
  }
  const selected = names.length > 0 ? names.map((name) => known.get(name)!) : settings
  const rows = selected.map((setting) => [setting.name, setting.value ?? '', sourceOf(setting)])
  return { json: selected, lines: columns([['NAME', 'VALUE', 'SOURCE'], ...rows]) }
}
