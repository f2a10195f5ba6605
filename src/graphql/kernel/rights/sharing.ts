// Marks the fields that have the same value for all viewers of one view class (domain/kernel/view.ts). An event of a
// subscription is executed once per view class only if the document selects no other fields. The option `sharing`
// (field-options.ts) marks a field.

import {
  BREAK,
  getOperationAST,
  isAbstractType,
  isUnionType,
  separateOperations,
  TypeInfo,
  visit,
  visitWithTypeInfo,
  type DocumentNode,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
} from 'graphql'
import type { Sharing } from '../field-options.ts'

/**
 * Returns the mark of a field; null for an unmarked field. A field that exposes a property of its parent (`t.expose…`)
 * is shareable without a mark.
 * @internal
 */
export function sharingOf({ extensions }: GraphQLField<unknown, unknown>): Sharing | null {
  if (extensions.sharing) return extensions.sharing as Sharing
  const isPlainColumn = extensions.pothosExposedField !== undefined && extensions.pothosResolveWrapped === false
  return isPlainColumn ? 'SHAREABLE' : null
}

/**
 * Yields the fields that selecting `name` on `type` may execute: the field of the type itself, and of each possible
 * type of an abstract type. Yields undefined for a type without the field.
 */
function* fieldsNamed(schema: GraphQLSchema, type: GraphQLCompositeType, name: string) {
  if (!isUnionType(type)) yield type.getFields()[name]
  if (isAbstractType(type)) for (const possible of schema.getPossibleTypes(type)) yield possible.getFields()[name]
}

/**
 * Whether every field that the operation selects, fragments included, is shareable. Without a name, checks the
 * document's only operation. Counts fields even if `@skip` or `@include` excludes them. False for an operation that is
 * not in the document.
 */
export function selectsOnlyShareable(schema: GraphQLSchema, document: DocumentNode, operationName?: string): boolean {
  const operation = getOperationAST(document, operationName)
  if (!operation) return false
  const types = new TypeInfo(schema)
  let isShareable = true
  visit(
    separateOperations(document)[operation.name?.value ?? '']!,
    visitWithTypeInfo(types, {
      Field({ name: { value: name } }) {
        const parent = types.getParentType()
        if (name === '__typename') return
        if (
          parent
          && [...fieldsNamed(schema, parent, name)].every((field) => field && sharingOf(field) === 'SHAREABLE')
        ) {
          return
        }
        isShareable = false
        return BREAK
      },
    }),
  )
  return isShareable
}
