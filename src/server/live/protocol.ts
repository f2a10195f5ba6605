// The protocol graphql-transport-ws for one socket: https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md.
// Each operation has its own state, because a client may reuse an id as soon as it has completed the operation. The
// server of the package graphql-ws keeps its state by id, so it would confuse the two operations.

import { GraphQLError, type ExecutionResult } from 'graphql'
import { CloseCode, MessageType, parseMessage, type SubscribePayload } from 'graphql-ws'
import type { Clock } from '../../runtime/clock.ts'
import { stringify } from '../../runtime/json/text.ts'
import { resultWithoutHttp, withoutHttp } from '../graphql/failures.ts'
import { isIterable, isRefused, type Outcome } from './operation.ts'

/** Maximum number of concurrent operations per socket, subscriptions included. */
const MAX_OPERATIONS = 100
/** Time within which a client must send `connection_init`, ms. */
const INIT_TIMEOUT_MS = 3_000
/** Maximum size of the reason of a close frame (RFC 6455 §5.5), in bytes. */
const REASON_BYTES = 123

/** Cuts the text to the maximum size of a close frame's reason. */
export function closeReason(text: string): string {
  if (Buffer.byteLength(text) <= REASON_BYTES) return text
  let cut = ''
  for (const character of text) {
    if (Buffer.byteLength(cut + character) > REASON_BYTES - 3) break
    cut += character
  }
  return `${cut}…`
}

export type Operation = {
  readonly id: string
  /** False once the last message is sent, the client has completed the operation, or the socket is closed. */
  isLive: boolean
  /** Calls `onEnd` when the operation has ended, after its result has been written. */
  whenEnded(onEnd: () => void): void
}

/** The payload, if any, of the answer to an accepted client; or the close code and reason for a refused one. */
export type Acceptance = { payload?: Record<string, unknown> } | { code: number; reason: string }

export type Handlers = {
  /** Accepts or refuses the client. Synchronous if nothing must be read, for clients that do not await the answer. */
  connect(parameters: Record<string, unknown>): Acceptance | Promise<Acceptance>
  /** Accepts or refuses the new token in the payload of a ping; null if the payload contains none. */
  renew(payload: Record<string, unknown>): Promise<Acceptance> | null
  run(operation: Operation, payload: SubscribePayload): Promise<Outcome>
  /** Returns the error to send for an unexpected error. */
  mask(error: unknown): GraphQLError
}

/** The socket of a protocol. `send` resolves when the message is written. Both functions ignore a closed socket. */
export type Wire = { send(data: string): Promise<void>; close(code: number, reason: string): void }

export type Protocol = {
  /** Handles a message from the client. Resolves when the last answer to it is written. */
  receive(data: string): Promise<void>
  /** Ends all operations. Called when the socket is closed. */
  closed(): void
}

type Running = Operation & { iterator: AsyncIterator<ExecutionResult> | null; onEnd: (() => void)[] }

const createRunning = (id: string): Running => {
  const onEnd: (() => void)[] = []
  return { id, isLive: true, iterator: null, onEnd, whenEnded: (callback) => void onEnd.push(callback) }
}

const tooManyOperations = () =>
  new GraphQLError(`This socket already runs ${MAX_OPERATIONS} operations: complete one, or open another socket.`, {
    extensions: { code: 'TOO_MANY_OPERATIONS' },
  })

