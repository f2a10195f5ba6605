// The text of src/client/generated.ts, which is not committed: the types of the fragments and inputs in the client's
// documents, and the possible types and scalars of the schema, for other GraphQL clients.

import {
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  isSpecifiedScalarType,
  Kind,
  parse,
  type FragmentDefinitionNode,
  type GraphQLEnumType,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type SelectionSetNode,
} from 'graphql'
import * as documents from '../src/client/verbs/documents.ts'

/** The TypeScript type of each scalar in results. Inputs accept the same types. */
const SCALARS: Record<string, string> = {
  ID: 'string',
  String: 'string',
  Int: 'number',
  Float: 'number',
  Boolean: 'boolean',
  BigInt: 'number',
  DateTime: 'string',
  JSON: 'any',
}
/** The inputs and enums that are parameters of the client's functions. */
const NAMED = [
  'CreateConversationInput',
  'TurnInput',
  'StreamingTurnInput',
  'TurnVersionInput',
  'TokenUsageInput',
  'StreamedPartInput',
  'ConversationEventType',
  'ClaimScope',
  'Respond',
  'AddParticipantInput',
  'ApprovalState',
  'BuildContextInput',
  'ClaimTurnInput',
  'CompactInput',
  'ConversationFilter',
  'ConversationOrder',
  'ExtractFactsInput',
  'FactFilter',
  'FactInput',
  'MessageFormat',
  'RecallInput',
  'StartExportInput',
  'ResolveApprovalInput',
  'RunTurnInput',
  'SummarizeInput',
  'TurnFilter',
  'UpdateConversationInput',
  'UpdateParticipantInput',
  'UpdateSharedStateInput',
]

const HEADER = `// Written by \`npm run generate\` (scripts/client-types.ts): the types of the fragments and inputs in
// the client's documents, and the possible types and scalars of the schema, for other GraphQL clients.
`

const doc = (description: string | null | undefined, indent = '') =>
  description ? `${indent}/** ${description.replaceAll('\n', ' ').replaceAll('*/', '*\\/')} */\n` : ''

const valuesOf = (type: GraphQLEnumType) =>
  type
    .getValues()
    .map(({ name }) => `'${name}'`)
    .join(' | ')

/**
 * Prints the object types of each interface and union, in the format of Apollo Client's cache. Written as groups of
 * unions that differ only in the name of their mutation, which takes a third less space in a compressed bundle.
 */
function possibleTypesOf(schema: GraphQLSchema): string {
  const groups = new Map<string, string[]>()
  for (const type of Object.values(schema.getTypeMap()).filter(isAbstractType)) {
    if (type.name.startsWith('__')) continue
    const members = schema.getPossibleTypes(type).map(({ name }) => name)
    const mutation = type.name.replace(/Result$/, '')
    const isResult = members.includes(`${mutation}Payload`)
    const names = members.map((name) => (isResult && name === `${mutation}Payload` ? '*Payload' : name)).sort()
    const group = `${isResult ? '*Result' : '*'}|${names.join(' ')}`
    groups.set(group, [...(groups.get(group) ?? []), isResult ? mutation : type.name])
  }
  const lines = [...groups].map(([group, names]) => `${group}|${names.sort().join(' ')}`).sort()
  return `/** The object types of each interface and union: \`possibleTypes\` of Apollo Client's \`InMemoryCache\`. */
export const possibleTypes: Record<string, string[]> = /* @__PURE__ */ (() =>
  Object.fromEntries(
    \`${lines.join('\n')}\`.split('\\n').flatMap((line) => {
      const [type, members, names] = line.split('|') as [string, string, string]
      return names.split(' ').map((name) => [type.replace('*', name), members.replace('*', name).split(' ')])
    }),
  ))()
`
}

/** Prints the custom scalars, in the formats of graphql-codegen (its setting `scalars`) and gql.tada (a type). */
function scalarsOf(schema: GraphQLSchema): string {
  const custom = Object.values(schema.getTypeMap()).filter((type) => isScalarType(type) && !isSpecifiedScalarType(type))
  const types = custom.map(({ name }) => [name, name === 'JSON' ? 'unknown' : SCALARS[name]!] as const)
  return `/** The TypeScript type of each custom scalar, for gql.tada. */
export type Scalars = { ${types.map(([name, type]) => `${name}: ${type}`).join('; ')} }

/** The TypeScript type of each custom scalar: \`scalars\` of graphql-codegen. */
export const scalars = { ${types.map(([name, type]) => `${name}: '${type}'`).join(', ')} }
`
}

/** Returns the fragments of all documents by name. Skips FOLLOW_SHARED, whose fragments select fewer fields. */
function fragmentsOf(): Map<string, FragmentDefinitionNode> {
  const found = new Map<string, FragmentDefinitionNode>()
  for (const [name, text] of Object.entries(documents)) {
    if (name === 'FOLLOW_SHARED') continue
    for (const definition of parse(text).definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION) found.set(definition.name.value, definition)
    }
  }
  return found
}

