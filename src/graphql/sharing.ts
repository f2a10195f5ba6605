// Which fields look the same to all viewers of one view class (domain/view.ts). A subscription's event is executed once for
// such a class only if its document selects nothing else. Sharing is opt-in: a field that nobody marked is not shared.

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

/**
 * Mark (`extensions`) of a field whose value is made of its parent alone, or read where all viewers of the tenant see the
 * same.
 */
export const SHAREABLE = { sharing: 'SHAREABLE' } as const

/** Mark of a field that reads on in its viewer's view, which may have changed since the event. */
export const PER_VIEWER = { sharing: 'PER_VIEWER' } as const

export type Sharing = (typeof SHAREABLE | typeof PER_VIEWER)['sharing']

/**
 * How renderings of a field are shared; null for a field that nobody decided. Without a mark, a column exposed as it is
 * (`t.expose…`) is shareable: it is a property of its parent.
 */
export function sharingOf({ extensions }: GraphQLField<unknown, unknown>): Sharing | null {
  if (extensions.sharing) return extensions.sharing as Sharing
  const isPlainColumn = extensions.pothosExposedField !== undefined && extensions.pothosResolveWrapped === false
  return isPlainColumn ? 'SHAREABLE' : null
}

/** The fields of that name that a selection on the type may execute: its own, and those of the types that it can be. */
function* fieldsNamed(schema: GraphQLSchema, type: GraphQLCompositeType, name: string) {
  if (!isUnionType(type)) yield type.getFields()[name]
  if (isAbstractType(type)) for (const possible of schema.getPossibleTypes(type)) yield possible.getFields()[name]
}

/**
 * Whether every field that the operation selects, fragments included, is shareable; without a name, the document's only
 * operation. Does not evaluate `@skip` and `@include`. False for an operation that is not in the document.
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
