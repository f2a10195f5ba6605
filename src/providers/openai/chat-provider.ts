// The chat provider for any server with OpenAI's POST /chat/completions. Every call streams, so that a slow model is
// not mistaken for a stalled one. The client's own retries are disabled: the caller decides whether to repeat a call.

import { APIError } from 'openai'
import { Stream } from 'openai/streaming'
import { createChatAdapter, STALL_MS, type ChatAdapter } from '../chat-adapter.ts'
import { createReplySize, type ReplyPiece } from '../reply.ts'
import { ProviderCallFailed, type ProviderCallParams } from '../ports/provider-adapter.ts'
import { failureCodeOf } from '../http-failure.ts'
import { createClient, type Endpoint } from './calls.ts'
import { createChunkReader, type Chunk } from './chat-reply.ts'
import { chatRequest, contextHeaders } from './chat-request.ts'
import { explain, TooLong, type ErrorContext, type SettingNames } from './failure.ts'

export type OpenAiProviderSettings = Endpoint & {
  /** Time without data from the server after which a call fails, ms. Default: STALL_MS. */
  stallMs?: number | undefined
  /** Whether the models accept images; otherwise images are named as text. Default: only at api.openai.com. */
  acceptsImages?: boolean | undefined
  /** The operator's names for the settings, for error messages. Default: `baseUrl`, `apiKey` and "the model". */
  settingNames?: SettingNames | undefined
}

/** Maximum size of one line of the stream, in bytes. The client buffers each line, and parses it as a whole. */
const MAX_LINE_BYTES = 2 * 1024 * 1024

const SETTING_NAMES: SettingNames = { url: 'baseUrl', key: 'apiKey', model: 'the model' }

export function createOpenAiProvider(settings: OpenAiProviderSettings): ChatAdapter {
  const { baseUrl, apiKey, stallMs = STALL_MS, settingNames = SETTING_NAMES } = settings
  const client = createClient(baseUrl, apiKey)
  const { hostname } = new URL(baseUrl)
  const isOpenAi = /(^|\.)openai(\.azure)?\.com$/.test(hostname)
  // A text-only model refuses every call whose context has an image.
  const { acceptsImages = /(^|\.)api\.openai\.com$/.test(hostname) } = settings
  const maxTokensField = isOpenAi ? 'max_completion_tokens' : 'max_tokens'
  const label = ({ metadata }: ProviderCallParams) => `${metadata.provider}:${metadata.model}`
  const adapter = createChatAdapter({
    label,
    stallMs,
    async open(params, { signal, isAlive }) {
      const response = await client.chat.completions
        .create(chatRequest(params, { maxTokensField, acceptsImages }), {
          signal,
          headers: contextHeaders(params.agentContext),
        })
        .asResponse()
      if (!response.body || isOtherFormat(response)) throw new SyntaxError('not a stream of events')
      const body = response.body.pipeThrough(watchLines(isAlive, label(params)))
      const chunks = Stream.fromSSEResponse<Chunk>(
        new Response(body, { headers: response.headers }),
        new AbortController(),
        client,
      )
      return piecesOf(chunks, label(params))
    },
    explain: (error, isAccepted, name) => failureOf(error, isAccepted, { label: name, settings: settingNames }),
  })
  // Servers of models on the operator's own machines fetch no images.
  return { ...adapter, acceptsImages, fetchesUrl: (mediaType, url) => isOpenAi && isImageOfWeb(mediaType, url) }
}

const isImageOfWeb = (mediaType: string, url: string) => mediaType.startsWith('image/') && url.startsWith('https:')

/** Whether the reply has a content type that only other services send. Servers of models may omit the type. */
const isOtherFormat = ({ headers }: Response) =>
  /^(application\/json|text\/html)\b/i.test(headers.get('content-type') ?? '')

/** Calls `isAlive` for each chunk of the body, and fails when a line is longer than MAX_LINE_BYTES. */
function watchLines(isAlive: () => void, label: string): TransformStream<Uint8Array, Uint8Array> {
  let lineBytes = 0
  return new TransformStream({
    transform(bytes, controller) {
      isAlive()
      const lineEnd = bytes.lastIndexOf(0x0a)
      lineBytes = lineEnd < 0 ? lineBytes + bytes.length : bytes.length - lineEnd - 1
      if (lineBytes > MAX_LINE_BYTES) {
        throw new ProviderCallFailed(
          'REPLY_TOO_LARGE',
          `${label} sent a line of more than ${MAX_LINE_BYTES} bytes.`,
          false,
        )
      }
      controller.enqueue(bytes)
    },
  })
}

async function* piecesOf(chunks: AsyncIterable<Chunk>, label: string): AsyncGenerator<ReplyPiece> {
  const reader = createChunkReader(label, createReplySize(label))
  try {
    for await (const chunk of chunks) yield* reader.read(chunk)
  } catch (error) {
    // After the end of the reply, a failure loses only its usage.
    if (!reader.isFinished() || error instanceof ProviderCallFailed) throw error
  }
  yield* reader.end()
}

/** Converts the error of a call. An error within the stream has no HTTP status, but its code may be one. */
function failureOf(
  error: unknown,
  isAccepted: boolean,
  names: Pick<ErrorContext, 'label' | 'settings'>,
): ProviderCallFailed {
  const { label, settings } = names
  if (isAccepted && error instanceof SyntaxError) {
    return new ProviderCallFailed('BAD_REPLY', `${label} sent an event that is not JSON.`, true)
  }
  if (isAccepted && error instanceof APIError && error.status === undefined) {
    return new ProviderCallFailed('UNAVAILABLE', `${label} reported an error in its reply.`, true)
  }
  const advice = `Check ${settings.model} and the parameters of the call.`
  const context: ErrorContext = { ...names, noun: 'a stream of events', advice, splitsRequests: false }
  const { failure, isTransient, pauseMs } = explain(error, context)
  if (isAccepted) {
    return new ProviderCallFailed('CUT_OFF', `${label} ended its reply too early: the connection failed.`, true)
  }
  const status = error instanceof APIError ? (error.status ?? null) : null
  const code =
    failure instanceof TooLong
      ? 'CONTEXT_TOO_LONG'
      : error instanceof SyntaxError
        ? 'BAD_REPLY'
        : status === null
          ? 'UNREACHABLE'
          : failureCodeOf(status, isTransient)
  return new ProviderCallFailed(code, failure.message, isTransient, { status, retryAfterMs: pauseMs })
}
