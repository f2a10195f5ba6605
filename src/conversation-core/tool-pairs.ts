// Pairs tool results with the calls that they answer. Pure.

import type { ConversationMessage, ToolCallContentPart, ToolResultContentPart } from './types.ts'

/** A call in a message. `index` is the index of the message, `part` the index of the call in its content. */
export type MadeCall = { call: ToolCallContentPart; messageId: string; index: number; part: number }
/** A call with its result. `resultIndex` is the index of the result's message. */
export type ToolPair = MadeCall & { result: ToolResultContentPart; resultIndex: number }

/** Whether the result may answer the call: they have the same id, or the same name if the result has no id. */
const matches = (call: ToolCallContentPart, result: ToolResultContentPart): boolean =>
  result.id === undefined ? call.name === result.name : call.id === result.id

/**
 * Returns the pairs in the order of their results. A result answers an earlier open call with its id or, if the result
 * has no id, with its name: the first such call of the newest message that has one. Each call is answered at most once.
 * A result without such a call is in no pair.
 */
export function pairToolResults(messages: readonly Pick<ConversationMessage, 'id' | 'content'>[]): ToolPair[] {
  let open: MadeCall[] = []
  const pairs: ToolPair[] = []
  for (const [index, { id: messageId, content }] of messages.entries()) {
    for (const [part, given] of content.entries()) {
      if (given.type === 'tool-call') open.push({ call: given, messageId, index, part })
      if (given.type !== 'tool-result') continue
      const newest = open.findLast(({ call }) => matches(call, given))?.index
      const made = open.find((each) => each.index === newest && matches(each.call, given))
      if (!made) continue
      pairs.push({ ...made, result: given, resultIndex: index })
      open = open.filter((each) => each !== made)
    }
  }
  return pairs
}
