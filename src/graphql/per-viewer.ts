// Which fields a viewer's view has to be asked for. A document without any of them looks the same to all viewers who
// see the same, so a subscription's event is executed once for all of them.

import {
  BREAK,
  getOperationAST,
  separateOperations,
  TypeInfo,
  visit,
  visitWithTypeInfo,
  type DocumentNode,
  type GraphQLSchema,
} from 'graphql'

/** The mark of such a field: its `extensions`. */
export const PER_VIEWER = { perViewer: true } as const

/**
 * Whether that operation, with the fragments it uses, selects such a field; without a name, the document's only
 * operation. `@skip` and `@include` are not looked at. False for an operation that is not there.
 */
export function selectsPerViewer(schema: GraphQLSchema, document: DocumentNode, operationName?: string): boolean {
  const operation = getOperationAST(document, operationName)
  if (!operation) return false
  const types = new TypeInfo(schema)
  let found = false
  visit(
    separateOperations(document)[operation.name?.value ?? '']!,
    visitWithTypeInfo(types, {
      Field() {
        if (!types.getFieldDef()?.extensions.perViewer) return
        found = true
        return BREAK
      },
    }),
  )
  return found
}
