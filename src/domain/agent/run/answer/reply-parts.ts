// Writes a reply into its turn while it arrives: the text, the reasoning, and the tool calls, name first. The commit of the
// turn has the whole calls, which take the places of those written here.

import { z } from 'zod'
import type { ProviderDeltaPart, ProviderToolCall } from '../../../../providers/ports/provider-adapter.ts'
import { name, text } from '../../../kernel/input.ts'
import { MAX_SIGNATURE } from '../../../turn/content.ts'
import type { TurnWriter } from './turn-writer.ts'

/** Maximum number of parts that are written while they arrive. The commit adds further calls; reasoning is dropped. */
const MAX_LIVE_PARTS = 300

/** Maximum length of the reasoning of one reply, in UTF-16 units, so that room is left for the answer. The rest is dropped. */
const MAX_REASONING = 65_536

const callSchema = z.object({ callId: name, name })
/** Whether a turn can contain the signature. One that is cut would be wrong, so another one is dropped. */
const isSignature = (value: string) => text(MAX_SIGNATURE).safeParse(value).success

export type ReplyParts = {
  /** Writes a part of a delta. Resolves as TurnWriter.write does. */
  write(part: ProviderDeltaPart): Promise<void>
  /** Writes a whole tool call: the rest of its arguments, or all of it if it was not announced. */
  complete(call: ProviderToolCall): Promise<void>
}

export function createReplyParts(writer: TurnWriter): ReplyParts {
  /** The open tool calls, by id, and whether arguments were written. */
  const calls = new Map<string, { number: number; isEmpty: boolean }>()
  let count = 0
  /** The number of the open reasoning part; null for none. */
  let reasoning: number | null = null
  /** Length of the reasoning so far, in UTF-16 units. */
  let reasoned = 0

  async function endReasoning(signature?: string): Promise<void> {
    if (reasoning === null) return
    const number = reasoning
    reasoning = null
    const signed = signature !== undefined && isSignature(signature) ? { reasoning: { signature } } : null
    await writer.write('', { number, ...signed, isComplete: true })
  }

  async function addReasoning(text: string): Promise<void> {
    if (reasoned + text.length > MAX_REASONING) return
    reasoned += text.length
    if (reasoning !== null) return writer.write(text, { number: reasoning })
    if (count === MAX_LIVE_PARTS) return
    reasoning = count += 1
    await writer.write(text, { number: reasoning, reasoning: {} })
  }

  async function open(call: { id: string; name: string }): Promise<void> {
    await endReasoning()
    const toolCall = callSchema.safeParse({ callId: call.id, name: call.name }).data
    if (!toolCall || count === MAX_LIVE_PARTS) return
    const number = (count += 1)
    calls.set(call.id, { number, isEmpty: true })
    await writer.write('', { number, toolCall })
  }

  return {
    async write(part) {
      switch (part.type) {
        case 'text':
          if (part.text === '') return
          await endReasoning()
          return writer.write(part.text)
        case 'reasoning':
          return addReasoning(part.text)
        case 'reasoning-end':
          return endReasoning(part.signature)
        case 'tool-call-start':
          return open(part)
        case 'tool-call-delta': {
          const call = calls.get(part.id)
          if (!call) return
          call.isEmpty = false
          return writer.write(part.text, { number: call.number })
        }
      }
    },
    async complete({ id, name: tool, arguments: given }) {
      if (!calls.has(id)) await open({ id, name: tool })
      const call = calls.get(id)
      if (!call) return
      calls.delete(id)
      const whole = typeof given === 'string' ? given : JSON.stringify(given ?? {})
      await writer.write(call.isEmpty ? whole : '', { number: call.number, isComplete: true })
    },
  }
}
