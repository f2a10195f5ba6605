// Executes and serialises an event once for all readers to whom it looks the same: those with the same document, the same
// variables (except `after` and `as`) and the same class of view get the same bytes. A document that selects any field not
// marked shareable is executed for each actor.

import { createHash } from 'node:crypto'
import {
  execute,
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
import { tell, type ConversationEvent, type ToldEvent } from '../domain/event/event.ts'
import { viewClass, type View, type Viewer } from '../domain/view.ts'
import { selectsOnlyShareable } from '../graphql/sharing.ts'
import type { Payload } from './outbox.ts'

/** The subscription that is shared. Its arguments `after` and `as` select the start and the reader, not the rendering. */
const FIELD = 'conversationEvents'

/** The analysis of a document, made once for all clients that send it. */
type SharedDocument = {
  document: DocumentNode
  operation: OperationDefinitionNode
  field: FieldNode
  /** Whether one rendering serves a whole class of views. */
  isShareable: boolean
  /** Variables used in `after` or `as` only. */
  positions: ReadonlySet<string>
  key: string
}

const analysed = new WeakMap<DocumentNode, Map<string, SharedDocument | null>>()

/** The analysis of a document that is a plain subscription to one conversation's events; null for any other. */
export function sharedDocument(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): SharedDocument | null {
  const name = operationName ?? ''
  let known = analysed.get(document)
  if (!known) analysed.set(document, (known = new Map()))
  if (!known.has(name)) known.set(name, analyse(schema, document, operationName))
  return known.get(name)!
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

  const positional = new Set<string>()
  for (const argument of field.arguments ?? []) {
    if (argument.value.kind === Kind.VARIABLE && ['after', 'as'].includes(argument.name.value)) {
      positional.add(argument.value.name.value)
    }
  }
  const elsewhere = new Set<string>()
  visit(document, {
    VariableDefinition: () => false,
    Argument: (node, _key, _parent, _path, ancestors) =>
      ancestors.at(-1) === field && ['after', 'as'].includes(node.name.value) ? false : undefined,
    Variable: (node) => void elsewhere.add(node.name.value),
  })
  for (const name of elsewhere) positional.delete(name)

  const key = createHash('sha256')
    .update(`${operationName ?? ''}\n${print(document)}`)
    .digest('base64url')
  return {
    document,
    operation,
    field,
    positions: positional,
    key,
    isShareable: selectsOnlyShareable(schema, document, operationName ?? undefined),
  }
}

/** How one subscription renders events. Equal keys render alike. */
export type Rendering = {
  key: string
  /** Whether one rendering serves all actors with the same class of view. */
  isShareable: boolean
  run(event: ToldEvent, reader: Viewer): Promise<ExecutionResult> | ExecutionResult
  /** Logs an error that nobody expected, and hides it from clients. */
  mask(error: unknown): GraphQLError
}

/** @param args of the subscription; each event is executed as its root value */
export function rendering(
  shared: SharedDocument,
  args: ExecutionArgs,
  contextOf: (viewer: Viewer) => unknown,
  mask: Rendering['mask'],
): Rendering {
  const variables = Object.entries(args.variableValues ?? {}).filter(([name]) => !shared.positions.has(name))
  const masked = (result: ExecutionResult) => (result.errors ? { ...result, errors: result.errors.map(mask) } : result)
  return {
    key: `${shared.key} ${JSON.stringify(variables)}`,
    isShareable: shared.isShareable,
    run(event, reader) {
      const result = execute({ ...args, rootValue: event, contextValue: contextOf(reader) })
      return result instanceof Promise ? result.then(masked) : masked(result)
    },
    mask,
  }
}

/** By the rendering's key, then by view class or actor. */
const payloads = new WeakMap<ConversationEvent, Map<string, Map<string, Payload>>>()

const classes = new WeakMap<View, string>()

/** The class of a view, computed once: views are replaced, not changed. */
function classOf(view: View): string {
  let known = classes.get(view)
  if (known === undefined) classes.set(view, (known = viewClass(view)))
  return known
}

/** The event as that rendering shows it to the reader, who sees the conversation with that view. Never throws. */
export function payloadOf(event: ConversationEvent, view: View, reader: Viewer, rendering: Rendering): Payload {
  // This runs for every reader of every event: it looks up, and builds nothing.
  const { key, isShareable } = rendering
  let made = payloads.get(event)
  if (!made) payloads.set(event, (made = new Map()))
  let alike = made.get(key)
  if (!alike) made.set(key, (alike = new Map()))
  const who = isShareable ? classOf(view) : reader.actor
  let payload = alike.get(who)
  if (!payload) {
    alike.set(who, (payload = { bytes: null, ready: null }))
    fill(payload, rendering, () => rendering.run(tell(view, event), reader))
  }
  return payload
}

/** Puts the bytes of the result into the payload, or those of a masked error where there is no result. */
function fill(payload: Payload, { mask }: Rendering, run: () => Promise<ExecutionResult> | ExecutionResult): void {
  const bytesOf = (result: ExecutionResult) => void (payload.bytes = Buffer.from(JSON.stringify(result)))
  const fail = (error: unknown) => bytesOf({ errors: [mask(error)] })
  try {
    const result = run()
    if (result instanceof Promise) payload.ready = result.then(bytesOf).catch(fail)
    else bytesOf(result)
  } catch (error) {
    fail(error)
  }
}
