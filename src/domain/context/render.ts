// Renders messages in the formats of model providers and their libraries. Content that a format does not
// support is rendered as text, or left out if the provider would reject it.

import { toAiSdk, type AiSdkMessage } from './render/ai-sdk.ts'
import { toAnthropic, toAnthropicPrompt, OPENING, type AnthropicPrompt } from './render/anthropic.ts'
import { toOpenAi, type OpenAiMessage } from './render/openai.ts'
import { pairCallsWithResults, callsOf, noResult, stepsOf, type RenderStep } from './render/step.ts'
import type { Message } from './message.ts'

export const FORMATS = ['OPENAI', 'ANTHROPIC', 'AI_SDK'] as const
export type Format = (typeof FORMATS)[number]

export type Rendered = { OPENAI: OpenAiMessage[]; ANTHROPIC: AnthropicPrompt; AI_SDK: AiSdkMessage[] }

const RENDER: { [F in Format]: (steps: readonly RenderStep[]) => Rendered[F] } = {
  OPENAI: (steps) => steps.flatMap(toOpenAi),
  ANTHROPIC: toAnthropicPrompt,
  AI_SDK: (steps) => steps.flatMap(toAiSdk),
}

/** Renders the messages in a format, ready to be sent. */
export function render<F extends Format>(messages: readonly Message[], format: F): Rendered[F] {
  return RENDER[format](pairCallsWithResults(messages.flatMap(stepsOf)))
}

/**
 * Returns the JSON of each provider message or block that `render` produces for the message. The sum of these sizes is
 * an upper bound of the rendered size, because `render` merges messages. It excludes the message of OPENING_JSON.
 * @param unanswered ids of the message's calls without a result; a placeholder is counted for each
 */
export function piecesOf(message: Message, format: Format, unanswered: ReadonlySet<string>): string[] {
  const steps = stepsOf(message).flatMap((step): RenderStep[] => {
    const results =
      step.role === 'tool'
        ? step.results
        : callsOf(step)
            .filter(({ callId }) => unanswered.has(callId))
            .map(noResult)
    const resultSteps = results.map((result): RenderStep => ({ role: 'tool', results: [result] }))
    return step.role === 'tool' ? resultSteps : [step, ...resultSteps]
  })
  const rendered: unknown[] =
    format === 'OPENAI'
      ? steps.flatMap(toOpenAi)
      : format === 'AI_SDK'
        ? steps.flatMap(toAiSdk)
        : steps.map((step) => (step.role === 'system' ? { type: 'text', text: step.text } : toAnthropic(step)))
  return rendered.map((each) => JSON.stringify(each))
}

/** The JSON of the user message that Anthropic's rendering inserts before a first message by the assistant. */
export const OPENING_JSON = JSON.stringify(OPENING)
