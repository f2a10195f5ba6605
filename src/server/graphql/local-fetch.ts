// A `fetch` that executes GraphQL operations in this process, with yoga's plugins, so that a face can use the client of the
// package. It answers like /graphql: a result as JSON, or the results of a subscription as an event stream. Files are
// uploaded by the function that their door has.

import { getOperationAST, OperationTypeNode, type DocumentNode, type ExecutionResult } from 'graphql'
import type { Viewer } from '../../domain/kernel/view.ts'
import type { HeldAnswer } from '../../graphql/kernel/limits/work.ts'
import type { RequestContext } from '../../graphql/kernel/request.ts'
import { stringify } from '../../runtime/json/text.ts'
import { isIterable, type Parameters } from '../live/operation.ts'
import { resultWithoutHttp } from './failures.ts'
import type { Yoga } from './yoga.ts'

/** Time between comments in a stream without results, ms: the client takes a silent stream for a lost one. */
const HEARTBEAT_MS = 12_000

/** The viewer of the operations, and whether the client of the face has disconnected. */
export type LocalClient = {
  viewer: Viewer
  isGone(): boolean
  /** Uploads a file, and returns the status of the answer and its JSON. */
  upload(url: string, contentType: string | undefined, body: Buffer): Promise<{ status: number; body: object }>
}

// The client keeps the answers for as long as its stream lives, so they take no share of the memory for answers.
const holdAnswer = ({ release }: HeldAnswer) => release()

async function execute(yoga: Yoga, { viewer, isGone }: Pick<LocalClient, 'viewer' | 'isGone'>, params: Parameters) {
  const enveloped = yoga.getEnveloped({ viewer, isGone, holdAnswer, params })
  const document = enveloped.parse(params.query) as DocumentNode
  const errors = enveloped.validate(enveloped.schema, document) as ExecutionResult['errors']
  if (errors && errors.length > 0) return { errors }
  const contextValue = (await enveloped.contextFactory()) as RequestContext
  const { operationName, variables: variableValues } = params
  const args = { schema: enveloped.schema, document, operationName, variableValues, contextValue }
  const isSubscription = getOperationAST(document, operationName)?.operation === OperationTypeNode.SUBSCRIPTION
  return (isSubscription ? enveloped.subscribe(args) : enveloped.execute(args)) as Promise<
    ExecutionResult | AsyncIterable<ExecutionResult>
  >
}

/** Yields the events of a stream, and a comment whenever there was none for HEARTBEAT_MS. */
async function* framesOf(results: AsyncIterable<ExecutionResult>, signal: AbortSignal): AsyncGenerator<string, void> {
  const iterator = results[Symbol.asyncIterator]()
  const stop = () => void iterator.return?.().catch(() => {})
  signal.addEventListener('abort', stop, { once: true })
  try {
    let next = iterator.next()
    while (!signal.aborted) {
      let timer: ReturnType<typeof setTimeout> | undefined
      const silence = new Promise<null>((resolve) => (timer = setTimeout(() => resolve(null), HEARTBEAT_MS)))
      const result = await Promise.race([next, silence]).finally(() => clearTimeout(timer))
      if (result?.done) break
      if (result) next = iterator.next()
      yield result ? `event: next\ndata: ${stringify(resultWithoutHttp(result.value))}\n\n` : ':\n\n'
    }
    yield 'event: complete\ndata:\n\n'
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

function streamOf(frames: AsyncGenerator<string, void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await frames.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    cancel: () => void frames.return().catch(() => {}),
  })
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** Returns the function. It takes what the client of the package sends: a POST with JSON, or with a file. */
export const createLocalFetch =
  (yoga: Yoga, client: LocalClient): typeof fetch =>
  async (url, init) => {
    if (init!.body instanceof Blob) {
      const [type, bytes] = [init!.body.type || undefined, Buffer.from(await init!.body.arrayBuffer())]
      const { status, body } = await client.upload(String(url), type, bytes)
      return new Response(stringify(body), { status, headers: JSON_TYPE })
    }
    const params = JSON.parse(init!.body as string) as Parameters
    const outcome = await execute(yoga, client, params)
    init!.signal?.throwIfAborted()
    if (isIterable(outcome)) {
      const frames = framesOf(outcome, init!.signal!)
      return new Response(streamOf(frames), { headers: { 'content-type': 'text/event-stream' } })
    }
    return new Response(stringify(resultWithoutHttp(outcome)), { headers: JSON_TYPE })
  }
