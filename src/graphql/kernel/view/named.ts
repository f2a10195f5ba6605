// `as`: the argument of the fields of Query and Subscription, and the field of the inputs of mutations, that names the
// actor of the whole operation. Finds this actor. The fields that may name one are found once per operation, so an
// operation without `as` costs one look-up.

import {
  getNamedType,
  GraphQLError,
  isInputObjectType,
  Kind,
  valueFromASTUntyped,
  type DocumentNode,
  type GraphQLArgument,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type ValueNode,
} from 'graphql'
import { rootFields } from '../execution/selection.ts'
import type { InputFieldBuilder, ObjectFieldBuilder } from '../builder.ts'

const DEFAULT = 'Defaults to the viewer of the request.'
const KNOWN = 'Fails with UNKNOWN_ACTOR unless it owns a conversation of the tenant, or is or was a participant of one.'
const SAME = 'All root fields of an operation must name the same actor.'

/** The argument `as` of a field that reads. */
export const asArg = ({ arg }: Pick<ObjectFieldBuilder<object>, 'arg'>) => ({
  as: arg.string({ description: `Actor in whose view the operation is answered. ${DEFAULT} ${KNOWN} ${SAME}` }),
})

/** The field `as` of an input. `purpose` says what the actor does; it may add a rule. */
export const asField = (t: InputFieldBuilder, purpose = 'Actor for whom the operation runs.') => ({
  as: t.string({ description: `${purpose} The result is in its view. ${DEFAULT} ${KNOWN} ${SAME}` }),
})

/** The field `as` of the input of a mutation with the option `introducesActor`. */
export const asNewField = (t: InputFieldBuilder, purpose: string) => ({
  as: t.string({ description: `${purpose} The result is in its view. ${DEFAULT} May be a new actor. ${SAME}` }),
})

type Variables = Readonly<Record<string, unknown>>
/**
 * What is executed. `variableValues` are as the client sent them: a value of a wrong type names no actor, and fails
 * later.
 */
type Executed = { schema: GraphQLSchema; document: DocumentNode; variableValues?: Variables | null | undefined }

/** Returns the actor that a root field names; null or undefined for none. */
type Named = (variables: Variables) => unknown

/** The root fields of an operation that accept `as`. */
type Naming = {
  /** One function for each field, with its name; empty if no field can name an actor. */
  fields: { name: string; actor: Named }[]
  /** Whether a mutation of the operation accepts an actor who is not known yet. */
  introduces: boolean
}

const NONE: Named = () => null
const NO_VARIABLES: Variables = {}

const namings = new WeakMap<OperationDefinitionNode, Naming>()

function namingOf(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): Naming {
  let naming = namings.get(operation)
  if (!naming) namings.set(operation, (naming = analyse(schema, document, operation)))
  return naming
}

function analyse(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): Naming {
  const definitions = schema.getRootType(operation.operation)!.getFields()
  const naming: Naming = { fields: [], introduces: false }
  const defaults: Record<string, unknown> = {}
  for (const { variable, defaultValue } of operation.variableDefinitions ?? []) {
    if (defaultValue) defaults[variable.name.value] = valueFromASTUntyped(defaultValue)
  }
  for (const field of rootFields(document, operation)) {
    const definition = definitions[field.name.value]
    const argument = definition?.args.find(acceptsActor)
    if (!definition || !argument) continue
    const given = field.arguments?.find(({ name }) => name.value === argument.name)?.value
    const actor = argument.name === 'as' ? valueAt(given, defaults) : fieldAt(given, defaults)
    naming.fields.push({ name: field.name.value, actor })
    if (definition.extensions.introducesActor) naming.introduces = true
  }
  if (naming.fields.every(({ actor }) => actor === NONE)) naming.fields = []
  return naming
}

/** Whether the argument is `as`, or an input object with the field `as`. @internal */
export function acceptsActor({ name, type }: GraphQLArgument): boolean {
  if (name === 'as') return true
  const input = getNamedType(type)
  return name === 'input' && isInputObjectType(input) && 'as' in input.getFields()
}

/** Returns a function that reads a value, which may be a variable. */
function valueAt(node: ValueNode | undefined, defaults: Variables): Named {
  if (node?.kind === Kind.STRING) return () => node.value
  return node?.kind === Kind.VARIABLE ? variableAt(node.name.value, defaults) : NONE
}

/** Returns a function that reads the field `as` of an input object, which may be a variable. */
function fieldAt(node: ValueNode | undefined, defaults: Variables): Named {
  if (node?.kind === Kind.OBJECT) {
    return valueAt(node.fields.find(({ name }) => name.value === 'as')?.value, defaults)
  }
  if (node?.kind !== Kind.VARIABLE) return NONE
  const input = variableAt(node.name.value, defaults)
  return (variables) => (input(variables) as { as?: unknown } | null | undefined)?.as
}

const variableAt =
  (name: string, defaults: Variables): Named =>
  (variables) =>
    own(variables, name) === undefined ? own(defaults, name) : own(variables, name)

/** Returns the value of a variable. The name may be that of a property of every object, such as "constructor". */
const own = (variables: Variables, name: string): unknown =>
  Object.hasOwn(variables, name) ? variables[name] : undefined

/** Returns the error of an operation whose root fields name different actors. */
function mixedViews(names: readonly string[], actors: readonly string[]): GraphQLError {
  const other = actors.findIndex((actor) => actor !== actors[0])
  const [first, second] = [0, other].map((at) => `${names[at]} is for ${JSON.stringify(actors[at])}`)
  const message =
    `One operation has one view, but ${first}, and ${second}. Send one operation for each actor, or give every root `
    + 'field the same `as`.'
  return new GraphQLError(message, { extensions: { code: 'MIXED_VIEWS' } })
}

/**
 * Returns the actor of a valid operation: the one that its root fields name, or otherwise the requester; and whether
 * the actor may be new.
 * @param requester the actor of the request, for whom a root field without `as` is answered
 * @throws GraphQLError if the root fields have different actors
 */
export function actorOf(
  { schema, document, variableValues: variables }: Executed,
  operation: OperationDefinitionNode,
  requester: string,
): { actor: string; mayBeNew: boolean } {
  const { fields, introduces } = namingOf(schema, document, operation)
  const actors = fields.map(({ actor }) => {
    const named = actor(variables ?? NO_VARIABLES)
    return typeof named === 'string' ? named : requester
  })
  const [first = requester] = actors
  if (actors.some((actor) => actor !== first)) {
    throw mixedViews(
      fields.map(({ name }) => name),
      actors,
    )
  }
  return { actor: first, mayBeNew: introduces }
}
