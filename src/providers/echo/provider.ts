// A chat provider without a model, for demos and tests. It answers word by word, from the context or from a script
// (script.ts). Equal calls get equal replies. It counts each word as one token.

import { createHash } from 'node:crypto'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { createChatAdapter, STALL_MS, type ChatAdapter } from '../chat-adapter.ts'
import type { ReplyPiece } from '../reply.ts'
import { asText } from '../message-parts.ts'
import { ProviderCallFailed, type ProviderCallParams } from '../ports/provider-adapter.ts'
import { answerFrom, resultText } from './answer.ts'
import { findRule, InvalidScript, type EchoRule } from './script.ts'

export type EchoProviderSettings = {
  /** Pause before each word, ms. Default: 0. */
  wordMs?: number | undefined
  /** Time without a word after which a call fails, ms. Default: STALL_MS. */
  stallMs?: number | undefined
  /** Ends the process, for rules with `die`. Default: such rules are refused. */
  die?: (() => void) | undefined
}

/** The only model of the echo provider. */
export const ECHO_MODEL = 'echo'

/** Maximum number of different calls whose scripted failures are counted. The oldest ones are forgotten. */
const COUNTED_CALLS = 1_000

type Plan = {
  rule: Partial<EchoRule>
  words: string[]
  toolCalls: { name: string; arguments: unknown }[]
  /** A digest of the messages. */
  key: string
}

export function createEchoProvider({ wordMs = 0, stallMs = STALL_MS, die }: EchoProviderSettings = {}): ChatAdapter {
  /** Number of scripted failures, by digest of the messages. */
  const failures = new Map<string, number>()

  /** Counts a call of a rule with `fail`. Returns whether the call fails, as the first `times` equal calls do. */
  function countsAsFailure(key: string, times: number): boolean {
    const count = (failures.get(key) ?? 0) + 1
    if (count > times) return false
    failures.delete(key)
    failures.set(key, count)
    if (failures.size > COUNTED_CALLS) failures.delete(failures.keys().next().value!)
    return true
  }

  /** Applies `stall`, `die` and `fail` of the rule. */
  async function interrupt({ rule: { fail, stall, die: dies }, key }: Plan, signal: AbortSignal): Promise<void> {
    if (stall) await untilAborted(signal)
    if (dies) {
      if (!die) throw refused('may not end the process: its settings do not allow it')
      die()
      await untilAborted(signal)
    }
    if (fail && countsAsFailure(key, fail.times ?? Infinity)) {
      const { code, status = null, retryAfterMs = null } = fail
      const retryable = ['RATE_LIMITED', 'UNAVAILABLE', 'UNREACHABLE', 'CUT_OFF', 'STALLED', 'BAD_REPLY'].includes(code)
      throw new ProviderCallFailed(code, `echo fails with ${code}, as its script says.`, retryable, {
        status,
        retryAfterMs,
      })
    }
  }

  async function* piecesOf(params: ProviderCallParams, plan: Plan, signal: AbortSignal): AsyncGenerator<ReplyPiece> {
    const { rule, words, key, toolCalls } = plan
    const pause = rule.wordMs ?? wordMs
    const limit = params.maxTokens ?? Infinity
    for (const word of wordsOf(rule.reasoning ?? '')) {
      await (pause > 0 ? sleep(pause, undefined, { signal }) : setImmediate())
      yield { type: 'reasoning', text: word }
    }
    if (rule.reasoning) yield { type: 'reasoning-end' }
    for (const [index, word] of words.slice(0, limit).entries()) {
      if (index > 0 && index === rule.after) await interrupt(plan, signal)
      await (pause > 0 ? sleep(pause, undefined, { signal }) : setImmediate())
      yield { type: 'text', text: word }
    }
    if (rule.after && rule.after >= words.length) await interrupt(plan, signal)
    const isCut = words.length > limit
    for (const [index, call] of isCut ? [] : toolCalls.entries()) {
      const id = `call_${key}_${index}`
      yield { type: 'call-start', key: id, id, name: call.name }
      for (const piece of piecesOfArguments(call.arguments)) {
        await (pause > 0 ? sleep(pause, undefined, { signal }) : setImmediate())
        yield { type: 'call-delta', key: id, text: piece }
      }
      yield { type: 'tool-call', key: id, toolCall: { id, ...call } }
    }
    const inputTokens = params.messages.reduce((sum, message) => sum + wordsOf(contentOf(message)).length, 0)
    const outputTokens = Math.min(words.length, limit) + (isCut ? 0 : wordsOf(JSON.stringify(toolCalls)).length)
    yield {
      type: 'end',
      finishReason: isCut ? 'length' : toolCalls.length > 0 ? 'tool-calls' : 'stop',
      usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
      id: `echo_${key}`,
      raw: { rule: rule.when ?? null },
    }
  }

  return createChatAdapter({
    label: ({ metadata }) => `${metadata.provider}:${metadata.model}`,
    stallMs,
    async open(params, { signal }) {
      const plan = planOf(params)
      if (!plan.rule.after) await interrupt(plan, signal)
      return piecesOf(params, plan, signal)
    },
    explain(error) {
      if (error instanceof InvalidScript) return refused(`has an invalid script: ${error.message}`)
      throw error
    },
  })
}

const refused = (reason: string) => new ProviderCallFailed('REFUSED', `echo ${reason}.`, false)

/** Returns a promise that rejects with the signal's reason when the signal is aborted. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })

const contentOf = ({ content }: ProviderCallParams['messages'][number]) => content.map((part) => asText(part)).join(' ')

/** Splits a text into words of at most 1,000 characters, each with the white space after it. */
const wordsOf = (text: string): string[] => text.match(/\s{1,1000}|\S{1,1000}\s{0,1000}/gu) ?? []

/** Splits the JSON of the arguments of a tool call into pieces of 16 UTF-16 units. */
const piecesOfArguments = (given: unknown): string[] => JSON.stringify(given).match(/[^]{1,16}/g) ?? []

/** Returns the reply to a call, and how it fails. @throws InvalidScript */
function planOf(params: ProviderCallParams): Plan {
  const { messages, toolChoice, tools = [] } = params
  const rule: Partial<EchoRule> = findRule(params) ?? {}
  const template = rule.text ?? (rule.tools ? '' : '{{answer}}')
  const text = template
    .replaceAll('{{answer}}', () => answerFrom(messages))
    .replaceAll('{{result}}', () => resultText(messages))
    .repeat(rule.repeat ?? 1)
  const key = createHash('sha256').update(JSON.stringify(messages)).digest('hex').slice(0, 16)
  return { rule, words: wordsOf(text), toolCalls: callsOf(rule, toolChoice, tools), key }
}

/** Returns the scripted tool calls; without a script, the call that `toolChoice` requires. */
function callsOf(rule: Partial<EchoRule>, toolChoice: unknown, tools: readonly { name: string }[]): Plan['toolCalls'] {
  if (toolChoice === 'none') return []
  if (rule.tools) return rule.tools
  const name = toolChoice === 'required' ? tools[0]?.name : (toolChoice as { name?: unknown } | undefined)?.name
  return typeof name === 'string' && rule.text === undefined ? [{ name, arguments: {} }] : []
}
