// Sends the pieces of a model's stream as deltas of a streaming turn and of its parts, in order. What a delta cannot
// contain, such as the token usage, becomes input of the commit.

import type { ContentPartInput, StreamedPartInput, TokenUsageInput } from '../generated.ts'
import { ColloquyError } from '../transport/errors.ts'
import type { Piece } from './stream-parts.ts'

/** Queues text for the turn, or for a part of it. */
export type Sender = { add(text: string, part?: StreamedPartInput): void }

export const sourceError = (cause: unknown) => {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new ColloquyError('SOURCE_FAILED', `The source of the turn failed: ${reason}`, { cause })
}

/** The fields of the commit that the source provides. */
export type Rest = { parts: ContentPartInput[]; tokenUsage?: TokenUsageInput; model?: string }

/** Maximum number of parts that are sent while they arrive. The commit has further calls and results. */
const MAX_PARTS = 300

/** Maximum length of the progress of tools, in UTF-16 units; of one piece, a sixteenth. The rest is dropped. */
const MAX_PROGRESS = 16_384

/**
 * Creates a function that sends a piece, or adds it to the input of the commit. The commit has all tool calls: they take
 * the places of those that were sent. @throws the error of the model
 */
export function createTaker(sender: Sender, rest: Rest, hasReasoning: boolean) {
  /** The open tool calls and the progress of tools, by callId: the number of the part. */
  const calls = new Map<string, number>()
  const progress = new Map<string, number>()
  let count = 0
  let progressed = 0
  /** The number of the open reasoning part; 0 for none. */
  let reasoning = 0

  function open(part: Omit<StreamedPartInput, 'number'>, text = ''): number {
    endReasoning()
    if (count === MAX_PARTS) return 0
    sender.add(text, { number: (count += 1), ...part })
    return count
  }
  function endReasoning(signature?: string): void {
    if (reasoning)
      sender.add('', { number: reasoning, isComplete: true, ...(signature && { reasoning: { signature } }) })
    reasoning = 0
  }
  function append(numbers: Map<string, number>, callId: string, text: string, isComplete?: boolean): void {
    const number = numbers.get(callId)
    if (number) sender.add(text, { number, ...(isComplete && { isComplete }) })
  }

  return (piece: Piece): void => {
    switch (piece.type) {
      case 'text':
        endReasoning()
        return sender.add(piece.text)
      case 'reasoning':
        if (reasoning) sender.add(piece.text, { number: reasoning })
        else if (hasReasoning && piece.text) reasoning = open({ reasoning: {} }, piece.text)
        return
      case 'reasoningEnd':
        return endReasoning(piece.signature)
      case 'callStart': {
        const { callId, name } = piece
        return void calls.set(callId, open({ toolCall: { callId, name } }))
      }
      case 'callDelta':
        return append(calls, piece.callId, piece.text)
      case 'toolCall': {
        const { type, ...call } = piece
        if (calls.has(call.callId)) append(calls, call.callId, '', true)
        else
          open({ toolCall: { callId: call.callId, name: call.name }, isComplete: true }, JSON.stringify(call.arguments))
        return void rest.parts.push({ toolCall: call })
      }
      case 'toolProgress': {
        // It counts towards the size of the turn, and is not kept.
        const text = piece.text.slice(-MAX_PROGRESS / 16)
        progressed += text.length
        if (progressed > MAX_PROGRESS) return
        if (progress.has(piece.callId)) return append(progress, piece.callId, text)
        return void progress.set(piece.callId, open({ toolProgress: { callId: piece.callId } }, text))
      }
      case 'source':
        // A source that a turn cannot have must not end the answer.
        if (/^https?:\/\/\S{1,8000}$/.test(piece.url))
          open({
            source: { url: piece.url, title: piece.title?.slice(0, 199).replace(/[\ud800-\udbff]$/, '') || null },
          })
        return
      case 'toolResult': {
        const { type, ...toolResult } = piece
        if (!open({ toolResult })) rest.parts.push({ toolResult })
        return
      }
      case 'model':
        rest.model = piece.model
        return
      case 'usage':
        rest.tokenUsage = { prompt: piece.prompt, completion: piece.completion }
        return
      case 'error':
        throw sourceError(piece.error)
    }
  }
}
