// Merges the messages of a conversation into those that a page shows. Pure.

import type { ConversationMessage } from './messages.ts'

export type MergeOptions = {
  /** The turns of the messages that the page has sent, by the id of the message. */
  sent: ReadonlyMap<string, { id: string }>
  /** Ids of the messages that open streams write. The page's state of them is the newest. */
  streamed: ReadonlySet<string>
}

type Part = ConversationMessage['parts'][number]

/** Whether the page has decided about the call, or has its output, and the conversation does not know of it yet. */
function isAhead(own: Part | undefined, stored: Part): boolean {
  if (!own || !('toolCallId' in own) || !('toolCallId' in stored)) return false
  if (stored.state === 'approval-requested') return own.state === 'approval-responded'
  return stored.state === 'input-available' && (own.state === 'output-available' || own.state === 'output-error')
}

/** Returns the stored message, with the decisions and outputs of the page that have not been sent. */
function withOwn(stored: ConversationMessage, shown: ConversationMessage | undefined): ConversationMessage {
  const own = new Map(shown?.parts.map((part) => ['toolCallId' in part ? part.toolCallId : '', part]))
  const ownOf = (part: Part) => ('toolCallId' in part ? own.get(part.toolCallId) : undefined)
  const parts = stored.parts.map((part) => (isAhead(ownOf(part), part) ? ownOf(part)! : part))
  return { ...stored, parts }
}

/**
 * Returns the messages of the conversation in place of those that the page shows of it. Keeps the ids of messages that
 * the page has sent, the messages before the first one of the conversation, and those that the page has added itself,
 * where they are.
 */
export function mergeMessages(
  shown: readonly ConversationMessage[],
  messages: readonly ConversationMessage[],
  { sent, streamed }: MergeOptions,
): ConversationMessage[] {
  const idsOfTurns = new Map([...sent].map(([id, turn]) => [turn.id, id]))
  const shownById = new Map(shown.map((message) => [message.id, message]))
  const current = messages.map((message) => {
    const id = idsOfTurns.get(message.id) ?? message.id
    return (streamed.has(id) && shownById.get(id)) || withOwn({ ...message, id }, shownById.get(id))
  })
  const first = current[0]?.metadata?.position ?? Infinity
  const known = new Set(current.map(({ id }) => id))
  const older = shown.filter(({ id, metadata }) => !known.has(id) && metadata && metadata.position < first)
  const merged = [...older, ...current]
  for (const [index, message] of shown.entries()) {
    if (known.has(message.id) || message.metadata) continue
    const after = merged.findIndex(({ id }) => id === shown[index - 1]?.id)
    const isLast = index > 0 && after < 0
    merged.splice(isLast ? merged.length : after + 1, 0, message)
  }
  return merged
}
