// Operations generated from the schema: for each field of Query, Mutation and Subscription, a document that selects all
// fields up to a maximum depth, and variables that a test supplies. A new field is covered without a new case.

import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
} from 'graphql'

/** A leaf of a field's arguments, for example `input.turn.content` of type String. */
export type Leaf = {
  path: string
  name: string
  type: string
  /** Path of the innermost enclosing object that may be omitted; empty if all are required. */
  within: string
  /** Whether the leaf is required once `within` is given. */
  isRequired: boolean
}

export type RootField = {
  /** For example `Mutation.appendTurn`. */
  name: string
  kind: 'query' | 'mutation' | 'subscription'
  leaves: Leaf[]
  /** Document that selects every field without required arguments, up to a depth of MAX_DEPTH by default. */
  query: string
  /** Returns variables with the chosen leaves and the leaves that they or the field require. Lists have one item. */
  variables(chosen: readonly string[], valueOf: (leaf: Leaf) => unknown): Record<string, unknown>
}

/** Maximum depth of selections below a root field. */
const MAX_DEPTH = 4

const withoutNonNull = (type: GraphQLInputType) => (isNonNullType(type) ? type.ofType : type)

function leavesOf(
  type: GraphQLInputType,
  path: string,
  { within, isRequired }: Pick<Leaf, 'within' | 'isRequired'>,
  seen: readonly string[] = [],
): Leaf[] {
  const isGiven = isRequired && isNonNullType(type)
  const inner = withoutNonNull(type)
  if (isListType(inner)) {
    return leavesOf(inner.ofType, path, { within, isRequired: isGiven }, seen)
  }
  if (!isInputObjectType(inner)) {
    return [{ path, name: path.split('.').at(-1)!, type: getNamedType(inner).name, within, isRequired: isGiven }]
  }
  if (seen.includes(inner.name)) return []
  return Object.values(inner.getFields()).flatMap((field) => {
    const outer = isGiven ? within : path
    const needed = field.defaultValue === undefined
    return leavesOf(field.type, `${path}.${field.name}`, { within: outer, isRequired: needed }, [...seen, inner.name])
  })
}

/** Returns the value of an argument; undefined if it is omitted. */
function valueAt(type: GraphQLInputType, path: string, valueOf: (path: string) => unknown): unknown {
  const inner = withoutNonNull(type)
  if (isListType(inner)) {
    // A list that is not chosen is empty, even if its items must not be null.
    const item = valueAt(withoutNonNull(inner.ofType), path, valueOf)
    return item === undefined ? (isNonNullType(type) ? [] : undefined) : [item]
  }
  if (!isInputObjectType(inner)) return valueOf(path)
  const entries = Object.values(inner.getFields()).flatMap((field) => {
    const value = valueAt(field.type, `${path}.${field.name}`, valueOf)
    return value === undefined ? [] : [[field.name, value] as const]
  })
  return entries.length > 0 || isNonNullType(type) ? Object.fromEntries(entries) : undefined
}

/** Returns the selection set of a type; empty for a leaf, null at depth 0. */
function selectionOf(schema: GraphQLSchema, type: GraphQLOutputType, depth: number): string | null {
  const named = getNamedType(type)
  if (isLeafType(named)) return ''
  if (depth === 0) return null
  if (isObjectType(named)) return `{ __typename ${fieldsOf(schema, named.getFields(), depth, '')} }`
  if (!isUnionType(named) && !isInterfaceType(named)) return null
  const parts = schema
    .getPossibleTypes(named)
    .map((each) => `... on ${each.name} { ${fieldsOf(schema, each.getFields(), depth, `${each.name}_`)} }`)
  return `{ __typename ${parts.join(' ')} }`
}

/** @param prefix prefix of the aliases in unions, whose members may have fields of one name but different types */
function fieldsOf(
  schema: GraphQLSchema,
  fields: Record<string, GraphQLField<unknown, unknown>>,
  depth: number,
  prefix: string,
): string {
  return Object.values(fields)
    .filter(({ args }) => !args.some(({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined))
    .flatMap(({ name, type }) => {
      const selection = selectionOf(schema, type, depth - 1)
      return selection === null ? [] : `${prefix && `${prefix}${name}: `}${name} ${selection}`
    })
    .concat('__typename')
    .join(' ')
}

/** Returns every field of the root types, in the order of the schema. */
export function rootFieldsOf(schema: GraphQLSchema, maxDepth = MAX_DEPTH): RootField[] {
  const types = {
    query: schema.getQueryType()!,
    mutation: schema.getMutationType()!,
    subscription: schema.getSubscriptionType()!,
  }
  return (['query', 'mutation', 'subscription'] as const).flatMap((kind) =>
    Object.values(types[kind].getFields()).map(({ name, type, args }): RootField => {
      const leaves = args.flatMap((each) =>
        leavesOf(each.type, each.name, { within: '', isRequired: each.defaultValue === undefined }),
      )
      const byPath = new Map(leaves.map((leaf) => [leaf.path, leaf]))
      const declared = args.map((each) => `$${each.name}: ${String(each.type)}`).join(', ')
      const passed = args.map((each) => `${each.name}: $${each.name}`).join(', ')
      const [head, call] = args.length > 0 ? [`(${declared})`, `(${passed})`] : ['', '']
      return {
        name: `${types[kind].name}.${name}`,
        kind,
        leaves,
        query: `${kind} ${head} { ${name}${call} ${selectionOf(schema, type, maxDepth) ?? ''} }`,
        variables(chosen, valueOf) {
          const isIncluded = ({ path, within, isRequired }: Leaf) =>
            chosen.includes(path)
            || (isRequired && (within === '' || chosen.some((each) => each.startsWith(`${within}.`))))
          const values = args.flatMap((each) => {
            const value = valueAt(each.type, each.name, (path) => {
              const leaf = byPath.get(path)
              return leaf && isIncluded(leaf) ? valueOf(leaf) : undefined
            })
            return value === undefined ? [] : [[each.name, value] as const]
          })
          return Object.fromEntries(values)
        },
      }
    }),
  )
}

/** Returns a neutral value of a leaf's type: the first enum value, 1, false, a fixed time, or `text`. */
export function plainValue(schema: GraphQLSchema, { type }: Leaf, text = 'plain'): unknown {
  const named = schema.getType(type)
  if (isEnumType(named)) return named.getValues()[0]!.name
  if (type === 'Int' || type === 'Float') return 1
  if (type === 'Boolean') return false
  if (type === 'DateTime') return '2020-01-01T00:00:00.000Z'
  if (type === 'JSON') return { [text]: text }
  return text
}
