// Runs one operation with yoga's plugins and error masking, for the transports that yoga does not serve: WebSocket and
// Server-Sent Events. A subscription to a conversation's events is not executed for each client: fan-out.ts renders the
// payloads, and this file adds them to the client's outbox.

import type { ServerResponse } from 'node:http'
import {
  getArgumentValues,
  getOperationAST,
  getVariableValues,
  OperationTypeNode,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLError,
} from 'graphql'
import { counters } from '../../runtime/counters.ts'
import type { Deps } from '../../domain/deps.ts'
import type { ConversationEvent } from '../../domain/turn/journal/event.ts'
import type { Sink } from '../../domain/turn/journal/follow.ts'
import { readInto, type Subscription } from '../../domain/turn/journal/reader.ts'
import type { PresenceHolder } from '../../domain/conversation/presence.ts'
import { createPushIterator } from '../../runtime/push-iterator.ts'
import type { Viewer } from '../../domain/kernel/view.ts'
import { atConversation } from '../../graphql/conversation/conversation-ref.ts'
import { admit, estimate } from '../../graphql/kernel/limits/execute.ts'
import type { HeldAnswer } from '../../graphql/kernel/limits/work.ts'
import { enterView } from '../../graphql/kernel/view/enter.ts'
import { createRequestContext, type RequestContext } from '../../graphql/kernel/request.ts'
import { noteRefusal } from '../../graphql/kernel/rights/rights.ts'
import { payloadOf, rendering, sharedDocument, type PayloadFormat, type Rendering } from './fan-out.ts'
import { measured } from '../load/measure.ts'
import type { Outbox } from './outbox.ts'
import type { ServerConfig } from '../server-config.ts'
import type { Yoga } from '../graphql/yoga.ts'

/** The parameters of a request for an operation. */
export type Parameters = {
  query: string
  operationName?: string | null
  variables?: Record<string, unknown> | null
  extensions?: Record<string, unknown> | null
}

/** Errors that prevented an operation from running; its result; or the results of a subscription. */
export type Outcome = readonly GraphQLError[] | ExecutionResult | AsyncIterable<ExecutionResult>

export const isIterable = (outcome: Outcome): outcome is AsyncIterable<ExecutionResult> =>
  Symbol.asyncIterator in outcome
export const isRefused = (outcome: Outcome): outcome is readonly GraphQLError[] => Array.isArray(outcome)

export type OperationServices = {
  deps: Deps
  config: ServerConfig
  yoga: Yoga
  /** Logs an unexpected error, and returns an error that hides it from clients. */
  mask(error: unknown): GraphQLError
}

/** The messages of a conversation's events. */
export type EventFormat = {
  /** Returns the part of an event's message that precedes the payload. */
  prefixOf(event: ConversationEvent): Buffer
} & PayloadFormat

/** The client of one operation. */
export type OperationClient = {
  viewer: Viewer
  /** Owner of the presence that the operation sets; absent over HTTP. */
  holder?: PresenceHolder
  /** Called with the viewer of a subscription when it is open. */
  onSubscribed(viewer: Viewer): void
  /** The response; absent over a WebSocket. */
  response?: ServerResponse
  /** `isLive` is false once the operation has ended. It is read for every recipient of every event. */
  operation: { readonly isLive: boolean }
  /** Whether the client has disconnected, or the operation has ended. */
  isGone(): boolean
  /** Releases a large answer when it has been written, or the operation has ended. Absent over HTTP. */
  holdAnswer?(answer: HeldAnswer): void
  /** Receives the events of a conversation. */
  outbox: Outbox
  /** The part of an event's message that precedes the payload, and the form of the payload. */
  format: EventFormat
  /** Replaces `afterSeq` of a subscription to a conversation's events; null to keep it. */
  resumeAfter: number | null
}

export type PreparedOperation = {
  /** Null if the document has a syntax error or no matching operation; `run` then returns the error. */
  kind: OperationTypeNode | null
  /** @throws unexpected errors, unmasked */
  run(): Promise<Outcome>
}

