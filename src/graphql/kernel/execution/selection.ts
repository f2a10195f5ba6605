// Finds the fields that a selection set selects, with those of its fragments. graphql-js finds them during the execution;
// resolvers need them before, to read what is selected and nothing else, and so do the checks of a whole operation.

import {
  getNamedType,
  isAbstractType,
  isObjectType,
  Kind,
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type SelectionSetNode,
  type DocumentNode,
  type FragmentDefinitionNode,
} from 'graphql'

/** The schema, and the fragments of the document. */
type Document = Pick<GraphQLResolveInfo, 'schema' | 'fragments'>

/** A selected field: its name in the result, and its definition; null for `__typename`. */
export type Selected = {
  key: string
  node: FieldNode
  parent: GraphQLObjectType
  definition: GraphQLField<unknown, unknown> | null
}

/** Adds the selected fields to `into`. Returns whether they can be known: no directive may exclude a selection. */
function collect(
  document: Document,
  parent: GraphQLObjectType,
  { selections }: SelectionSetNode,
  into: Map<string, Selected>,
): boolean {
  return selections.every((selection) => {
    if (selection.directives?.length) return false
    if (selection.kind === Kind.FIELD) {
      const key = selection.alias?.value ?? selection.name.value
      // The selection sets of equal fields would have to be merged.
      if (into.has(key)) return !selection.selectionSet
      into.set(key, { key, node: selection, parent, definition: parent.getFields()[selection.name.value] ?? null })
      return true
    }
    const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? document.fragments[selection.name.value]! : selection
    const condition = fragment.typeCondition && document.schema.getType(fragment.typeCondition.name.value)
    const applies =
      !condition || condition === parent || (isAbstractType(condition) && document.schema.isSubType(condition, parent))
    return !applies || collect(document, parent, fragment.selectionSet, into)
  })
}

/** The fields that each node of a field selects on the type; null if they cannot be known. */
const known = new WeakMap<FieldNode, { type: GraphQLObjectType; fields: readonly Selected[] | null }>()

/**
 * Returns the fields that the node of a field selects on an object of this type, in the order of the result. Null if
 * the document has directives there, or selects an object twice.
 */
function selectedBy(document: Document, type: GraphQLObjectType, node: FieldNode): readonly Selected[] | null {
  const cached = known.get(node)
  if (cached?.type === type) return cached.fields
  const found = new Map<string, Selected>()
  const fields = node.selectionSet && collect(document, type, node.selectionSet, found) ? [...found.values()] : null
  known.set(node, { type, fields })
  return fields
}

/** Returns the fields that the field being resolved selects; null if they cannot be known. */
export function selectedByField(info: GraphQLResolveInfo): readonly Selected[] | null {
  const [node, ...others] = info.fieldNodes
  const type = getNamedType(info.returnType)
  return node && others.length === 0 && isObjectType(type) ? selectedBy(info, type, node) : null
}

/** Returns the fields that a selected field selects itself; null if they cannot be known. */
export function selectedIn(document: Document, { node, definition }: Selected): readonly Selected[] | null {
  const type = definition && getNamedType(definition.type)
  return isObjectType(type) ? selectedBy(document, type, node) : null
}

/**
 * Yields the fields that an operation selects on its root type, each of which is a read or a write: those of fragments
 * included, and those that `@skip` or `@include` may exclude.
 */
export function* rootFields(
  document: DocumentNode,
  { selectionSet }: { selectionSet: SelectionSetNode },
): Generator<FieldNode> {
  for (const selection of selectionSet.selections) {
    if (selection.kind === Kind.FIELD) yield selection
    else if (selection.kind === Kind.INLINE_FRAGMENT) yield* rootFields(document, selection)
    else {
      const name = selection.name.value
      const fragment = document.definitions.find(
        (each): each is FragmentDefinitionNode => each.kind === Kind.FRAGMENT_DEFINITION && each.name.value === name,
      )
      if (fragment) yield* rootFields(document, fragment)
    }
  }
}
