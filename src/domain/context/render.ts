// Renders messages in the formats of model providers and their libraries. Content that a format lacks becomes text, or
// is left out if the provider would reject it.

import { toAiSdk, type AiSdkMessage } from './render/ai-sdk.ts'
import { toAnthropic, toAnthropicPrompt, OPENING, type AnthropicPrompt } from './render/anthropic.ts'
import { toOpenAi, type OpenAiMessage } from './render/openai.ts'
import { answered, callsOf, noResult, stepsOf, type RenderStep } from './render/step.ts'
import type { Message } from './message.ts'

export const FORMATS = ['OPENAI', 'ANTHROPIC', 'AI_SDK'] as const
export type Format = (typeof FORMATS)[number]

export type Rendered = { OPENAI: OpenAiMessage[]; ANTHROPIC: AnthropicPrompt; AI_SDK: AiSdkMessage[] }

const RENDER: { [F in Format]: (steps: readonly RenderStep[]) => Rendered[F] } = {
  OPENAI: (steps) => steps.flatMap(toOpenAi),
  ANTHROPIC: toAnthropicPrompt,
  AI_SDK: (steps) => steps.flatMap(toAiSdk),
}

const OPENS: ReadonlySet<Message['kind']> = new Set(['SYSTEM_PROMPT', 'SUMMARY'])

/**
 * Renders the messages in a format, ready to be sent. System prompt and summaries precede profiles and facts, because
 * some providers reject a system message after a user message.
 */
export function render<F extends Format>(messages: readonly Message[], format: F): Rendered[F] {
  const opening = messages.filter(({ kind }) => OPENS.has(kind))
  const rest = messages.filter(({ kind }) => !OPENS.has(kind))
  return RENDER[format](answered([...opening, ...rest].flatMap(stepsOf)))
}

/**
 * Returns the JSON of each piece that a message is rendered as in a format. The sum is an upper bound: tool results
 * that move to their call may share one message, and Anthropic's adjacent messages of one role are merged.
 *
 * `unanswered`: ids of the message's calls without a result; other results are counted with their own messages.
 */
export function piecesOf(message: Message, format: Format, unanswered: ReadonlySet<string>): string[] {
  const steps = stepsOf(message).flatMap((step): RenderStep[] => {
    const results =
      step.role === 'tool'
        ? step.results
        : callsOf(step)
            .filter(({ callId }) => unanswered.has(callId))
            .map(noResult)
    const alone = results.map((result): RenderStep => ({ role: 'tool', results: [result] }))
    return step.role === 'tool' ? alone : [step, ...alone]
  })
  const made: unknown[] =
    format === 'OPENAI'
      ? steps.flatMap(toOpenAi)
      : format === 'AI_SDK'
        ? steps.flatMap(toAiSdk)
        : steps.map((step) => (step.role === 'system' ? { type: 'text', text: step.text } : toAnthropic(step)))
  return made.map((each) => JSON.stringify(each))
}

/** The JSON of the message that Anthropic's rendering starts with if the first message is the assistant's. */
export const OPENING_JSON = JSON.stringify(OPENING)
