// Queries that are asked again, planned: what the executor works out for each field of each object – which fields, by
// which resolver, with which arguments, of which type – is worked out once for the document. Only what is plain has a
// plan: objects, lists and leaves, without directives. A plan knows no errors: where anything but a value comes up, it
// gives up, and the query, which changes nothing, is executed again by the executor, which says what is wrong.

import {
  defaultFieldResolver,
  getArgumentValues,
  getNullableType,
  getOperationAST,
  getVariableValues,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  OperationTypeNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'

/** Steps of a plan, at most: fragments in fragments make long plans of short documents. */
const STEPS = 500

type Variables = Readonly<Record<string, unknown>>
/** The data, or a promise of it. Throws or rejects when it gives up. */
export type Plan = (contextValue: unknown, variables: Variables | null | undefined) => unknown

/** One execution of a plan. `args` are those of its steps, each worked out when it is first needed. */
type Run = { contextValue: unknown; variables: Variables; args: Variables[] }
type Complete = (value: unknown, run: Run) => unknown
type Source = Record<string, unknown>
/** How one field comes about: by reading a property, else by its resolver. */
type Step = {
  key: string
  property: string | null
  resolve: GraphQLFieldResolver<unknown, unknown>
  argsOf(run: Run): Variables
  complete: Complete
}

/** Thrown to give up. It says nothing, so it carries no stack of its own. */
const NOT_PLAIN = new Error('this query is not as plain as its plan')
const NONE: Variables = Object.freeze({})
/** There is no info about a field: whoever looks at it has the plan given up. */
const NO_INFO = new Proxy(
  {},
  {
    get() {
      throw NOT_PLAIN
    },
  },
) as GraphQLResolveInfo

const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as Promise<unknown>).then === 'function'

/** Waits for the promises that `add` was given; a rejection of one that nobody comes to wait for is no crash. */
function gathering() {
  const pending: Promise<void>[] = []
  return {
    add(promise: Promise<unknown>, put: (value: unknown) => void): void {
      const done = promise.then(put)
      done.catch(() => {})
      pending.push(done)
    },
    then: <T>(result: T): Promise<T> => Promise.all(pending).then(() => result),
  }
}
type Gathering = ReturnType<typeof gathering>

const listOf =
  (item: Complete): Complete =>
  (value, run) => {
    if (value == null) return null
    if (!Array.isArray(value)) throw NOT_PLAIN
    const result = new Array<unknown>(value.length)
    let waiting: Gathering | null = null
    for (let index = 0; index < value.length; index++) {
      const given: unknown = value[index]
      const done = isPromise(given) ? given.then((each) => item(each, run)) : item(given, run)
      if (isPromise(done))
        (waiting ??= gathering()).add(done, (each) => {
          result[index] = each
        })
      else result[index] = done
    }
    return waiting ? waiting.then(result) : result
  }

const objectOf =
  (steps: readonly Step[]): Complete =>
  (source, run) => {
    if (source == null) return null
    if (typeof source === 'function' || source instanceof Error) throw NOT_PLAIN
    const result: Source = {}
    let waiting: Gathering | null = null
    for (const { key, property, resolve, argsOf, complete } of steps) {
      const value =
        property === null ? resolve(source, argsOf(run), run.contextValue, NO_INFO) : (source as Source)[property]
      const done = isPromise(value) ? value.then((each) => complete(each, run)) : complete(value, run)
      // Fields stand in the order in which they are asked for.
      result[key] = done
      if (isPromise(done))
        (waiting ??= gathering()).add(done, (each) => {
          result[key] = each
        })
    }
    return waiting ? waiting.then(result) : result
  }

const leafOf =
  (serialize: (value: unknown) => unknown, required: boolean): Complete =>
  (value) => {
    if (value == null) {
      if (required) throw NOT_PLAIN
      return null
    }
    if (typeof value === 'function' || value instanceof Error) throw NOT_PLAIN
    const done = serialize(value)
    if (done == null) throw NOT_PLAIN
    return done
  }

const present =
  (complete: Complete): Complete =>
  (value, run) => {
    const done = complete(value, run)
    if (done === null) throw NOT_PLAIN
    return done
  }

