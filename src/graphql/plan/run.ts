// Runs a plan. Completes values, locates errors and propagates nulls like yoga's executor (@graphql-tools/executor), in
// the same order, so that a document has the same result with and without a plan. Each resolver is called at most once
// per field of an object. Code that runs for every field creates no closures, because under tsx creating one takes as
// long as all other work for the field (esbuild's keepNames).

import {
  defaultFieldResolver,
  GraphQLError,
  locatedError,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLFieldResolver,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql'
import { JsonText } from '../../json-text.ts'

/** The path of a value in the result. */
export type Path = GraphQLResolveInfo['path']

/** The parts of a plan that all its runs share. */
export type Planned = {
  schema: GraphQLSchema
  operation: OperationDefinitionNode
  fragments: Record<string, FragmentDefinitionNode>
}

type Variables = Record<string, unknown>

/** One execution of a plan. */
export type Run = {
  planned: Planned
  rootValue: unknown
  contextValue: unknown
  variables: Variables
  /** Arguments by their step's index among steps with arguments; coerced on first use, shared by a list's objects. */
  args: Variables[]
  errors: GraphQLError[]
  /** Checked once for each field; it throws when the operation has to stop. */
  signal: Pick<AbortSignal, 'throwIfAborted'> | undefined
}

/** A field of the schema, with the nodes that select it. */
export type Field = { name: string; parent: GraphQLObjectType; type: GraphQLOutputType; nodes: readonly FieldNode[] }

/**
 * Converts a resolved value to its part of the result, or a promise of it. Throws or rejects if the value itself or a
 * required part of it fails.
 */
export type Complete = (value: unknown, run: Run, path: Path | undefined) => unknown

/** Completes values of one type. */
export type Completion = {
  complete: Complete
  isLeaf: boolean
  isRequired: boolean
  /** The fields that are selected on the type, or on the items of a list; empty for leaves. */
  steps: readonly Step[]
}

/** One field of a selection set. */
export type Step = {
  /** The field's name in the result. */
  key: string
  /** The property of the source that has the field's value; null if `resolve` must be called. */
  property: string | null
  resolve: GraphQLFieldResolver<unknown, unknown>
  argsOf(run: Run): Variables
  field: Field
  completion: Completion
}

/** The argument `info` of a resolver that a plan calls. Such a resolver may return a JsonText instead of a list. */
type PlannedInfo = GraphQLResolveInfo & { step: Step }

/** Returns the plan's step of the field that is being resolved; undefined if yoga's executor runs the query. */
export const plannedStep = (info: GraphQLResolveInfo): Step | undefined => (info as Partial<PlannedInfo>).step

const infoOf = (
  step: Step,
  { planned: { schema, operation, fragments }, rootValue, variables }: Run,
  path: Path,
): PlannedInfo => ({
  step,
  fieldName: step.field.name,
  fieldNodes: step.field.nodes,
  returnType: step.field.type,
  parentType: step.field.parent,
  path,
  schema,
  fragments,
  rootValue,
  operation,
  variableValues: variables,
})

type Source = Record<string, unknown>
const isObjectLike = (value: unknown): value is Source => typeof value === 'object' && value !== null

export const isPromise = (value: unknown): value is Promise<unknown> =>
  isObjectLike(value) && typeof value.then === 'function'

function keysOf(path: Path): (string | number)[] {
  const keys: (string | number)[] = []
  for (let at: Path | undefined = path; at !== undefined; at = at.prev) keys.push(at.key)
  return keys.reverse()
}

/** Records a field error and returns null; throws the located error if the field is required. */
function fail(error: unknown, { nodes }: Field, isRequired: boolean, run: Run, path: Path): null {
  const located = locatedError(error, nodes, keysOf(path))
  if (isRequired) throw located
  run.errors.push(located)
  return null
}

/** Like `fail`, but records each error of an AggregateError separately, as the executor does for resolvers. */
function failField(error: unknown, field: Field, isRequired: boolean, run: Run, path: Path): null {
  const all: unknown[] = error instanceof AggregateError && error.errors.length > 0 ? error.errors : [error]
  for (const each of all) fail(each, field, isRequired, run, path)
  return null
}

/** Reads a property like graphql's default resolver, which calls methods. */
function propertyOf(source: unknown, property: string, step: Step, run: Run, parent: Path | undefined): unknown {
  if (!isObjectLike(source) && typeof source !== 'function') return undefined
  const value: unknown = (source as Source)[property]
  if (typeof value !== 'function') return value
  const info = infoOf(step, run, pathTo(parent, step))
  return defaultFieldResolver(source, step.argsOf(run), run.contextValue, info)
}

const pathTo = (prev: Path | undefined, { key, field }: Step): Path => ({ prev, key, typename: field.parent.name })

/**
 * Returns the completed field, or a promise of it. Throws or rejects if a required field fails. Most fields are leaves
 * that are plain properties; their path is built only if they fail or are promises.
 */
function fieldOf(step: Step, source: unknown, run: Run, parent: Path | undefined): unknown {
  const { property, field, completion } = step
  const { complete, isLeaf, isRequired } = completion
  let path = isLeaf && property !== null ? undefined : pathTo(parent, step)
  try {
    const value =
      property === null
        ? step.resolve(source, step.argsOf(run), run.contextValue, infoOf(step, run, path!))
        : propertyOf(source, property, step, run, parent)
    const completed = isPromise(value) ? value.then((each) => complete(each, run, path)) : complete(value, run, path)
    if (!isPromise(completed)) return completed
    path ??= pathTo(parent, step)
    return completed.then(undefined, (error) => failField(error, field, isRequired, run, path!))
  } catch (error) {
    return failField(error, field, isRequired, run, path ?? pathTo(parent, step))
  }
}

/**
 * Returns a function that completes an object. The result lists the fields in the order of the selection, regardless of
 * when they resolve.
 */
export const objectOf =
  (steps: readonly Step[]): Complete =>
  (source, run, path) => {
    const result: Source = {}
    const late: Promise<void>[] = []
    try {
      for (const step of steps) {
        const { key } = step
        run.signal?.throwIfAborted()
        const completed = fieldOf(step, source, run, path)
        // Set immediately, so that the key keeps its position when a late value arrives.
        result[key] = completed
        if (isPromise(completed)) late.push(completed.then((value) => void (result[key] = value)))
      }
    } catch (error) {
      // Wait for the other fields: if one of them rejected without a handler, the process would end.
      if (late.length === 0) throw error
      return Promise.all(late).finally(() => {
        throw error
      })
    }
    if (late.length === 0) return result
    return (late.length === 1 ? late[0]! : Promise.all(late)).then(() => result)
  }

const isIterable = (value: unknown): value is Iterable<unknown> =>
  isObjectLike(value) && typeof (value as { [Symbol.iterator]?: unknown })[Symbol.iterator] === 'function'

/**
 * Returns a function that completes a list. It returns a JsonText unchanged. An item that fails becomes null if items are
 * nullable.
 */
export const listOf =
  ({ complete, isLeaf, isRequired }: Completion, field: Field): Complete =>
  (value, run, path) => {
    if (value instanceof JsonText) return value
    if (!isIterable(value)) {
      const name = `${field.parent.name}.${field.name}`
      throw new GraphQLError(`Expected Iterable, but did not find one for field "${name}".`)
    }
    let isLate = false
    const result: unknown[] = []
    for (const item of value) {
      let at: Path | undefined = isLeaf ? undefined : { prev: path, key: result.length, typename: undefined }
      try {
        let completed = isPromise(item) ? item.then((each) => complete(each, run, at)) : complete(item, run, at)
        if (isPromise(completed)) {
          isLate = true
          const itemPath = (at ??= { prev: path, key: result.length, typename: undefined })
          completed = completed.then(undefined, (error) => fail(error, field, isRequired, run, itemPath))
        }
        result.push(completed)
      } catch (error) {
        at ??= { prev: path, key: result.length, typename: undefined }
        result.push(fail(error, field, isRequired, run, at))
      }
    }
    return isLate ? Promise.all(result) : result
  }
