// The cost of an operation: the number of values (objects, list items and leaves) that its answer can have, estimated
// before it runs from the page sizes along each path. Pure. The part that does not depend on variables is computed once
// per operation.
//
// A page size is an argument, or a field of the argument `input`, with one of the names in PAGE_SIZES, or the number of
// items of one of INPUT_LISTS. It applies to the field's own list, or to the lists in the object that the field returns
// (the edges of a connection, the hits of a recall). An input with the name of a list below the field (NEIGHBOURS) applies
// to that list. Any other list counts as LIST_SIZE items. Fields count even if @skip or @include excludes them. The cost
// of a union is the sum of the costs of its types.

import {
  getNamedType,
  getNullableType,
  isAbstractType,
  isCompositeType,
  isInputObjectType,
  isListType,
  isUnionType,
  Kind,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql'
import { DEFAULT_PAGE_SIZE } from '../../../domain/kernel/page.ts'

/** Arguments that are page sizes, by precedence. */
const PAGE_SIZES = ['first', 'last', 'limit', 'k', 'n']
/** Input lists whose items are returned in the answer. */
const INPUT_LISTS = ['turns', 'facts', 'ids']
/** The arguments that are the size of a list, by precedence. */
const SIZES = [...PAGE_SIZES, ...INPUT_LISTS]
/** An input that limits the list of the same name in each hit, before and after the hit. */
const NEIGHBOURS = 'neighbours'
/** Assumed number of items of a list without a page size. @internal */
export const LIST_SIZE = 10
/** Assumed number of items of a list of an introspection type; few of these lists are long. */
const INTROSPECTION_LIST_SIZE = 5

type Variables = Readonly<Record<string, unknown>>
/** A number of items; a function of the variables if it depends on them. */
type Size = number | ((variables: Variables) => number)
/** A cost as a sum: the constant part, and the costs that are repeated a number of times. */
type Cost = { constant: number; terms: { size: Size; each: Cost }[] }

type Context = {
  schema: GraphQLSchema
  fragments: Map<string, FragmentDefinitionNode>
  /** Default values of the operation's variables. */
  defaults: Variables
  /** Size of the lists named NEIGHBOURS; null outside of a field with that input. */
  neighbours: Size | null
}

const costs = new WeakMap<OperationDefinitionNode, Cost>()

/**
 * Returns the number of values that the answer of a valid operation can have.
 * @param variables as the client sent them; values of a wrong type count as omitted, and fail later
 */
export function costOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables | null | undefined,
): number {
  let cost = costs.get(operation)
  if (!cost) costs.set(operation, (cost = compile(schema, document, operation)))
  return total(cost, variables ?? {})
}

function total({ constant, terms }: Cost, variables: Variables): number {
  let sum = constant
  for (const { size, each } of terms) {
    sum += (typeof size === 'number' ? size : size(variables)) * total(each, variables)
  }
  return sum
}

function compile(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): Cost {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const each of document.definitions) {
    if (each.kind === Kind.FRAGMENT_DEFINITION) fragments.set(each.name.value, each)
  }
  const defaults: Record<string, unknown> = {}
  for (const { variable, defaultValue } of operation.variableDefinitions ?? []) {
    if (defaultValue) defaults[variable.name.value] = plainValue(defaultValue)
  }
  const root = schema.getRootType(operation.operation)!
  const cost: Cost = { constant: 0, terms: [] }
  addSelections(
    { schema, fragments, defaults, neighbours: null },
    { cost, pending: null },
    root,
    operation.selectionSet,
  )
  return cost
}

/** Adds `size` times `each` to the cost. */
function addTimes(cost: Cost, size: Size, each: Cost): void {
  if (typeof size === 'number' && each.terms.length === 0) cost.constant += size * each.constant
  else cost.terms.push({ size, each })
}

/** An object: the cost that its fields are added to, and the page size that a field above passes to its lists. */
type Target = { cost: Cost; pending: Size | null }

function addSelections(
  context: Context,
  target: Target,
  type: GraphQLCompositeType,
  { selections }: SelectionSetNode,
): void {
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) {
      const field = isUnionType(type) ? undefined : type.getFields()[selection.name.value]
      addField(context, target, selection, field ?? META_FIELDS.get(selection.name.value))
      continue
    }
    const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : context.fragments.get(selection.name.value)
    if (!fragment) continue
    const condition = fragment.typeCondition && context.schema.getType(fragment.typeCondition.name.value)
    const narrowed = condition && isCompositeType(condition) ? condition : type
    // An object of this type never has the fragment's type, so the fragment costs nothing.
    if (!isAbstractType(type) && !isAbstractType(narrowed) && narrowed !== type) continue
    addSelections(context, target, narrowed, fragment.selectionSet)
  }
}

