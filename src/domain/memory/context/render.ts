// Renders messages in the formats of model providers and their libraries. Content that a format does not
// support is rendered as text, or left out if the provider would reject it.

import { toAiSdk, toAiSdkPrompt, type AiSdkPrompt } from './render/ai-sdk.ts'
import { toAnthropic, toAnthropicPrompt, OPENING, type AnthropicPrompt } from './render/anthropic.ts'
import type { ProviderMessage } from '../../../providers/ports/provider-adapter.ts'
import { toOpenAi, type OpenAiMessage } from './render/openai.ts'
import { toProvider } from './render/provider.ts'
import { pairCallsWithResults, callsOf, noResult, stepsOf, type RenderStep } from './render/step.ts'
import { toUiMessages, toUiParts, type UiMessage } from './render/ui.ts'
import type { Message } from './message.ts'

export const FORMATS = ['OPENAI', 'ANTHROPIC', 'AI_SDK', 'UI_MESSAGES'] as const
export type Format = (typeof FORMATS)[number]

export type Rendered = {
  OPENAI: OpenAiMessage[]
  ANTHROPIC: AnthropicPrompt
  AI_SDK: AiSdkPrompt
  UI_MESSAGES: UiMessage[]
}

const pairedStepsOf = (messages: readonly Message[]) => pairCallsWithResults(messages.flatMap(stepsOf))

const RENDER: { [F in Format]: (messages: readonly Message[]) => Rendered[F] } = {
  OPENAI: (messages) => pairedStepsOf(messages).flatMap(toOpenAi),
  ANTHROPIC: (messages) => toAnthropicPrompt(pairedStepsOf(messages)),
  AI_SDK: (messages) => toAiSdkPrompt(pairedStepsOf(messages)),
  UI_MESSAGES: toUiMessages,
}

/** Renders the messages in a format that can be sent as it is. */
export const render = <F extends Format>(messages: readonly Message[], format: F): Rendered[F] =>
  RENDER[format](messages)

/** Renders the messages for the port of chat providers. */
export const renderForProvider = (messages: readonly Message[]): ProviderMessage[] =>
  pairedStepsOf(messages).flatMap(toProvider)

const PIECES: { [F in Format]: (step: RenderStep) => unknown[] } = {
  OPENAI: toOpenAi,
  ANTHROPIC: (step) => [step.role === 'system' ? { type: 'text', text: step.text } : toAnthropic(step)],
  AI_SDK: (step) => (step.role === 'system' ? [{ role: 'system', content: step.text }] : toAiSdk(step)),
  // System and tool steps are counted as model messages of the AI SDK. `render` puts a tool result into the part of its
  // call, where it is smaller than as a separate message, so the sum is still an upper bound.
  UI_MESSAGES(step) {
    if (step.role === 'system' || step.role === 'tool') return PIECES.AI_SDK(step)
    const content = toUiParts(step)
    return content.length === 0 ? [] : [{ role: step.role, content }]
  },
}

/**
 * Returns the JSON of each provider message or block for the message, before `render` merges messages. The sum of their
 * lengths is an upper bound of the rendered size without the message of OPENING_JSON, and without the ids and metadata
 * of UI messages, which are not sent to models.
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
  return steps.flatMap(PIECES[format]).map((each) => JSON.stringify(each))
}

/** The JSON of the user message that Anthropic's rendering inserts if the first message is the assistant's. */
export const OPENING_JSON = JSON.stringify(OPENING)
