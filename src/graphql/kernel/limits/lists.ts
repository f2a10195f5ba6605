// Counts the values of each list of objects before the executor completes them. So a list that is longer than estimated
// (cost.ts) stops the operation early. The counts assume that no object is null; work.ts counts the values of the result.
// graphql-js limits the lists of introspection itself (MaxIntrospectionDepthRule).

import {
  defaultFieldResolver,
  getNamedType,
  getNullableType,
  isCompositeType,
  isListType,
  isObjectType,
  isUnionType,
  Kind,
  type FieldNode,
  type GraphQLCompositeType,
  type GraphQLFieldResolver,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  type SelectionSetNode,
} from 'graphql'
import type { RequestContext } from '../request.ts'

type Document = Pick<GraphQLResolveInfo, 'schema' | 'fragments'>

const isList = (type: GraphQLOutputType) => isListType(getNullableType(type))

/** Returns the number of values of an object: its fields, and those of nested objects that are not in a list. */
function valuesOf(document: Document, type: GraphQLCompositeType, { selections }: SelectionSetNode): number {
  let values = 0
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) {
      values += 1
      const field = isUnionType(type) ? undefined : type.getFields()[selection.name.value]
      const nested = field && !isList(field.type) ? getNamedType(field.type) : undefined
      if (selection.selectionSet && isCompositeType(nested))
        values += valuesOf(document, nested, selection.selectionSet)
      continue
    }
    const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? document.fragments[selection.name.value]! : selection
    const condition = fragment.typeCondition && document.schema.getType(fragment.typeCondition.name.value)
    values += valuesOf(document, isCompositeType(condition) ? condition : type, fragment.selectionSet)
  }
  return values
}

const cached = new WeakMap<FieldNode, number>()

/** Returns the number of values of one item of the list that is being resolved. */
function valuesPerItem(info: GraphQLResolveInfo): number {
  const [node] = info.fieldNodes as readonly [FieldNode]
  let values = cached.get(node)
  if (values === undefined) {
    const type = getNamedType(info.returnType) as GraphQLCompositeType
    values = 1
    for (const { selectionSet } of info.fieldNodes) values += valuesOf(info, type, selectionSet!)
    cached.set(node, values)
  }
  return values
}

type Resolver = GraphQLFieldResolver<unknown, RequestContext>

/** Wraps the resolver of a list of objects to count the values of the list. */
function counting(resolve: Resolver): Resolver {
  return (source, args, context, info) => {
    const count = (list: unknown): unknown => {
      if (Array.isArray(list)) context.work.complete(list.length * valuesPerItem(info))
      return list
    }
    const list: unknown = resolve(source, args, context, info)
    return list instanceof Promise ? list.then(count) : count(list)
  }
}

/** Changes and returns the schema: its lists of objects are counted. */
export function withCountedLists(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue
    for (const field of Object.values(type.getFields())) {
      if (!isList(field.type) || !isCompositeType(getNamedType(field.type))) continue
      field.resolve = counting((field.resolve ?? defaultFieldResolver) as Resolver)
    }
  }
  return schema
}
