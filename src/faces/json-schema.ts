// JSON Schema (2020-12) of GraphQL types: of the variables that an operation accepts, and of the values that a selection
// returns. A fragment, an input type and an enum become definitions, which the schemas reference. Pure.

import {
  astFromValue,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  Kind,
  valueFromASTUntyped,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLArgument,
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

/** A schema as plain JSON. */
export type JsonSchema = { [keyword: string]: unknown }

const SCALARS: Record<string, JsonSchema> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Int: { type: 'integer' },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  BigInt: { type: 'integer' },
  DateTime: { type: 'string', format: 'date-time' },
  JSON: {},
}

const described = (schema: JsonSchema, description: string | null | undefined): JsonSchema =>
  description ? { ...schema, description } : schema

const orNull = (schema: JsonSchema): JsonSchema =>
  Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: 'null' }] }

/** Returns the default of an argument or an input field as JSON; undefined if it has none. */
function defaultOf({ defaultValue, type }: GraphQLArgument | GraphQLInputField): unknown {
  const node = defaultValue === undefined ? null : astFromValue(defaultValue, type)
  return node ? valueFromASTUntyped(node) : undefined
}

export type JsonSchemas = {
  /** Returns the schema of an argument or an input field. It has a description, and the default. */
  inputOf(input: GraphQLArgument | GraphQLInputField): JsonSchema
  /** Returns the schema of the value of a field. `selection` is absent for a scalar or an enum. */
  outputOf(type: GraphQLOutputType, selection: SelectionSetNode | undefined): JsonSchema
  /** The schemas of the fragments, inputs and enums that the returned schemas reference, by name. */
  definitions: Record<string, JsonSchema>
}

/** Returns a reference to the definition with that name. `create` is called for the first reference. */
type Refer = (name: string, create: () => JsonSchema) => JsonSchema

const enumOf = (refer: Refer, type: GraphQLEnumType): JsonSchema =>
  refer(type.name, () => {
    const values = type.getValues()
    const lines = values.map(({ name, description }) => `- ${name}: ${description}`)
    return {
      type: 'string',
      enum: values.map(({ name }) => name),
      description: [type.description, ...lines].join('\n'),
    }
  })

/** Returns `inputOf` of JsonSchemas. */
function createInputs(refer: Refer): JsonSchemas['inputOf'] {
  const inputObjectOf = (type: GraphQLInputObjectType): JsonSchema =>
    refer(type.name, () => {
      const fields = Object.values(type.getFields())
      const properties = Object.fromEntries(fields.map((field) => [field.name, inputOf(field)]))
      const required = fields.filter(isRequired).map(({ name }) => name)
      return {
        type: 'object',
        description: type.description,
        properties,
        ...(required.length > 0 && { required }),
        ...(type.isOneOf && { minProperties: 1, maxProperties: 1 }),
        additionalProperties: false,
      }
    })

  function inputType(type: GraphQLInputType): JsonSchema {
    if (isNonNullType(type)) return inputType(type.ofType)
    if (isListType(type)) return { type: 'array', items: inputType(type.ofType) }
    if (isEnumType(type)) return enumOf(refer, type)
    return isInputObjectType(type) ? inputObjectOf(type) : SCALARS[type.name]!
  }

  function inputOf(input: GraphQLArgument | GraphQLInputField): JsonSchema {
    const value = defaultOf(input)
    const own = inputType(input.type)
    const accepted = isNonNullType(input.type) ? own : orNull(own)
    return described(value === undefined ? accepted : { ...accepted, default: value }, input.description)
  }
  return inputOf
}

/** Returns `outputOf` of JsonSchemas. */
function createOutputs(
  schema: GraphQLSchema,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  refer: Refer,
): JsonSchemas['outputOf'] {
  function outputOf(type: GraphQLOutputType, selection: SelectionSetNode | undefined): JsonSchema {
    if (isNonNullType(type)) return valueOf(type.ofType as GraphQLOutputType, selection)
    return orNull(valueOf(type, selection))
  }

  function valueOf(type: GraphQLOutputType, selection: SelectionSetNode | undefined): JsonSchema {
    if (isListType(type)) return { type: 'array', items: outputOf(type.ofType as GraphQLOutputType, selection) }
    if (isEnumType(type)) return enumOf(refer, type)
    return selection ? selected(type as GraphQLNamedType, selection) : SCALARS[(type as GraphQLNamedType).name]!
  }

  /** Returns the schema of a selection: a reference if it is only a fragment. */
  function selected(type: GraphQLNamedType, selection: SelectionSetNode): JsonSchema {
    const [only, ...others] = selection.selections
    if (only?.kind === Kind.FRAGMENT_SPREAD && others.length === 0) {
      const { name, selectionSet } = fragments.get(only.name.value)!
      return refer(name.value, () => selected(type, selectionSet))
    }
    if (!isAbstractType(type)) return objectOf(type as GraphQLObjectType, selection)
    const members = schema.getPossibleTypes(type).map((member) => objectOf(member, selection))
    return { description: type.description, anyOf: members }
  }

  function objectOf(type: GraphQLObjectType, selection: SelectionSetNode): JsonSchema {
    const properties = Object.fromEntries(propertiesOf(type, selection))
    return described({ type: 'object', properties, required: Object.keys(properties) }, type.description)
  }

  /** Returns the properties that the selection has for objects of that type. */
  function propertiesOf(type: GraphQLObjectType, { selections }: SelectionSetNode): [string, JsonSchema][] {
    return selections.flatMap((each): [string, JsonSchema][] => {
      if (each.kind === Kind.FRAGMENT_SPREAD || each.kind === Kind.INLINE_FRAGMENT) {
        const fragment = each.kind === Kind.INLINE_FRAGMENT ? each : fragments.get(each.name.value)!
        const condition = fragment.typeCondition!.name.value
        const applies = condition === type.name || type.getInterfaces().some(({ name }) => name === condition)
        return applies ? propertiesOf(type, fragment.selectionSet) : []
      }
      const name = each.name.value
      if (name === '__typename') return [['__typename', { const: type.name }]]
      const field = type.getFields()[name]!
      return [[each.alias?.value ?? name, described(outputOf(field.type, each.selectionSet), field.description)]]
    })
  }
  return outputOf
}

/**
 * @param documents documents whose fragments become definitions
 * @param prefix of the references, for example `#/$defs/`
 */
export function createJsonSchemas(
  schema: GraphQLSchema,
  documents: readonly DocumentNode[],
  prefix: string,
): JsonSchemas {
  const definitions: Record<string, JsonSchema> = {}
  const refer: Refer = (name, create) => {
    if (!(name in definitions)) {
      // An input type may contain itself.
      definitions[name] = {}
      definitions[name] = create()
    }
    return { $ref: prefix + name }
  }
  const nodes = documents.flatMap(({ definitions: each }) => each)
  const fragments = nodes.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION)
  const byName = new Map(fragments.map((node) => [node.name.value, node]))
  return { inputOf: createInputs(refer), outputOf: createOutputs(schema, byName, refer), definitions }
}

/** Whether a value must be given for the argument or the input field. */
export const isRequired = ({ type, defaultValue }: GraphQLArgument | GraphQLInputField): boolean =>
  isNonNullType(type) && defaultValue === undefined
