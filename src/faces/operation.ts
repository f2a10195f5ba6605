// Reads an operation of a face: the inputs that it accepts as plain JSON, and the part of its result that the face
// answers with. Pure.

import {
  getNamedType,
  getOperationAST,
  GraphQLNonNull,
  isInputObjectType,
  isObjectType,
  isUnionType,
  Kind,
  parse,
  typeFromAST,
  type DocumentNode,
  type FieldNode,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNullableType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type OperationTypeNode,
  type SelectionSetNode,
} from 'graphql'

/** A value that the operation accepts. `isField` is true for a field of the variable `input`. */
export type Input = { name: string; definition: GraphQLArgument | GraphQLInputField; isField: boolean }

export type Operation = {
  document: DocumentNode
  kind: OperationTypeNode
  /** The description of the field that the face answers with, in Markdown. */
  description: string
  /** The accepted values, in the order of the document; those of the variable `input` by their own names. */
  inputs: readonly Input[]
  /** Keys from the operation's data to the answer. */
  path: readonly string[]
  /** The type of the answer, which is never null: a missing object is an error. And its selection. */
  type: GraphQLOutputType
  selection: SelectionSetNode
}

/** Returns the argument that the operation gives the variable to. */
function argumentOf(schema: GraphQLSchema, node: OperationDefinitionNode, variable: string): GraphQLArgument {
  let found: GraphQLArgument | undefined
  const search = (type: GraphQLObjectType, { selections }: SelectionSetNode): void => {
    for (const each of selections) {
      if (each.kind === Kind.INLINE_FRAGMENT) {
        const member = schema.getType(each.typeCondition!.name.value)
        if (isObjectType(member)) search(member, each.selectionSet)
      }
      if (each.kind !== Kind.FIELD) continue
      const field = type.getFields()[each.name.value]!
      const used = each.arguments?.find(({ value }) => value.kind === Kind.VARIABLE && value.name.value === variable)
      if (used) found = field.args.find(({ name }) => name === used.name.value)!
      const inner = getNamedType(field.type)
      if (each.selectionSet) search(inner as GraphQLObjectType, each.selectionSet)
    }
  }
  search(schema.getRootType(node.operation)!, node.selectionSet)
  return found!
}

/** Returns the inputs of the operation's variables. */
function inputsOf(schema: GraphQLSchema, node: OperationDefinitionNode): Input[] {
  return node.variableDefinitions!.flatMap(({ variable, type: typeNode }): Input[] => {
    const name = variable.name.value
    const type = typeFromAST(schema, typeNode) as GraphQLInputType
    const named = getNamedType(type)
    if (name === 'input' && isInputObjectType(named)) {
      return Object.values(named.getFields()).map((field) => ({ name: field.name, definition: field, isField: true }))
    }
    return [{ name, definition: { ...argumentOf(schema, node, name), name, type }, isField: false }]
  })
}

const keyOf = ({ alias, name }: FieldNode) => (alias ?? name).value

/** Returns the selection of the payload in a union of a payload and errors. */
function payloadIn(schema: GraphQLSchema, { selections }: SelectionSetNode): [GraphQLObjectType, SelectionSetNode] {
  for (const each of selections) {
    if (each.kind !== Kind.INLINE_FRAGMENT) continue
    const type = schema.getType(each.typeCondition!.name.value)
    if (isObjectType(type)) return [type, each.selectionSet]
  }
  throw new Error('The union has no payload.')
}

/**
 * Reads the only operation of a document. The answer is the value of the root field; if it selects only one field of an
 * object, the value of that field, and so on.
 */
export function readOperation(schema: GraphQLSchema, text: string): Operation {
  const document = parse(text)
  const node = getOperationAST(document)!
  const path: string[] = []
  let parent = schema.getRootType(node.operation)!
  let { selectionSet: selection } = node
  let field: GraphQLField<unknown, unknown>
  for (;;) {
    const [only] = selection.selections as [FieldNode]
    field = parent.getFields()[only.name.value]!
    path.push(keyOf(only))
    selection = only.selectionSet!
    const type = getNamedType(field.type)
    const [inner, ...others] = selection.selections
    if (!isObjectType(type) || others.length > 0 || inner?.kind !== Kind.FIELD) break
    parent = type
  }
  const named = getNamedType(field.type)
  const [type, selected] = isUnionType(named) ? payloadIn(schema, selection) : [named, selection]
  return {
    document,
    kind: node.operation,
    description: field.description!,
    inputs: inputsOf(schema, node),
    path,
    type: new GraphQLNonNull(type as GraphQLNullableType & GraphQLOutputType),
    selection: selected,
  }
}
