// Compiles a query into a plan: the work that yoga's executor repeats for each field of each object (finding the
// selected fields, their resolvers, arguments and types) is done once per operation. Plans support objects, lists
// and leaves; yoga's executor runs documents with directives, interfaces, unions, introspection or too many fields.
//
// With plans, the server's processor time per request falls by a factor of 5.5 for 50 conversations × 20 turns and of 2.7
// for a page of 50 turns, mainly because Postgres renders the turns (graphql/turn-json.ts), and of 1.15 for one
// conversation of 4 fields. Measured by `npm run bench -- plans` (QUERY_PLANS=1 against 0).

import {
  defaultFieldResolver,
  getArgumentValues,
  getNullableType,
  getVariableValues,
  GraphQLError,
  GraphQLNonNull,
  GraphQLString,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  OperationTypeNode,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type FieldNode,
  type GraphQLField,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'
import {
  isPromise,
  listOf,
  objectOf,
  type Complete,
  type Completion,
  type Field,
  type Planned,
  type Run,
  type Step,
} from './run.ts'

/**
 * Maximum number of steps of a plan. It is limited because nested fragments let a short document select many fields.
 */
const MAX_STEPS = 500

/**
 * Executes the operation from which it was compiled; never throws or rejects. Returns null, before any resolver is
 * called, if the variables are invalid: yoga's executor then reports the error.
 */
export type Plan = (
  args: Pick<ExecutionArgs, 'rootValue' | 'contextValue' | 'variableValues'> & { signal?: Run['signal'] },
) => Promise<ExecutionResult> | ExecutionResult | null

/** Thrown for a document that has no plan; the message is the reason. */
export class NotPlannable extends Error {}

/** A plan during compilation: `steps` is its number of steps, `withArgs` the number of steps with arguments. */
type Draft = Planned & { steps: number; withArgs: number }

const NO_ARGS = Object.freeze({})

/**
 * Adds the fields that the selection set selects on the type to `into`, by response name. `seen` has the visited
 * fragments.
 */
function collect(
  draft: Draft,
  type: GraphQLObjectType,
  { selections }: SelectionSetNode,
  into: Map<string, FieldNode[]>,
  seen: Set<string>,
): void {
  for (const selection of selections) {
    if (selection.directives?.length) throw new NotPlannable(`directive @${selection.directives[0]!.name.value}`)
    if (selection.kind === Kind.FIELD) {
      const key = selection.alias?.value ?? selection.name.value
      const nodes = into.get(key)
      if (nodes) nodes.push(selection)
      else into.set(key, [selection])
      continue
    }
    if (selection.kind === Kind.FRAGMENT_SPREAD) {
      if (seen.has(selection.name.value)) continue
      seen.add(selection.name.value)
    }
    const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? draft.fragments[selection.name.value]! : selection
    const condition = fragment.typeCondition && draft.schema.getType(fragment.typeCondition.name.value)
    if (!condition || condition === type || (isAbstractType(condition) && draft.schema.isSubType(condition, type))) {
      collect(draft, type, fragment.selectionSet, into, seen)
    }
  }
}

/** Returns a function that coerces the field's arguments on first use in a run. */
function argumentsOf(draft: Draft, field: GraphQLField<unknown, unknown>, node: FieldNode): Step['argsOf'] {
  if (field.args.length === 0) return () => NO_ARGS
  const index = draft.withArgs++
  return ({ args, variables }) => (args[index] ??= getArgumentValues(field, node, variables))
}

const TYPE_NAME = new GraphQLNonNull(GraphQLString)

function stepOf(draft: Draft, type: GraphQLObjectType, key: string, nodes: FieldNode[]): Step {
  if (++draft.steps > MAX_STEPS) throw new NotPlannable(`more than ${MAX_STEPS} fields`)
  if (key === '__proto__') throw new NotPlannable('a field named __proto__')
  const [node] = nodes as [FieldNode]
  if (node.name.value === '__typename') {
    const field = { name: '__typename', parent: type, type: TYPE_NAME, nodes }
    const completion = { complete: (name: unknown) => name, isLeaf: true, isRequired: true, steps: [] }
    return { key, property: null, resolve: () => type.name, argsOf: () => NO_ARGS, field, completion }
  }
  const definition = type.getFields()[node.name.value]
  if (!definition) throw new NotPlannable(`introspection by ${node.name.value}`)
  const resolve = definition.resolve ?? defaultFieldResolver
  const field = { name: definition.name, parent: type, type: definition.type, nodes }
  return {
    key,
    property: resolve === defaultFieldResolver && definition.args.length === 0 ? definition.name : null,
    resolve,
    argsOf: argumentsOf(draft, definition, node),
    field,
    completion: completionOf(draft, field, definition.type),
  }
}

function selectionOf(draft: Draft, type: GraphQLObjectType, sets: readonly SelectionSetNode[]): Step[] {
  if (type.isTypeOf) throw new NotPlannable(`isTypeOf of ${type.name}`)
  const fields = new Map<string, FieldNode[]>()
  const seen = new Set<string>()
  for (const set of sets) collect(draft, type, set, fields, seen)
  return [...fields].map(([key, nodes]) => stepOf(draft, type, key, nodes))
}

const leafOf =
  (type: GraphQLLeafType): Complete =>
  (value) => {
    let serialized: unknown
    try {
      serialized = type.serialize(value)
    } catch (error) {
      // The resolver caused the error, not the client, so it must be masked. A GraphQLError would not be.
      throw error instanceof GraphQLError ? new Error(error.message) : error
    }
    if (serialized == null) throw new Error(`${type.name} serialized a value as ${String(serialized)}.`)
    return serialized
  }

/** Completes values of a nullable type that are neither null nor an Error. */
type Present = Pick<Completion, 'complete' | 'steps'>

function presentOf(draft: Draft, field: Field, type: GraphQLOutputType): Present {
  if (isLeafType(type)) return { complete: leafOf(type), steps: [] }
  if (isListType(type)) {
    const items = completionOf(draft, field, type.ofType)
    return { complete: listOf(items, field), steps: items.steps }
  }
  if (!isObjectType(type)) throw new NotPlannable(`abstract type ${String(type)}`)
  const sets = field.nodes.map(({ selectionSet }) => selectionSet!)
  const steps = selectionOf(draft, type, sets)
  return { complete: objectOf(steps), steps }
}

function completionOf(draft: Draft, field: Field, type: GraphQLOutputType): Completion {
  const isRequired = isNonNullType(type)
  const nullable = getNullableType(type)
  const present = presentOf(draft, field, nullable)
  return {
    isRequired,
    isLeaf: isLeafType(nullable),
    steps: present.steps,
    complete(value, run, path) {
      if (value instanceof Error) throw value
      if (value != null) return present.complete(value, run, path)
      if (isRequired) throw new Error(`Cannot return null for non-nullable field ${field.parent.name}.${field.name}.`)
      return null
    },
  }
}

const resultOf = (data: unknown, { errors }: Run) => ({ ...(errors.length > 0 && { errors }), data }) as ExecutionResult

/** Compiles a query of a validated document. @throws NotPlannable if it cannot have a plan */
export function compileQuery(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): Plan {
  if (operation.operation !== OperationTypeNode.QUERY) throw new NotPlannable(`a ${operation.operation}`)
  if (operation.directives?.length) throw new NotPlannable(`directive @${operation.directives[0]!.name.value}`)
  const draft: Draft = { schema, operation, fragments: {}, steps: 0, withArgs: 0 }
  for (const each of document.definitions) {
    if (each.kind === Kind.FRAGMENT_DEFINITION) draft.fragments[each.name.value] = each
  }
  const query = objectOf(selectionOf(draft, schema.getQueryType()!, [operation.selectionSet]))
  return ({ rootValue, contextValue, variableValues, signal }) => {
    const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues ?? NO_ARGS)
    if (!coerced) return null
    const run: Run = { planned: draft, rootValue, contextValue, variables: coerced, args: [], errors: [], signal }
    const failed = (error: unknown) => {
      run.errors.push(error as GraphQLError)
      return resultOf(null, run)
    }
    try {
      const data = query(rootValue, run, undefined)
      return isPromise(data) ? data.then((late) => resultOf(late, run), failed) : resultOf(data, run)
    } catch (error) {
      return failed(error)
    }
  }
}