/** Prints the types of the client's fragments and inputs. */
export function printClientTypes(schema: GraphQLSchema): string {
  const enums = new Map<string, GraphQLEnumType>()
  const inputs = new Map<string, GraphQLInputObjectType>()
  const fragments = fragmentsOf()

  function leaf(type: GraphQLNamedType): string {
    if (isEnumType(type)) enums.set(type.name, type)
    if (isInputObjectType(type) && !inputs.has(type.name)) {
      inputs.set(type.name, type)
      for (const field of Object.values(type.getFields())) inputOf(field.type)
    }
    return SCALARS[type.name] ?? type.name
  }

  function inputField({ name, description, type }: GraphQLInputField): string {
    const field = isNonNullType(type) ? `${name}: ${inputOf(type)}` : `${name}?: ${inputOf(type)} | null`
    return `${doc(description, '  ')}  ${field}\n`
  }

  function inputOf(type: GraphQLInputType): string {
    if (isNonNullType(type)) return inputOf(type.ofType)
    return isListType(type) ? `readonly ${inputOf(type.ofType)}[]` : leaf(type)
  }

  function output(type: GraphQLOutputType, selection: SelectionSetNode | undefined, nullable = true): string {
    if (isNonNullType(type)) return output(type.ofType, selection, false)
    const inner = isListType(type)
      ? `${bracketed(output(type.ofType, selection))}[]`
      : selection
        ? selected(type as GraphQLNamedType, selection)
        : leaf(type as GraphQLNamedType)
    return nullable ? `${inner} | null` : inner
  }
  const bracketed = (type: string) => (/ [|&] /.test(type) && !type.startsWith('{') ? `(${type})` : type)

  /** Prints the fields that a selection on an object selects, one per line. Omits fragments on other types. */
  function fieldsOf(type: GraphQLObjectType, { selections }: SelectionSetNode, indent: string): string[] {
    return selections.flatMap((each) => {
      if (each.kind === Kind.FRAGMENT_SPREAD)
        return fieldsOf(type, fragments.get(each.name.value)!.selectionSet, indent)
      if (each.kind === Kind.INLINE_FRAGMENT) {
        const condition = each.typeCondition!.name.value
        const applies = condition === type.name || type.getInterfaces().some(({ name }) => name === condition)
        return applies ? fieldsOf(type, each.selectionSet, indent) : []
      }
      const name = each.name.value
      if (name === '__typename') return [`${indent}__typename: '${type.name}'\n`]
      const field = type.getFields()[name]!
      const key = each.alias?.value ?? name
      return [`${doc(field.description, indent)}${indent}${key}: ${output(field.type, each.selectionSet)}\n`]
    })
  }

  /** Prints the type of a selection: the name of the fragment if it only spreads one, otherwise its fields. */
  function selected(type: GraphQLNamedType, selection: SelectionSetNode): string {
    const [only, ...others] = selection.selections
    if (only?.kind === Kind.FRAGMENT_SPREAD && others.length === 0) return only.name.value
    if (!isObjectType(type)) throw new Error(`Select a fragment on ${type.name}.`)
    return `{ ${fieldsOf(type, selection, '')
      .map((line) => line.replace(/^\/\*\*.*\n/, '').trim())
      .join('; ')} }`
  }

  /** Returns the name of the type for the objects of that type among those that an abstract fragment selects. */
  const memberName = (fragment: string, object: string) => (fragments.has(object) ? `${fragment}${object}` : object)

  function fragmentType({ name, typeCondition, selectionSet }: FragmentDefinitionNode): string {
    const type = schema.getType(typeCondition.name.value)!
    const objects = isAbstractType(type) ? schema.getPossibleTypes(type) : [type as GraphQLObjectType]
    const sorted = [...objects].sort((a, b) => a.name.localeCompare(b.name))
    const printed = sorted.map((object) => {
      const fields = fieldsOf(object, selectionSet, '  ').join('')
      const typeName = isAbstractType(type) ? memberName(name.value, object.name) : name.value
      return `${doc(object.description)}export type ${typeName} = {\n${fields}}\n`
    })
    if (!isAbstractType(type)) return printed.join('\n')
    const union = `export type ${name.value} =\n${sorted.map((each) => `  | ${memberName(name.value, each.name)}\n`).join('')}`
    return `${printed.join('\n')}\n${doc(type.description)}${union}`
  }

  function inputType(input: GraphQLInputObjectType): string {
    const fields = Object.values(input.getFields())
    const members = input.isOneOf
      ? `\n${fields.map((field) => `  | { ${field.name}: ${inputOf(field.type)} }\n`).join('')}`
      : ` {\n${fields.map(inputField).join('')}}\n`
    return `${doc(input.description)}export type ${input.name} =${members}`
  }

  const fragmentTypes = [...fragments.values()].map(fragmentType)
  for (const name of NAMED) leaf(schema.getType(name)!)
  const inputTypes = [...inputs.values()].map(inputType)
  const enumTypes = [...enums.values()].map(
    (type) => `${doc(type.description)}export type ${type.name} = ${valuesOf(type)}\n`,
  )
  return [HEADER, ...fragmentTypes, ...inputTypes, ...enumTypes, possibleTypesOf(schema), scalarsOf(schema)].join('\n')
}
