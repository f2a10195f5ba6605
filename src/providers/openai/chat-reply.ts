// Converts the chunks of a streamed chat completion to the pieces of a reply. Servers differ: some give each parallel
// tool call its own index, some give all of them the same index, and some send each call in one chunk. Usage arrives in
// the chunk with the finish reason, in a later one, or never.

import type { ReplyEnd, ReplyPiece } from '../reply.ts'
import { parseArguments } from '../message-parts.ts'
import {
  ProviderCallFailed,
  type ProviderFinishReason,
  type ProviderTokenUsage,
  type ProviderToolCall,
} from '../ports/provider-adapter.ts'

type CallDelta = { index?: unknown; id?: unknown; function?: { name?: unknown; arguments?: unknown } | null }
/** A chunk as servers send it. Any field may be absent or have another type. */
export type Chunk = { id?: unknown; model?: unknown; system_fingerprint?: unknown; usage?: unknown; choices?: unknown }
type Choice = {
  index?: unknown
  finish_reason?: unknown
  /** Servers of reasoning models name the reasoning either `reasoning_content` or `reasoning`. */
  delta?: {
    content?: unknown
    refusal?: unknown
    reasoning_content?: unknown
    reasoning?: unknown
    tool_calls?: unknown
  } | null
}

/** `sent` is the length of the arguments that were returned as pieces; null before the name of the tool is known. */
type OpenCall = { index: unknown; id: string; name: string; arguments: string; sent: number | null }

const FINISH_REASONS: Record<string, ProviderFinishReason> = {
  stop: 'stop',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  length: 'length',
  content_filter: 'content-filter',
}

/** Whether a value is a non-empty string. */
const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

export type ChunkReader = {
  /** Returns the pieces of a chunk. @throws ProviderCallFailed with BAD_REPLY or REPLY_TOO_LARGE */
  read(chunk: Chunk): ReplyPiece[]
  /** Whether the reply is complete. Further chunks can contain only usage. */
  isFinished(): boolean
  /** Returns the tool calls and the end. Empty if the reply is not complete. */
  end(): ReplyPiece[]
}

/** Creates a reader of one reply. `size` limits the arguments of tool calls while they arrive. */
export function createChunkReader(label: string, size: { add(text: string): void }): ChunkReader {
  const calls: OpenCall[] = []
  let finish: string | null = null
  let usage: ProviderTokenUsage | undefined
  const raw: Record<string, unknown> = {}
  let id: string | undefined

  /** Finds the call that a delta continues. A new id begins a new call, even if the server repeats the index. */
  function callOf(delta: CallDelta): OpenCall {
    const known = calls.findLast(({ index }) => delta.index === undefined || index === delta.index)
    if (known && (!isText(delta.id) || !known.id || known.id === delta.id)) return known
    const call = { index: delta.index, id: '', name: '', arguments: '', sent: null }
    calls.push(call)
    return call
  }

  /** Adds a delta to its call, and returns the pieces for what is new of the call. */
  function addCallDelta(delta: CallDelta): ReplyPiece[] {
    const call = callOf(delta)
    const { name, arguments: text } = delta.function ?? {}
    if (isText(delta.id)) call.id = delta.id
    // Some servers repeat the name in each delta.
    if (isText(name) && !call.name) call.name = name
    if (isText(text)) {
      size.add(text)
      call.arguments += text
    } else if (text && typeof text === 'object') {
      call.arguments = JSON.stringify(text)
      size.add(call.arguments)
    }
    if (!call.name) return []
    const key = calls.indexOf(call)
    const pieces: ReplyPiece[] = call.sent === null ? [{ type: 'call-start', key, id: call.id, name: call.name }] : []
    const rest = call.arguments.slice(call.sent ?? 0)
    call.sent = call.arguments.length
    return rest === '' ? pieces : [...pieces, { type: 'call-delta', key, text: rest }]
  }

  const badReply = (what: string) => new ProviderCallFailed('BAD_REPLY', `${label} sent ${what}.`, true)

  function toToolCall({ id: callId, name, arguments: text }: OpenCall): ProviderToolCall {
    if (!name) throw badReply('a tool call without a name')
    return { id: callId, name, arguments: parseArguments(text) }
  }

  return {
    read(chunk) {
      if (chunk === null || typeof chunk !== 'object') throw badReply('a chunk that is not an object')
      if (isText(chunk.id)) id = chunk.id
      for (const key of ['model', 'system_fingerprint', 'usage'] as const) if (chunk[key]) raw[key] = chunk[key]
      usage = usageOf(chunk.usage) ?? usage
      const choices = Array.isArray(chunk.choices) ? (chunk.choices as (Choice | null)[]) : []
      return choices.flatMap((choice): ReplyPiece[] => {
        if (!choice || (choice.index ?? 0) !== 0) return []
        const { content, refusal, reasoning_content, reasoning, tool_calls: deltas } = choice.delta ?? {}
        const thought = [reasoning_content, reasoning].find(isText)
        const callPieces = (Array.isArray(deltas) ? (deltas as CallDelta[]) : []).flatMap(addCallDelta)
        if (isText(choice.finish_reason)) finish = choice.finish_reason
        const texts = [content, refusal].filter(isText).map((text) => ({ type: 'text' as const, text }))
        return [...(thought ? [{ type: 'reasoning' as const, text: thought }] : []), ...texts, ...callPieces]
      })
    },
    isFinished: () => finish !== null,
    end() {
      if (finish === null) return []
      const toolCalls = calls.map(toToolCall)
      // Some servers finish with "stop" despite tool calls.
      const finishReason = toolCalls.length > 0 && finish === 'stop' ? 'tool-calls' : FINISH_REASONS[finish]
      const end: ReplyEnd = { type: 'end', finishReason: finishReason ?? 'other', usage, id, raw }
      return [...toolCalls.map((toolCall, key) => ({ type: 'tool-call' as const, key, toolCall })), end]
    },
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** Reads the usage; undefined unless it has both counts. */
function usageOf(usage: unknown): ProviderTokenUsage | undefined {
  const {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total,
  } = (usage ?? {}) as Record<string, unknown>
  if (!isCount(input) || !isCount(output)) return undefined
  return { inputTokens: input, outputTokens: output, totalTokens: isCount(total) ? total : input + output }
}
