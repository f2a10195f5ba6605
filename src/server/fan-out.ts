// One execution and one serialisation for each event and each way it can look: readers with the same document, the same
// variables (but for `after` and `as`) and the same class of view get the same bytes.

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
import type { ConversationEvent } from '../domain/event/event.ts'
import type { Told } from '../domain/event/reader.ts'
import { viewClass, type View, type Viewer } from '../domain/view.ts'
import { selectsPerViewer } from '../graphql/per-viewer.ts'
import type { Payload } from './outbox.ts'

/** The subscription that is shared; its arguments `after` and `as` say where and as whom, not what. */
const FIELD = 'conversationEvents'

/** What can be known of a document once for all who send it. */
type SharedDocument = {
  document: DocumentNode
  operation: OperationDefinitionNode
  field: FieldNode
  perViewer: boolean
  /** Variables that only stand in `after` or `as`. */
  positions: ReadonlySet<string>
  /** Tells documents apart. */
  key: string
}

const analysed = new WeakMap<DocumentNode, Map<string, SharedDocument | null>>()

/** The document's one field, if it is a plain subscription to a conversation's events; else null. */
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
    perViewer: selectsPerViewer(schema, document, operationName ?? undefined),
  }
}

/** What one subscription asks for of each event. */
export type Rendering = { key: string; perViewer: boolean; run(told: Told): Promise<ExecutionResult> | ExecutionResult }

/**
 * @param args of the subscription; each event is executed as its root value
 * @param mask what clients are told of an error
 */
export function rendering(
  shared: SharedDocument,
  args: ExecutionArgs,
  contextOf: (viewer: Viewer) => unknown,
  mask: (error: GraphQLError) => GraphQLError,
): Rendering {
  const variables = Object.entries(args.variableValues ?? {}).filter(([name]) => !shared.positions.has(name))
  const masked = (result: ExecutionResult) => (result.errors ? { ...result, errors: result.errors.map(mask) } : result)
  return {
    key: `${shared.key} ${JSON.stringify(variables)}`,
    perViewer: shared.perViewer,
    run(told) {
      const result = execute({ ...args, rootValue: told, contextValue: contextOf(told.viewer) })
      return result instanceof Promise ? result.then(masked) : masked(result)
    },
  }
}

/** By the rendering's key, then by who sees it so. */
const payloads = new WeakMap<ConversationEvent, Map<string, Map<string, Payload>>>()

const classes = new WeakMap<View, string>()

/** The class of a view, worked out once: views are replaced, not changed. */
function classOf(view: View): string {
  let known = classes.get(view)
  if (known === undefined) classes.set(view, (known = viewClass(view)))
  return known
}

/** The event as that rendering shows it to viewers of that class. */
export function payloadOf(
  event: ConversationEvent,
  view: View,
  viewer: Viewer,
  { key, perViewer, run }: Rendering,
): Payload {
  // This runs for every reader of every event: it looks up, and builds nothing.
  let made = payloads.get(event)
  if (!made) payloads.set(event, (made = new Map()))
  let alike = made.get(key)
  if (!alike) made.set(key, (alike = new Map()))
  const who = perViewer ? viewer.actor : classOf(view)
  let payload = alike.get(who)
  if (!payload) {
    payload = { bytes: null, ready: null }
    alike.set(who, payload)
    fill(payload, run({ event, viewer }))
  }
  return payload
}

function fill(payload: Payload, result: Promise<ExecutionResult> | ExecutionResult): void {
  if (!(result instanceof Promise)) {
    payload.bytes = Buffer.from(JSON.stringify(result))
    return
  }
  payload.ready = result.then(
    (settled) => void fill(payload, settled),
    () => void fill(payload, { errors: [] }),
  )
}
