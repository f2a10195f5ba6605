// One execution and one serialisation for each event and each way it can look: readers with the same document, the same
// variables (but for `after` and `as`) and the same class of view get the same bytes.

import {
  execute, getOperationAST, Kind, print, visit, type DocumentNode, type ExecutionArgs,
  type ExecutionResult, type FieldNode, type GraphQLError, type GraphQLSchema, type OperationDefinitionNode,
} from 'graphql'
import type { ConversationEvent } from '../domain/event/event.ts'
import type { Told } from '../domain/event/reader.ts'
import { viewClass, type View, type Viewer } from '../domain/view.ts'
import { selectsPerViewer } from '../graphql/per-viewer.ts'
import type { Payload } from './outbox.ts'

/** The subscription that is shared; its arguments `after` and `as` say where and as whom, not what. */
const FIELD = 'conversationEvents'

/** What can be known of a document once for all who send it. */
export type SharedDocument = {
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
const keys = new Map<string, string>()

/** The document's one field, if it is a plain subscription to a room's events; else null. */
export function sharedDocument(
  schema: GraphQLSchema, document: DocumentNode, operationName: string | null | undefined,
): SharedDocument | null {
  const name = operationName ?? ''
  let known = analysed.get(document)
  if (!known) analysed.set(document, (known = new Map()))
  if (!known.has(name)) known.set(name, analyse(schema, document, operationName))
  return known.get(name)!
}

function analyse(
  schema: GraphQLSchema, document: DocumentNode, operationName: string | null | undefined,
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

  const text = `${operationName ?? ''}\n${print(document)}`
  const key = keys.get(text) ?? String(keys.size)
  keys.set(text, key)
  return {
    document, operation, field, positions: positional, key,
    perViewer: selectsPerViewer(schema, document, operationName ?? undefined),
  }
}

/** What one subscription asks for of each event. */
export type Rendering = {
  key: string
  perViewer: boolean
  run(told: Told): Promise<ExecutionResult> | ExecutionResult
}

/**
 * @param args of the subscription; each event is executed as its root value
 * @param mask what clients are told of an error
 */
export function rendering(
  shared: SharedDocument, args: ExecutionArgs, contextOf: (viewer: Viewer) => unknown,
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

const payloads = new WeakMap<ConversationEvent, Map<string, Payload>>()

/** The event as that rendering shows it to viewers of that class. */
export function payloadOf(
  event: ConversationEvent, view: View, viewer: Viewer, { key, perViewer, run }: Rendering,
): Payload {
  const full = `${key} ${viewer.tenant} ${perViewer ? viewer.actor : viewClass(view)}`
  let made = payloads.get(event)
  if (!made) payloads.set(event, (made = new Map()))
  let payload = made.get(full)
  if (!payload) {
    payload = { bytes: null, ready: null }
    made.set(full, payload)
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

