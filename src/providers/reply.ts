// Assembles a model's reply from the pieces in which it arrives: the events of the stream, and the result. Checks the
// limits of a reply, and gives each tool call an id that can be stored.

import { randomUUID } from 'node:crypto'
import { asText } from './message-parts.ts'
import {
  ProviderCallFailed,
  type ProviderCallResult,
  type ProviderContentPart,
  type ProviderDeltaPart,
  type ProviderFinishReason,
  type ProviderStreamEvent,
  type ProviderTokenUsage,
  type ProviderToolCall,
} from './ports/provider-adapter.ts'

/**
 * Maximum size of a reply: its text, its reasoning and the arguments of its tool calls, in bytes of UTF-8.
 * @internal Exported for tests.
 */
export const MAX_REPLY_BYTES = 1024 * 1024
/** Maximum number of tool calls of one reply. @internal Exported for tests. */
export const MAX_REPLY_CALLS = 100
export type ReplyEnd = {
  type: 'end'
  finishReason: ProviderFinishReason
  usage?: ProviderTokenUsage | undefined
  /** The provider's id of the reply. Default: a generated one. */
  id?: string | undefined
  raw?: unknown
}

/** A piece of a reply, in the order in which the model writes it. `end` is the last one. */
export type ReplyPiece =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** The reasoning is complete. `signature`: the provider's signature of it, if any. */
  | { type: 'reasoning-end'; signature?: string | undefined }
  /** A tool call begins. `key` identifies it among the pieces of the reply. */
  | { type: 'call-start'; key: string | number; id?: string | undefined; name: string }
  /** More of the JSON of its arguments. */
  | { type: 'call-delta'; key: string | number; text: string }
  /** A whole tool call; with the `key` of `call-start` if it has begun before. */
  | { type: 'tool-call'; key?: string | number; toolCall: ProviderToolCall }
  | ReplyEnd

export type Reply = {
  /** Adds a piece. Returns its event; null for an empty one. @throws ProviderCallFailed above a limit */
  add(piece: ReplyPiece): ProviderStreamEvent | null
  /** Returns the error for a reply without an `end`. */
  cutOff(): ProviderCallFailed
}

/** Assembles a reply from its pieces. Adjacent texts become one part. */
export function createReply(label: string): Reply {
  const createdAt = new Date()
  const content: ProviderContentPart[] = []
  const calls: ProviderToolCall[] = []
  const ids = new Set<string>()
  /** The calls that have begun and are not whole, by key. `isEmpty`: none of their arguments have arrived. */
  const begun = new Map<string | number, { id: string; isEmpty: boolean }>()
  const size = createReplySize(label)

  function newId(given: unknown): string {
    if (ids.size === MAX_REPLY_CALLS) throw tooLarge(label, `more than ${MAX_REPLY_CALLS} tool calls`)
    const id = isUsableId(given) && !ids.has(given) ? given : `call_${randomUUID()}`
    ids.add(id)
    return id
  }

  function startCall({ key, id: given, name }: Extract<ReplyPiece, { type: 'call-start' }>): ProviderStreamEvent {
    const id = newId(given)
    begun.set(key, { id, isEmpty: true })
    return deltaOf({ type: 'tool-call-start', id, name })
  }

  function addCall({ key, toolCall: given }: Extract<ReplyPiece, { type: 'tool-call' }>): ProviderStreamEvent {
    const call = key === undefined ? undefined : begun.get(key)
    if (key !== undefined) begun.delete(key)
    const toolCall: ProviderToolCall = { id: call?.id ?? newId(given.id), name: given.name, arguments: given.arguments }
    if (call?.isEmpty !== false) size.add(asText(given.arguments))
    calls.push(toolCall)
    content.push({ type: 'tool-call', ...toolCall })
    return { type: 'tool-call', toolCall }
  }

  function addCallDelta({ key, text }: Extract<ReplyPiece, { type: 'call-delta' }>): ProviderStreamEvent | null {
    const call = begun.get(key)
    if (!call || text === '') return null
    call.isEmpty = false
    size.add(text)
    return deltaOf({ type: 'tool-call-delta', id: call.id, text })
  }

  function resultOf({ finishReason, usage, id, raw }: ReplyEnd): ProviderCallResult {
    return {
      id: isUsableId(id) ? id : `reply_${randomUUID()}`,
      createdAt,
      message: { role: 'assistant', content },
      ...(calls.length > 0 && { toolCalls: calls }),
      ...(usage && { usage }),
      ...(raw !== undefined && { raw }),
      finishReason,
    }
  }

  return {
    add(piece) {
      switch (piece.type) {
        case 'text': {
          if (piece.text === '') return null
          size.add(piece.text)
          const last = content.at(-1)
          if (last?.type === 'text') last.text += piece.text
          else content.push({ type: 'text', text: piece.text })
          return deltaOf({ type: 'text', text: piece.text })
        }
        case 'reasoning':
          size.add(piece.text)
          return piece.text === '' ? null : deltaOf({ type: 'reasoning', text: piece.text })
        case 'reasoning-end':
          return deltaOf({ type: 'reasoning-end', ...(piece.signature && { signature: piece.signature }) })
        case 'call-start':
          return startCall(piece)
        case 'call-delta':
          return addCallDelta(piece)
        case 'tool-call':
          return addCall(piece)
        case 'end':
          return { type: 'done', result: resultOf(piece) }
      }
    },
    cutOff: () => new ProviderCallFailed('CUT_OFF', `${label} ended its reply too early.`, true),
  }
}

/** Whether an id of the provider has 1 to 128 printable characters, so that it can be stored and sent back. */
const isUsableId = (id: unknown): id is string => typeof id === 'string' && /^[\x21-\x7e]{1,128}$/.test(id)

export const deltaOf = (part: ProviderDeltaPart): ProviderStreamEvent => ({
  type: 'delta',
  delta: { role: 'assistant', content: [part] },
})

const tooLarge = (label: string, what: string) =>
  new ProviderCallFailed('REPLY_TOO_LARGE', `${label} wrote a reply with ${what}.`, false)

/** Adds up the size of a reply. `add` throws ProviderCallFailed above MAX_REPLY_BYTES. */
export function createReplySize(label: string): { add(text: string): void } {
  let bytes = 0
  return {
    add(text) {
      bytes += Buffer.byteLength(text)
      if (bytes > MAX_REPLY_BYTES) throw tooLarge(label, `more than ${MAX_REPLY_BYTES} bytes`)
    },
  }
}
