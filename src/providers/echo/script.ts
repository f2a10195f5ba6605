// The scripts of the echo provider: rules for its replies and failures. The functions are pure.
//
// A rule applies if the newest user message contains `when`, and `round` rounds of tool calls followed that message.
// The first rule that applies is used. Rules are read from `extensions.echo`, from the newest user message, and from
// the system messages, newest first. A message contains them as `{"echo": …}`, with one rule or a list of rules.

import { z } from 'zod'
import { textOf, toolCallsOf } from '../message-parts.ts'
import type { ProviderCallParams, ProviderFailureCode, ProviderMessage } from '../ports/provider-adapter.ts'

/**
 * Maximum length of a rule's text times `repeat`, before placeholders are replaced, in UTF-16 units. Exceeds
 * MAX_REPLY_BYTES, so that scripts can test that limit.
 */
const MAX_UNITS = 16 * 1024 * 1024
/** Maximum length of a rule's reasoning, in UTF-16 units. */
const MAX_REASONING = 65_536
/** Maximum pause before a word, ms. */
const MAX_WORD_MS = 60_000

const CODES = [
  'RATE_LIMITED',
  'UNAVAILABLE',
  'UNREACHABLE',
  'CUT_OFF',
  'STALLED',
  'BAD_REPLY',
  'REPLY_TOO_LARGE',
  'CONTEXT_TOO_LONG',
  'QUOTA_EXHAUSTED',
  'REFUSED',
  'CLOSED',
] as const satisfies readonly ProviderFailureCode[]

const failure = z.strictObject({
  code: z.enum(CODES),
  /** HTTP status of the failure. Default: none. */
  status: z.int().min(400).max(599).optional(),
  /** Pause that the failure requests, ms. Default: none. */
  retryAfterMs: z.int().min(0).max(3_600_000).optional(),
  /** Number of equal calls that fail before one succeeds. Default: all calls fail. */
  times: z.int().min(1).optional(),
})

const rule = z
  .strictObject({
    /** Text in the newest user message; case is ignored. Default: the rule applies to every message. */
    when: z.string().optional(),
    /**
     * Number of rounds of tool calls after the newest user message, or "any". Default: 0 for a rule with tool calls, so
     * that it applies only once; otherwise "any".
     */
    round: z.union([z.int().min(0), z.literal('any')]).optional(),
    /**
     * `{{answer}}` is replaced with the answer from the context, and `{{result}}` with the tool results after the
     * newest user message. Default: "{{answer}}"; for a rule with `tools`, an empty text.
     */
    text: z.string().optional(),
    /** Number of times that the text is repeated. Default: 1. */
    repeat: z.int().min(1).optional(),
    /** Reasoning before the text, word by word. Default: none. */
    reasoning: z.string().max(MAX_REASONING).optional(),
    /** Tool calls that follow the text, their arguments in pieces. Default: none. */
    tools: z.array(z.strictObject({ name: z.string(), arguments: z.unknown().default({}) })).optional(),
    /** Pause before each word, ms. Defaults to the provider's setting. */
    wordMs: z.int().min(0).max(MAX_WORD_MS).optional(),
    /** Number of words before `fail`, `stall` or `die`. Default: 0, before the reply begins. */
    after: z.int().min(0).default(0),
    fail: failure.optional(),
    /** Whether the reply sends nothing more and never ends, so that the call fails with STALLED. Default: no. */
    stall: z.literal(true).optional(),
    /** Whether the process ends by SIGKILL, if the provider's settings allow it. Default: no. */
    die: z.literal(true).optional(),
  })
  .refine(
    ({ text = '', repeat = 1 }) => text.length * repeat <= MAX_UNITS,
    `has a text of more than ${MAX_UNITS} UTF-16 units`,
  )
const rules = z.array(rule)

export type EchoRule = z.output<typeof rule>

/** The script does not have the required format. */
export class InvalidScript extends Error {}

/** Whether the message is by a user. That of the shared state, `state`, is between a question and the calls that follow. */
const isUser = ({ role, name }: ProviderMessage) => role === 'user' && name !== 'state'

/** Returns the newest user message; undefined if there is none. */
export const questionOf = (messages: readonly ProviderMessage[]): ProviderMessage | undefined =>
  messages.findLast(isUser)

/** Returns the messages after the newest user message. */
export const afterQuestion = (messages: readonly ProviderMessage[]): ProviderMessage[] =>
  messages.slice(messages.findLastIndex(isUser) + 1)

/** Returns the rule that applies; null if none does. @throws InvalidScript */
export function findRule({ messages, metadata }: ProviderCallParams): EchoRule | null {
  const question = questionOf(messages)
  const text = question ? textOf(question).toLowerCase() : ''
  const round = afterQuestion(messages).filter((message) => toolCallsOf(message).length > 0).length
  const systems = messages.filter(({ role }) => role === 'system').toReversed()
  const lists = [
    metadata.extensions?.echo,
    question && scriptIn(textOf(question)),
    ...systems.map((message) => scriptIn(textOf(message))),
  ]
  for (const list of lists) {
    if (list === undefined) continue
    const found = parse(list).find(
      (each) =>
        (each.when === undefined || text.includes(each.when.toLowerCase()))
        && [round, 'any'].includes(each.round ?? (each.tools ? 0 : 'any')),
    )
    if (found) return found
  }
  return null
}

/**
 * Parses the text from the first `{"echo":` to the last `}` as JSON, and returns the value of "echo"; undefined if
 * there is no `{"echo":`. @throws InvalidScript
 */
function scriptIn(text: string): unknown {
  const start = text.search(/\{\s*"echo"\s*:/)
  if (start < 0) return undefined
  try {
    return (JSON.parse(text.slice(start, text.lastIndexOf('}') + 1)) as { echo: unknown }).echo
  } catch {
    throw new InvalidScript('it is not JSON')
  }
}

function parse(value: unknown): EchoRule[] {
  const { data, error } = rules.safeParse(Array.isArray(value) ? value : [value])
  if (!error) return data
  const [issue] = error.issues
  throw new InvalidScript(`${issue!.path.join('.')}: ${issue!.message}`)
}
