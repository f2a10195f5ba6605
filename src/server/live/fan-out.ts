// Renders an event (executes the document and serialises the result) once for many readers: readers with the same
// document, the same variables (except those for `afterSeq`, `types` and `as`) and the same view class get the same
// bytes. A document that selects a field that is not shareable is rendered once for each actor.

import { createHash } from 'node:crypto'
import {
  getOperationAST,
  Kind,
  print,
  visit,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type FieldNode,
  type GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql'
import { sizeOfEvent } from '../../domain/turn/journal/event-size.ts'
import { projectEvent, type ConversationEvent, type VisibleEvent } from '../../domain/turn/journal/event.ts'
import { viewClass, type View, type Viewer } from '../../domain/kernel/view.ts'
import { costError, executeEvent } from '../../graphql/kernel/limits/execute.ts'
import type { OperationLimits } from '../../graphql/kernel/limits/limits.ts'
import type { RequestContext } from '../../graphql/kernel/request.ts'
import { selectsOnlyShareable } from '../../graphql/kernel/rights/sharing.ts'
import type { Payload } from './outbox.ts'

/** The subscription field whose events are rendered once for many readers. */
const FIELD = 'conversationEvents'
/** Arguments of FIELD that select the start, the events and the reader, but do not change how an event is rendered. */
const SELECTING = new Set(['afterSeq', 'types', 'as'])

/** The analysis of an operation of a document, computed once for all clients that send it. */
type SharedDocument = {
  document: DocumentNode
  operation: OperationDefinitionNode
  field: FieldNode
  /** Whether readers with the same view class get the same bytes. */
  isShareable: boolean
  /** Names of the variables that are used only in SELECTING arguments. */
  selecting: ReadonlySet<string>
  /** Digest of the document and the operation's name. */
  key: string
}

/** The analyses of each document, by operation name. */
const analysed = new WeakMap<DocumentNode, Map<string, SharedDocument | null>>()

/**
 * Returns the analysis of an operation that subscribes to one conversation's events only; null for any other operation.
 */
export function sharedDocument(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): SharedDocument | null {
  const name = operationName ?? ''
  let byName = analysed.get(document)
  if (!byName) analysed.set(document, (byName = new Map()))
  if (!byName.has(name)) byName.set(name, analyse(schema, document, operationName))
  return byName.get(name)!
}

function analyse(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): SharedDocument | null {
  const operation = getOperationAST(document, operationName)
  const [field] = operation?.selectionSet.selections ?? []
  if (operation?.operation !== 'subscription' || operation.selectionSet.selections.length !== 1) return null
  if (field?.kind !== Kind.FIELD || field.name.value !== FIELD || field.directives?.length) return null

  const selectingArguments = new Set(field.arguments?.filter(({ name }) => SELECTING.has(name.value)))
  const selecting = new Set<string>()
  for (const { value } of selectingArguments) if (value.kind === Kind.VARIABLE) selecting.add(value.name.value)
  const usedElsewhere = new Set<string>()
  visit(document, {
    VariableDefinition: () => false,
    Argument: (node) => (selectingArguments.has(node) ? false : undefined),
    Variable: (node) => void usedElsewhere.add(node.name.value),
  })
  for (const name of usedElsewhere) selecting.delete(name)

  const key = createHash('sha256')
    .update(`${operationName ?? ''}\n${print(document)}`)
    .digest('base64url')
  return {
    document,
    operation,
    field,
    selecting,
    key,
    isShareable: selectsOnlyShareable(schema, document, operationName ?? undefined),
  }
}

/** The form in which an event's result is sent. */
export type PayloadFormat = {
  /** Distinguishes the form from others. */
  name: string
  /** Returns the JSON value to send for a result. */
  valueOf(result: ExecutionResult): unknown
}

/** Sends the whole result, as GraphQL clients expect it. */
export const WHOLE_RESULT: PayloadFormat = { name: 'graphql', valueOf: (result) => result }

/** Renders the events of one subscription. Subscriptions with equal keys render events equally. */
export type Rendering = {
  key: string
  format: PayloadFormat
  /** Whether readers with the same view class get the same bytes. */
  isShareable: boolean
  run(event: VisibleEvent, reader: Viewer): Promise<ExecutionResult> | ExecutionResult
  /** Logs an unexpected error, and returns an error that hides it from clients. */
  mask(error: unknown): GraphQLError
}

/** `contextOf` creates the context value of one execution. */
type RenderingOptions = Pick<Rendering, 'mask' | 'format'> & {
  contextOf: (viewer: Viewer) => RequestContext
  limits: OperationLimits
}

/**
 * Creates the rendering of one subscription.
 * @param args the subscription's arguments, executed for each event with the event as the root value
 */
export function rendering(
  shared: SharedDocument,
  args: ExecutionArgs,
  { contextOf, mask, limits, format }: RenderingOptions,
): Rendering {
  const error = costError(args, limits)
  // Clients may send variables that the operation does not declare. They may contain anything, and have no effect.
  const declared = shared.operation.variableDefinitions?.map(({ variable }) => variable.name.value) ?? []
  const variables = declared
    .filter((name) => !shared.selecting.has(name))
    .map((name) => [name, args.variableValues?.[name]])
  const masked = (result: ExecutionResult) => (result.errors ? { ...result, errors: result.errors.map(mask) } : result)
  return {
    key: `${format.name} ${shared.key} ${JSON.stringify(variables)}`,
    format,
    isShareable: shared.isShareable,
    run(event, reader) {
      if (error) return masked({ errors: [error] })
      const result = executeEvent({ ...args, rootValue: event, contextValue: contextOf(reader) })
      return result instanceof Promise ? result.then(masked) : masked(result)
    },
    mask,
  }
}

/** Payloads of each event, by the rendering's key, and then by view class, or by actor if it is not shareable. */
const payloads = new WeakMap<ConversationEvent, Map<string, Map<string, Payload>>>()

const classes = new WeakMap<View, string>()

/** Returns the view class. It can be cached, because views are immutable. */
function classOf(view: View): string {
  let cached = classes.get(view)
  if (cached === undefined) classes.set(view, (cached = viewClass(view)))
  return cached
}

/**
 * The payload that was returned last. It is cached, because the readers of an event are served in turn, and most get
 * the same payload. It is dropped after the current task, because its content may be erased later.
 */
let last: { event: ConversationEvent; key: string; viewKey: string; payload: Payload } | null = null

/** Returns the event, rendered for the reader with this view of the conversation. Never throws. */
export function payloadOf(event: ConversationEvent, view: View, reader: Viewer, rendering: Rendering): Payload {
  const { key, isShareable } = rendering
  const viewKey = isShareable ? classOf(view) : reader.actor
  if (last?.event === event && last.viewKey === viewKey && last.key === key) return last.payload
  let byKey = payloads.get(event)
  if (!byKey) payloads.set(event, (byKey = new Map()))
  let byClass = byKey.get(key)
  if (!byClass) byKey.set(key, (byClass = new Map()))
  let payload = byClass.get(viewKey)
  if (!payload) {
    byClass.set(viewKey, (payload = { bytes: null, ready: null, estimate: sizeOfEvent(event) }))
    fill(payload, rendering, () => rendering.run(projectEvent(view, event), reader))
  }
  if (!last) setImmediate(() => (last = null))
  last = { event, key, viewKey, payload }
  return payload
}

/** Sets the payload to the bytes of the result, or of a masked error if there is no result. */
function fill(
  payload: Payload,
  { mask, format }: Rendering,
  run: () => Promise<ExecutionResult> | ExecutionResult,
): void {
  const bytesOf = (result: ExecutionResult) =>
    void (payload.bytes = Buffer.from(JSON.stringify(format.valueOf(result))))
  const fail = (error: unknown) => bytesOf({ errors: [mask(error)] })
  try {
    const result = run()
    if (result instanceof Promise) payload.ready = result.then(bytesOf).catch(fail)
    else bytesOf(result)
  } catch (error) {
    fail(error)
  }
}