/** The plan of an operation of the document, which is valid; null for one that is not plain. */
export function planQuery(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): Plan | null {
  if (operation.operation !== OperationTypeNode.QUERY || operation.directives?.length) return null
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const each of document.definitions) {
    if (each.kind === Kind.FRAGMENT_DEFINITION) fragments.set(each.name.value, each)
  }
  let steps = 0
  let withArgs = 0

  /** The fields that are selected of an object of that type, by their names in the answer. */
  function collect(
    type: GraphQLObjectType,
    { selections }: SelectionSetNode,
    into: Map<string, FieldNode[]>,
    seen: Set<string>,
  ): void {
    for (const selection of selections) {
      if (selection.directives?.length) throw NOT_PLAIN
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
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value)! : selection
      const condition = fragment.typeCondition && schema.getType(fragment.typeCondition.name.value)
      if (!condition || condition === type || (isAbstractType(condition) && schema.isSubType(condition, type))) {
        collect(type, fragment.selectionSet, into, seen)
      }
    }
  }

  function argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode): Step['argsOf'] {
    if (field.args.length === 0) return () => NONE
    const place = withArgs++
    return ({ args, variables }) => (args[place] ??= getArgumentValues(field, node, variables))
  }

  function stepOf(type: GraphQLObjectType, key: string, nodes: FieldNode[]): Step {
    if (++steps > STEPS || key === '__proto__') throw NOT_PLAIN
    const [node] = nodes as [FieldNode]
    if (node.name.value === '__typename') {
      return { key, property: null, resolve: () => type.name, argsOf: () => NONE, complete: (name) => name }
    }
    const field = type.getFields()[node.name.value]
    if (!field) throw NOT_PLAIN
    const resolve = field.resolve ?? defaultFieldResolver
    return {
      key,
      property: resolve === defaultFieldResolver ? field.name : null,
      resolve,
      argsOf: argumentsOf(field, node),
      complete: completionOf(field.type, nodes),
    }
  }

  function selectionOf(type: GraphQLObjectType, sets: readonly SelectionSetNode[]): Complete {
    if (type.isTypeOf) throw NOT_PLAIN
    const fields = new Map<string, FieldNode[]>()
    const seen = new Set<string>()
    for (const set of sets) collect(type, set, fields, seen)
    return objectOf([...fields].map(([key, nodes]) => stepOf(type, key, nodes)))
  }

  function completionOf(type: GraphQLOutputType, nodes: readonly FieldNode[]): Complete {
    const required = isNonNullType(type)
    const nullable = getNullableType(type)
    if (isLeafType(nullable)) return leafOf((value) => nullable.serialize(value), required)
    if (required) return present(completionOf(nullable, nodes))
    if (isListType(nullable)) return listOf(completionOf(nullable.ofType, nodes))
    if (!isObjectType(nullable)) throw NOT_PLAIN
    return selectionOf(
      nullable,
      nodes.map(({ selectionSet }) => selectionSet!),
    )
  }

  try {
    const query = selectionOf(schema.getQueryType()!, [operation.selectionSet])
    return (contextValue, given) => {
      const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], given ?? NONE)
      if (!coerced) throw NOT_PLAIN
      return query(NONE, { contextValue, variables: coerced, args: [] })
    }
  } catch (error) {
    if (error === NOT_PLAIN) return null
    throw error
  }
}

/**
 * For yoga: executes queries by their plan, from the second time on, so that plans are made for those who ask again.
 * They live as long as yoga keeps the document.
 */
export function usePlans(): Plugin {
  const plans = new WeakMap<OperationDefinitionNode, Plan | null>()
  const seen = new WeakSet<OperationDefinitionNode>()
  return {
    onExecute({ args: { schema, document, operationName }, executeFn, setExecuteFn }) {
      const operation = getOperationAST(document, operationName)
      if (!operation) return
      if (!seen.has(operation)) return void seen.add(operation)
      let plan = plans.get(operation)
      if (plan === undefined) plans.set(operation, (plan = planQuery(schema, document, operation)))
      if (!plan) return
      const run = plan
      setExecuteFn(async (args) => {
        try {
          return { data: await run(args.contextValue, args.variableValues) }
        } catch {
          return executeFn(args)
        }
      })
    },
  }
}
