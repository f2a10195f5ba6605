// The fields that an operation selects on its root type, each of which is a read or a write.

import { Kind, type DocumentNode, type FieldNode, type FragmentDefinitionNode, type SelectionSetNode } from 'graphql'

/** Yields the fields, those of fragments included, and those that `@skip` or `@include` may exclude. */
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
