// The messages in the shapes that model providers and their libraries take. What a format cannot say is said in words,
// or left out where it would be refused.

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
 * The messages in that format, ready to be sent. System prompt and summaries stand together, before profiles and facts:
 * some providers refuse what is the system's after what is a user's.
 */
export function render<F extends Format>(messages: readonly Message[], format: F): Rendered[F] {
  const opening = messages.filter(({ kind }) => OPENS.has(kind))
  const rest = messages.filter(({ kind }) => !OPENS.has(kind))
  return RENDER[format](answered([...opening, ...rest].flatMap(stepsOf)))
}

/**
 * The JSON of what one message comes to in a format, piece by piece. That is the most it can come to: results of tools
 * move up to their calls, where several may be one message, and Anthropic's neighbours of one role become one.
 *
 * `unanswered`: those of its calls that nobody answered; the other results are counted with the messages they are of.
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

/** What stands first in Anthropic's rendering where the model's own words would. */
export const OPENING_JSON = JSON.stringify(OPENING)