/** Parses the document. Nothing is executed before `run`. */
export function prepareOperation(
  services: OperationServices,
  client: OperationClient,
  params: Parameters,
): PreparedOperation {
  const { yoga, mask } = services
  const { viewer, holder, response, isGone, holdAnswer } = client
  const enveloped = yoga.getEnveloped({ viewer, holder, res: response, isGone, holdAnswer, params })
  let document: DocumentNode
  try {
    document = enveloped.parse(params.query) as DocumentNode
  } catch (error) {
    return { kind: null, run: async () => [mask(error)] }
  }
  const { operationName, variables: variableValues } = params
  const kind = getOperationAST(document, operationName)?.operation ?? null
  return {
    kind,
    async run() {
      const { schema, validate, contextFactory } = enveloped
      const errors = validate(schema, document) as readonly GraphQLError[]
      if (errors.length) return errors
      const contextValue = await contextFactory()
      const args: ExecutionArgs = { schema, document, operationName, variableValues, contextValue }
      if (kind !== OperationTypeNode.SUBSCRIPTION) return enveloped.execute(args) as Promise<ExecutionResult>
      const started = performance.now()
      const outcome =
        (await followConversation(services, client, args))
        ?? ((await enveloped.subscribe(args)) as AsyncIterable<ExecutionResult> | ExecutionResult)
      if (isIterable(outcome)) client.onSubscribed((contextValue as RequestContext).viewer)
      measured(kind, started, isIterable(outcome) ? [] : outcome.errors)
      return outcome
    },
  }
}

/** Runs a subscription to one conversation's events. Returns null for any other subscription. */
async function followConversation(
  { deps, config: { operationLimits }, mask }: OperationServices,
  client: OperationClient,
  args: ExecutionArgs,
): Promise<AsyncIterable<ExecutionResult> | ExecutionResult | null> {
  const { schema, document, operationName, variableValues } = args
  const shared = sharedDocument(schema, document, operationName)
  if (!shared) return null
  const context = args.contextValue as RequestContext
  const refused =
    (await admit(deps, client.viewer, args, estimate(args, operationLimits))) ?? (await enterView(context, args))
  if (refused) return { errors: [refused] }
  const { operation, field } = shared
  const { errors, coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues ?? {})
  if (errors) return { errors: errors.map(mask) }
  const definition = schema.getSubscriptionType()!.getFields()[field.name.value]!
  try {
    const given = getArgumentValues(definition, field, coerced) as Partial<Subscription>
    const found = await atConversation(context, given)
    const reader = { ...found, as: context.viewer.actor }
    const input = client.resumeAfter === null ? reader : { ...reader, afterSeq: client.resumeAfter }
    const contextOf = (viewer: Viewer) => createRequestContext(deps, viewer, operationLimits)
    return await deliver(
      deps,
      client,
      input,
      rendering(shared, args, { contextOf, mask, limits: operationLimits, format: client.format }),
    )
  } catch (error) {
    noteRefusal(context, field.name.value, error)
    return { errors: [mask(error)] }
  }
}

/** Adds the conversation's events to the outbox. The returned iterable is empty, and ends with the subscription. */
async function deliver(
  deps: Deps,
  { outbox, viewer, operation, format }: OperationClient,
  input: Subscription,
  renderer: Rendering,
): Promise<AsyncIterable<ExecutionResult>> {
  const ending = createPushIterator<never>(1)
  if (!operation.isLive) {
    ending.end()
    return ending.iterate(() => {})
  }
  const stop = await readInto(deps, viewer, input, (reader): Sink => ({
    push(event, view) {
      // The client may have completed the operation while its subscription was starting.
      if (!operation.isLive) return
      counters.deliveries += 1
      outbox.add(format.prefixOf(event), payloadOf(event, view, reader, renderer))
    },
    isFull: () => outbox.isFull(),
    drained: () => outbox.drained(),
    end(error) {
      // Wait, so that the last message of the operation is sent after the last event.
      if (error === undefined) void outbox.emptied().then(() => ending.end())
      else ending.end(error)
    },
  }))
  return ending.iterate(stop)
}