/** The fields of the root type that query the schema; __typename has no entry. */
const META_FIELDS = new Map([SchemaMetaFieldDef, TypeMetaFieldDef].map((field) => [field.name, field]))

function addField(
  context: Context,
  { cost, pending }: Target,
  node: FieldNode,
  field: GraphQLField<unknown, unknown> | undefined,
): void {
  cost.constant += 1
  const type = field && getNamedType(field.type)
  if (!type || !node.selectionSet || !isCompositeType(type)) {
    if (field && isListType(getNullableType(field.type)))
      addTimes(cost, pending ?? LIST_SIZE, { constant: 1, terms: [] })
    return
  }
  const own = field.name === NEIGHBOURS ? context.neighbours : sizeOf(context, node, field, SIZES)
  const size = own ?? pending
  const neighbours = sizeOf(context, node, field, [NEIGHBOURS])
  const inner = neighbours === null ? context : { ...context, neighbours: twice(neighbours) }
  if (!isListType(getNullableType(field.type))) {
    return addSelections(inner, { cost, pending: size }, type, node.selectionSet)
  }
  const item: Cost = { constant: 1, terms: [] }
  addSelections(inner, { cost: item, pending: null }, type, node.selectionSet)
  addTimes(cost, size ?? (type.name.startsWith('__') ? INTROSPECTION_LIST_SIZE : LIST_SIZE), item)
}

const twice = (size: Size): Size => (typeof size === 'number' ? 2 * size : (variables) => 2 * size(variables))

/**
 * Returns the size that the field's arguments of these names select, by precedence; null if it has no such argument.
 */
function sizeOf(
  context: Context,
  node: FieldNode,
  field: GraphQLField<unknown, unknown>,
  names: readonly string[],
): Size | null {
  const given = new Map(node.arguments?.map(({ name, value }) => [name.value, value]))
  const own = sizeAmong(context, Object.fromEntries(field.args.map((each) => [each.name, each])), given, names)
  if (own !== null) return own
  const input = field.args.find(({ name }) => name === 'input')
  const type = input && getNamedType(input.type)
  if (!isInputObjectType(type)) return null
  const value = given.get('input')
  if (value?.kind !== Kind.VARIABLE) {
    const fields = value?.kind === Kind.OBJECT ? value.fields : []
    return sizeAmong(context, type.getFields(), new Map(fields.map((each) => [each.name.value, each.value])), names)
  }
  const name = value.name.value
  const fallback = defaultAmong(type.getFields(), names)
  const present = names.filter((each) => each in type.getFields())
  if (present.length === 0) return null
  return (variables) => {
    const object = (variables[name] ?? context.defaults[name]) as Variables | null | undefined
    for (const each of present) {
      const size = sizeFrom(object?.[each])
      if (size !== null) return size
    }
    return fallback ?? LIST_SIZE
  }
}

type Definitions = Readonly<Record<string, Pick<GraphQLInputField, 'defaultValue' | 'extensions'>>>

/**
 * Returns the page size of a field whose arguments omit it; null if none of the definitions is a page size. A definition
 * whose default depends on the tenant has the usual one in its extension `usualSize`.
 */
function defaultAmong(definitions: Definitions, names: readonly string[]): number | null {
  const present = names.filter((name) => name in definitions && !INPUT_LISTS.includes(name))
  if (present.length === 0) return null
  const sizeOf = ({ defaultValue, extensions }: Definitions[string]) => sizeFrom(defaultValue ?? extensions.usualSize)
  return present.map((name) => sizeOf(definitions[name]!)).find((size) => size !== null) ?? DEFAULT_PAGE_SIZE
}

function sizeAmong(
  context: Context,
  definitions: Definitions,
  given: Map<string, ValueNode>,
  names: readonly string[],
): Size | null {
  const fallback = defaultAmong(definitions, names)
  for (const name of names) {
    const value = name in definitions ? given.get(name) : undefined
    if (!value || value.kind === Kind.NULL) continue
    if (value.kind !== Kind.VARIABLE) return sizeFrom(plainValue(value)) ?? fallback
    const variable = value.name.value
    return (variables) => sizeFrom(variables[variable] ?? context.defaults[variable]) ?? fallback ?? LIST_SIZE
  }
  return fallback
}

/** Returns the page size for a value: the number, or the length of the list; null for any other value. */
function sizeFrom(value: unknown): number | null {
  if (typeof value === 'number') return Math.max(0, value)
  return Array.isArray(value) ? value.length : null
}

/** Returns the part of a literal that can be a page size: numbers, lists (of unknown items) and fields of objects. */
function plainValue(value: ValueNode): unknown {
  if (value.kind === Kind.INT) return Number(value.value)
  if (value.kind === Kind.LIST) return value.values.map(() => null)
  if (value.kind !== Kind.OBJECT) return null
  return Object.fromEntries(value.fields.map((field) => [field.name.value, plainValue(field.value)]))
}
