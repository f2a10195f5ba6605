// The chat provider for any model of Vercel's AI SDK 6. It calls the model object directly, so it imports only types.
// Colloquy itself implements retries, the tool loop and timeouts, instead of the SDK's functions.

import type {
  LanguageModelV3,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
  SharedV3ProviderMetadata,
} from '@ai-sdk/provider'
import { createChatAdapter, STALL_MS, type ChatAdapter } from '../chat-adapter.ts'
import type { ReplyPiece } from '../reply.ts'
import { failureCodeOf, isTooLongFailure, pauseOf } from '../http-failure.ts'
import { parseArguments } from '../message-parts.ts'
import { ProviderCallFailed, type ProviderTokenUsage } from '../ports/provider-adapter.ts'
import { callOptions, isSupported } from './prompt.ts'

/** The members of an AI SDK 6 model that the provider uses. `LanguageModelV3` of @ai-sdk/provider has them. */
export type AiSdkModel = {
  readonly specificationVersion: 'v3'
  readonly provider: string
  readonly modelId: string
  doStream(
    options: never,
  ): PromiseLike<{
    stream: { getReader(): { read(): PromiseLike<{ done: boolean; value?: unknown }>; cancel(): PromiseLike<void> } }
  }>
}

/** A provider with one model. */
export type AiSdkProvider = { adapter: ChatAdapter; defaultModel: string; models: readonly string[] }

/**
 * Creates a provider from a model.
 * @param stallMs time without data from the model after which a call fails, ms; defaults to STALL_MS
 * @param acceptsImages whether the model accepts images; otherwise images of attachments are named as text. Defaults to true
 * @throws TypeError for a model of another version of the SDK
 */
export function createAiSdkProvider(
  given: AiSdkModel,
  { stallMs = STALL_MS, acceptsImages = true } = {},
): AiSdkProvider {
  if (given?.specificationVersion !== 'v3') {
    const version = String(given?.specificationVersion)
    throw new TypeError(`The model's specificationVersion is ${version}, not v3. Use a model object of AI SDK 6.`)
  }
  const model = given as unknown as LanguageModelV3
  const adapter = createChatAdapter({
    label: () => `${model.provider}:${model.modelId}`,
    stallMs,
    async open(params, { signal, isAlive }) {
      const options = callOptions(params, await model.supportedUrls)
      const { stream } = await model.doStream({ ...options, abortSignal: signal })
      return piecesOf(stream.getReader(), isAlive)
    },
    explain: failureOf,
  })
  const fetchesUrl = async (mediaType: string, url: string) => isSupported(await model.supportedUrls, mediaType, url)
  return { adapter: { ...adapter, acceptsImages, fetchesUrl }, defaultModel: model.modelId, models: [model.modelId] }
}

type Reader = ReadableStreamDefaultReader<LanguageModelV3StreamPart>

/** Reads the parts of a stream. Omits sources, files, and tool calls that the provider executes. */
async function* piecesOf(reader: Reader, isAlive: () => void): AsyncGenerator<ReplyPiece> {
  let id: string | undefined
  let signature: string | undefined
  /** The calls whose deltas are not JSON. Their arguments follow as a whole. */
  const textCalls = new Set<string>()
  try {
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
      isAlive()
      switch (value?.type) {
        case 'text-delta':
          yield { type: 'text', text: value.delta }
          break
        case 'reasoning-delta':
          signature = signatureOf(value.providerMetadata) ?? signature
          yield { type: 'reasoning', text: value.delta }
          break
        case 'reasoning-end':
          yield { type: 'reasoning-end', signature: signatureOf(value.providerMetadata) ?? signature }
          signature = undefined
          break
        case 'tool-input-start':
          if (value.inputEncoding === 'text') textCalls.add(value.id)
          if (!value.providerExecuted) yield { type: 'call-start', key: value.id, id: value.id, name: value.toolName }
          break
        case 'tool-input-delta':
          if (!textCalls.has(value.id)) yield { type: 'call-delta', key: value.id, text: value.delta }
          break
        case 'tool-call':
          if (value.providerExecuted) break
          yield {
            type: 'tool-call',
            key: value.toolCallId,
            toolCall: { id: value.toolCallId, name: value.toolName, arguments: parseArguments(value.input) },
          }
          break
        case 'response-metadata':
          id = value.id
          break
        case 'finish': {
          const { finishReason, usage, providerMetadata } = value
          if (finishReason.unified === 'error') return
          yield {
            type: 'end',
            finishReason: finishReason.unified,
            usage: usageOf(usage),
            id,
            raw: { finishReason, usage, providerMetadata },
          }
          return
        }
        case 'error':
          throw value.error
      }
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** Returns Anthropic's signature of reasoning, as a turn stores it; undefined for other providers. */
function signatureOf(metadata: SharedV3ProviderMetadata | undefined): string | undefined {
  const signature = metadata?.anthropic?.signature
  return typeof signature === 'string' ? signature : undefined
}

/** Returns the token counts; undefined unless the model reports those of both input and output. */
function usageOf({ inputTokens, outputTokens }: LanguageModelV3Usage): ProviderTokenUsage | undefined {
  const [input, output] = [inputTokens.total, outputTokens.total]
  return input === undefined || output === undefined
    ? undefined
    : { inputTokens: input, outputTokens: output, totalTokens: input + output }
}

/** An error of the SDK. Its message quotes the provider's reply, so no message of ProviderCallFailed contains it. */
type SdkError = Error & { statusCode?: number; isRetryable?: boolean; responseHeaders?: Record<string, string> }

/** Whether the connection failed: `fetch` throws an error with a cause. */
const isConnection = (error: Error) => error.cause instanceof Error

/** Converts an error of the model. Rethrows `given` if neither the SDK nor the connection caused it. */
function failureOf(given: unknown, isAccepted: boolean, label: string): ProviderCallFailed {
  if (!(given instanceof Error)) return new ProviderCallFailed('UNAVAILABLE', `${label} reported an error.`, true)
  const error = given as SdkError
  const { statusCode: status, isRetryable = false } = error
  if (status !== undefined && !isAccepted) {
    const headers = new Headers(error.responseHeaders)
    const code = isTooLongFailure(status, error.message) ? 'CONTEXT_TOO_LONG' : failureCodeOf(status, isRetryable)
    const text = `${label} answered with status ${status}${code === 'CONTEXT_TOO_LONG' ? ': the input is too long' : ''}.`
    return new ProviderCallFailed(code, text, isRetryable, { status, retryAfterMs: pauseOf(headers) })
  }
  if (
    /^AI_(LoadAPIKey|LoadSetting|NoSuchModel|UnsupportedFunctionality|InvalidPrompt|InvalidArgument)/.test(error.name)
  ) {
    return new ProviderCallFailed('REFUSED', `${label} does not accept the call: ${error.name}.`, false)
  }
  if (/^AI_(JSONParse|TypeValidation|InvalidResponseData|EmptyResponseBody|NoContentGenerated)/.test(error.name)) {
    return new ProviderCallFailed('BAD_REPLY', `${label} sent an invalid reply: ${error.name}.`, true)
  }
  if (error.name.startsWith('AI_') || isConnection(error)) {
    return isAccepted
      ? new ProviderCallFailed('CUT_OFF', `${label} ended its reply too early: the connection failed.`, true)
      : new ProviderCallFailed('UNREACHABLE', `${label} cannot be reached.`, true)
  }
  throw error
}
