// Coerces the variables of mutations with long lists in steps, because the executor would coerce 100,000 objects at
// once and block the event loop. The executor then gets the coerced values under variables of the type JSON, whose
// coercion returns them unchanged.

import {
  coerceInputValue,
  getNullableType,
  getOperationAST,
  isInputObjectType,
  isListType,
  Kind,
  OperationTypeNode,
  typeFromAST,
  visit,
  type DocumentNode,
  type ExecutionArgs,
  type GraphQLInputType,
  type NamedTypeNode,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { createYield } from '../../../runtime/yield.ts'

/** Minimum number of items of a list that is coerced in steps. */
const LONG_LIST = 100

type Fields = Record<string, unknown>
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type LongList = { name: string; items: readonly unknown[]; of: GraphQLInputType }
type LongVariable = { name: string; type: GraphQLInputType; value: Fields; lists: readonly LongList[] }

/** Returns the fields of the value of an input type that are long lists. */
function longListsOf(type: GraphQLInputType, value: Fields): LongList[] {
  const object = getNullableType(type)
  if (!isInputObjectType(object)) return []
  return Object.values(object.getFields()).flatMap(({ name, type: ofField }) => {
    const list = getNullableType(ofField)
    const items = Object.hasOwn(value, name) ? value[name] : undefined
    return isListType(list) && Array.isArray(items) && items.length >= LONG_LIST
      ? [{ name, items, of: list.ofType }]
      : []
  })
}

/** Returns the variables of the operation that have long lists. */
function longVariablesOf({ schema, document, operationName, variableValues = {} }: ExecutionArgs): LongVariable[] {
  const { variableDefinitions = [] } = getOperationAST(document, operationName) ?? {}
  return variableDefinitions.flatMap(({ variable, type: node }) => {
    const { value: name } = variable.name
    const value = Object.hasOwn(variableValues!, name) ? variableValues![name] : undefined
    if (!isFields(value)) return []
    const type = typeFromAST(schema, node as NamedTypeNode) as GraphQLInputType
    const lists = longListsOf(type, value)
    return lists.length > 0 ? [{ name, type, value, lists }] : []
  })
}

/** A value that its type does not allow. */
class InvalidValue extends Error {}

const coerce = (value: unknown, type: GraphQLInputType): unknown =>
  coerceInputValue(value, type, () => {
    throw new InvalidValue()
  })

/** @throws InvalidValue */
async function coerceInSteps(variables: readonly LongVariable[]): Promise<Fields> {
  const yieldIfDue = createYield()
  const all: Fields = {}
  for (const { name, type, value, lists } of variables) {
    const withoutLists = { ...value, ...Object.fromEntries(lists.map((list) => [list.name, []])) }
    const coerced = (all[name] = coerce(withoutLists, type) as Fields)
    for (const { name: field, items, of } of lists) {
      const list: unknown[] = (coerced[field] = [])
      for (const item of items) {
        list.push(coerce(item, of))
        await yieldIfDue()
      }
    }
  }
  return all
}

const JSON_TYPE: NamedTypeNode = { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: 'JSON' } }

/** Returns the document with the type JSON for the variables. */
const withJsonVariables = (document: DocumentNode, names: ReadonlySet<string>): DocumentNode =>
  visit(document, {
    VariableDefinition: (node) => (names.has(node.variable.name.value) ? { ...node, type: JSON_TYPE } : undefined),
  })

/** The yoga plugin. If a value is invalid, the executor coerces all variables and reports the errors. */
export const useCoercionInSteps = (): Plugin => ({
  onExecute({ args: { document, operationName }, executeFn, setExecuteFn }) {
    if (getOperationAST(document, operationName)?.operation !== OperationTypeNode.MUTATION) return
    setExecuteFn((args: ExecutionArgs) => {
      const variables = longVariablesOf(args)
      if (variables.length === 0) return executeFn(args)
      return coerceInSteps(variables).then(
        (coerced) =>
          executeFn({
            ...args,
            document: withJsonVariables(args.document, new Set(Object.keys(coerced))),
            variableValues: { ...args.variableValues, ...coerced },
          }),
        (error: unknown) => {
          if (error instanceof InvalidValue) return executeFn(args)
          throw error
        },
      )
    })
  },
})