/** Runs the operations of one socket. */
function createOperations({ send }: Pick<Wire, 'send'>, { run, mask }: Pick<Handlers, 'run' | 'mask'>) {
  const running = new Map<string, Running>()

  function end(operation: Running): void {
    operation.isLive = false
    if (running.get(operation.id) === operation) running.delete(operation.id)
    const { iterator } = operation
    operation.iterator = null
    iterator?.return?.().catch(mask)
    for (const callback of operation.onEnd.splice(0)) callback()
  }

  /** Sends a message of the operation, unless it has ended. */
  async function answer(operation: Running, type: MessageType, payload: unknown): Promise<void> {
    if (operation.isLive) await send(stringify({ id: operation.id, type, payload }))
  }

  /** Ends the operation and sends its last message. After receiving this message, the client may reuse the id. */
  async function finish(operation: Running, type: MessageType, payload?: unknown): Promise<void> {
    if (!operation.isLive) return
    end(operation)
    await send(stringify({ id: operation.id, type, payload }))
  }

  async function answerAll(operation: Running, results: AsyncIterable<ExecutionResult>): Promise<void> {
    const iterator = (operation.iterator = results[Symbol.asyncIterator]())
    while (operation.isLive) {
      const { done, value } = await iterator.next()
      if (done) return
      await answer(operation, MessageType.Next, resultWithoutHttp(value))
    }
  }

  return {
    has: (id: string) => running.has(id),
    async start(id: string, payload: SubscribePayload): Promise<void> {
      const operation = createRunning(id)
      if (running.size >= MAX_OPERATIONS) return finish(operation, MessageType.Error, [tooManyOperations()])
      running.set(id, operation)
      try {
        const outcome = await run(operation, payload)
        if (isRefused(outcome)) return await finish(operation, MessageType.Error, outcome.map(withoutHttp))
        if (isIterable(outcome)) await answerAll(operation, outcome)
        else await answer(operation, MessageType.Next, resultWithoutHttp(outcome))
        await finish(operation, MessageType.Complete)
      } catch (error) {
        await finish(operation, MessageType.Error, [mask(error)])
      } finally {
        end(operation)
      }
    },
    complete(id: string): void {
      const operation = running.get(id)
      if (operation) end(operation)
    },
    endAll(): void {
      for (const operation of [...running.values()]) end(operation)
    },
  }
}

export function createProtocol(wire: Wire, handlers: Handlers, clock: Clock): Protocol {
  const operations = createOperations(wire, handlers)
  let isInitialised = false
  let isConnected = false
  let isClosed = false
  const timer = clock.setTimeout(() => {
    close(CloseCode.ConnectionInitialisationTimeout, `Send connection_init within ${INIT_TIMEOUT_MS / 1000} s.`)
  }, INIT_TIMEOUT_MS)

  function closed(): void {
    isClosed = true
    clock.clearTimeout(timer)
    operations.endAll()
  }

  function close(code: number, reason: string): void {
    closed()
    wire.close(code, closeReason(reason))
  }

  async function initialise(parameters: Record<string, unknown>): Promise<void> {
    if (isInitialised) return close(CloseCode.TooManyInitialisationRequests, 'Send connection_init once.')
    isInitialised = true
    clock.clearTimeout(timer)
    const decided = handlers.connect(parameters)
    const accepted = decided instanceof Promise ? await decided : decided
    if (isClosed) return
    if ('code' in accepted) return close(accepted.code, accepted.reason)
    isConnected = true
    await wire.send(JSON.stringify({ type: MessageType.ConnectionAck, ...accepted }))
  }

  /** Answers a ping. A ping with a new token is answered when the token is accepted; otherwise the socket is closed. */
  async function pong(payload: Record<string, unknown> | undefined): Promise<void> {
    const renewed = isConnected && payload ? handlers.renew(payload) : null
    const accepted = renewed ? await renewed : { payload }
    if ('code' in accepted) return close(accepted.code, accepted.reason)
    await wire.send(JSON.stringify({ type: MessageType.Pong, ...accepted }))
  }

  async function subscribe(id: string, payload: SubscribePayload): Promise<void> {
    if (!isConnected) return close(CloseCode.Unauthorized, 'Send connection_init, and wait for connection_ack.')
    if (operations.has(id)) return close(CloseCode.SubscriberAlreadyExists, `Subscriber for ${id} already exists`)
    return operations.start(id, payload)
  }

  return {
    async receive(data) {
      if (isClosed) return
      let message: ReturnType<typeof parseMessage>
      try {
        message = parseMessage(data)
      } catch (error) {
        return close(CloseCode.BadRequest, `Invalid message: ${(error as Error).message}`)
      }
      switch (message.type) {
        case MessageType.ConnectionInit:
          return initialise(message.payload ?? {})
        case MessageType.Ping:
          return pong(message.payload)
        case MessageType.Pong:
          return
        case MessageType.Subscribe:
          return subscribe(message.id, message.payload)
        case MessageType.Complete:
          return operations.complete(message.id)
        default:
          return close(CloseCode.BadRequest, `Invalid message: a client must not send ${message.type}.`)
      }
    },
    closed,
  }
}
