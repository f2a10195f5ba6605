// The arguments of a tool: their JSON schema, and the input of the verb that they become. Pure.

import {
  getNamedType,
  getNullableType,
  GraphQLNonNull,
  isInputObjectType,
  type GraphQLArgument,
  type GraphQLInputField,
} from 'graphql'
import { InvalidInput, type InputIssue } from '../../errors.ts'
import { nearest } from '../../text/nearest.ts'
import { invalidInput, operationOf, VerbFailed } from '../call.ts'
import { isRequired, type JsonSchema, type JsonSchemas } from '../json-schema.ts'
import type { VerbName } from '../verbs.ts'
import { conversationOf, type Caller } from './caller.ts'

/** An argument of a tool, or only the path of its input. */
export type Argument = {
  /** Path of the verb's input that it becomes, for example `turn.content`; a number is an index of a list. */
  input: string
  /** Replaces the description of the input. */
  description?: string
  /** Replaces the default of the input. */
  default?: unknown
  /** Whether it must be given, if the input may be absent. */
  isRequired?: boolean
}

/** How the arguments of a tool become the input of its verb. */
export type ToolInput = {
  verb: VerbName
  arguments: Readonly<Record<string, string | Argument>>
  /** The argument `conversation`; absent for a tool without it. `at` is the input that receives the name. */
  conversation?: { isRequired: boolean; description: string; at?: string }
  /** Arguments that the verb does not have, with a default each. Their values are added to the input. */
  ownArguments?: Readonly<Record<string, JsonSchema>>
}

const CONVERSATION = 'conversation'

const argumentOf = (given: string | Argument): Argument => (typeof given === 'string' ? { input: given } : given)

/** Returns the definition of the input at that path. */
function definitionOf(verb: VerbName, input: string): GraphQLArgument | GraphQLInputField {
  const [first, ...rest] = input.split('.').filter((segment) => !/^\d+$/.test(segment))
  let { definition } = operationOf(verb).inputs.find(({ name }) => name === first)!
  for (const segment of rest) {
    const type = getNamedType(definition.type)
    if (!isInputObjectType(type)) throw new Error(`${input} of ${verb} is not an input.`)
    definition = type.getFields()[segment]!
  }
  return definition
}

/** Whether the argument must be given, unless it has a default. */
const isNeeded = (verb: VerbName, { input, isRequired: isOwn }: Argument): boolean =>
  isOwn ?? isRequired(definitionOf(verb, input))

/** Returns the schema of the tool's arguments. `isLimited`: the credential gives access to one conversation only. */
export function schemaOfInput(
  { verb, arguments: given, conversation, ownArguments }: ToolInput,
  schemas: JsonSchemas,
  isLimited: boolean,
): JsonSchema {
  const properties: Record<string, JsonSchema> = {}
  const required: string[] = []
  if (conversation && !isLimited) {
    properties[CONVERSATION] = { type: 'string', description: conversation.description }
    if (conversation.isRequired) required.push(CONVERSATION)
  }
  for (const [name, each] of Object.entries(given)) {
    const { input, description, ...own } = argumentOf(each)
    const definition = definitionOf(verb, input)
    // Null means the same as an absent argument, and some models cannot read a schema with alternatives.
    const type = new GraphQLNonNull(getNullableType(definition.type))
    const { default: initial, ...schema } = schemas.inputOf({ ...definition, type })
    const value = own.default ?? initial
    properties[name] = {
      ...schema,
      ...(description !== undefined && { description }),
      ...(value !== undefined && { default: value }),
    }
    if (value === undefined && isNeeded(verb, argumentOf(each))) required.push(name)
  }
  Object.assign(properties, ownArguments)
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false }
}

/** Sets the value at the path, and creates the objects and lists on the way. */
function put(target: any, [head, ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) target[head!] = value
  else put((target[head!] ??= /^\d+$/.test(rest[0]!) ? [] : {}), rest, value)
}

/** @throws VerbFailed */
function requireText(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw invalidInput([name], value == null ? 'must be given' : 'must be a text that is not empty')
}

/** Returns the names of a tool's arguments for the caller. */
const namesOf = (tool: ToolInput, { conversationId }: Caller): string[] => [
  ...(tool.conversation && conversationId === null ? [CONVERSATION] : []),
  ...Object.keys(tool.arguments),
  ...Object.keys(tool.ownArguments ?? {}),
]

/**
 * Returns the input of the verb.
 * @throws VerbFailed with the code INVALID_INPUT for an unknown or missing argument, and names the most similar one
 */
export function verbInputOf(
  tool: ToolInput,
  caller: Caller,
  args: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const names = namesOf(tool, caller)
  const unknown = Object.keys(args).find((name) => !names.includes(name))
  if (unknown !== undefined) {
    const similar = nearest(unknown, names)
    throw invalidInput([unknown], `the tool has no such argument${similar ? `. Did you mean ${similar}?` : ''}`)
  }
  const input: Record<string, unknown> = {}
  for (const [name, each] of Object.entries(tool.arguments)) {
    const argument = argumentOf(each)
    const value = args[name] ?? argument.default
    if (value == null && isNeeded(tool.verb, argument)) throw invalidInput([name], 'must be given')
    if (value !== undefined) put(input, argument.input.split('.'), value)
  }
  for (const [name, each] of Object.entries(tool.ownArguments ?? {})) input[name] = args[name] ?? each.default
  const { conversation } = tool
  if (!conversation) return input
  const given = caller.conversationId ?? args[CONVERSATION]
  if (given == null && !conversation.isRequired) return input
  for (const [name, value] of Object.entries(conversationOf(requireText(CONVERSATION, given)))) {
    put(input, [...(conversation.at === undefined ? [] : [conversation.at]), name], value)
  }
  return input
}

/** Returns the failure with the names of the tool's arguments in place of the paths of the verb's inputs. */
export function failureOfTool(tool: ToolInput, failure: VerbFailed): VerbFailed {
  if (failure.issues.length === 0) return failure
  const paths = Object.entries(tool.arguments).map(([name, each]) => [name, argumentOf(each).input] as const)
  const issues = failure.issues.map(({ path, message }): InputIssue => {
    const text = path.join('.')
    const argument = paths.find(([, input]) => text === input || text.startsWith(`${input}.`))
    if (argument) return { path: [argument[0], ...text.slice(argument[1].length).split('.').slice(1)], message }
    return /(^|\.)(conversationId|conversationKey|key)$/.test(text)
      ? { path: [CONVERSATION], message }
      : { path, message }
  })
  return new VerbFailed(failure.code, new InvalidInput([...issues]).message, { ...failure.details, issues })
}
