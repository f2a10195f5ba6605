// Calls a verb with plain JSON: checks the names of its inputs, executes its document, and returns its answer or throws
// its error. Every face calls verbs with this function.

import { OperationTypeNode, type DocumentNode, type ExecutionResult, type GraphQLError } from 'graphql'
import { InvalidInput, type InputIssue } from '../errors.ts'
import { schema } from '../graphql/schema.ts'
import { nearest } from '../text/nearest.ts'
import { readOperation, type Operation } from './operation.ts'
import { VERBS, type VerbName } from './verbs.ts'

/** A verb failed. `details` are the properties of the error type of the API, such as `right` or `limit`. */
export class VerbFailed extends Error {
  override readonly name = 'VerbFailed'
  readonly code: string
  readonly issues: readonly InputIssue[]
  readonly details: Readonly<Record<string, unknown>>
  constructor(
    code: string,
    message: string,
    { issues = [], ...details }: { issues?: readonly InputIssue[]; [detail: string]: unknown } = {},
  ) {
    super(message)
    this.code = code
    this.issues = issues
    this.details = details
  }
}

const textOf = (issues: readonly InputIssue[]) => new InvalidInput([...issues]).message

/** Returns the error of an input at that path. */
export function invalidInput(path: readonly string[], message: string): VerbFailed {
  const issues = [{ path: [...path], message }]
  return new VerbFailed('INVALID_INPUT', textOf(issues), { issues })
}

const operations = new Map<VerbName, Operation>()

/** Returns the operation of a verb, which is read from its document once. */
export function operationOf(verb: VerbName): Operation {
  let operation = operations.get(verb)
  if (!operation) operations.set(verb, (operation = readOperation(schema, VERBS[verb].document)))
  return operation
}

/**
 * Returns the variables of the verb's document.
 * @throws VerbFailed with the code INVALID_INPUT for an unknown name, and names the most similar one
 */
export function variablesOf(verb: VerbName, input: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { inputs } = operationOf(verb)
  const variables: Record<string, unknown> = {}
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(input)) {
    const known = inputs.find((each) => each.name === name)
    if (!known) {
      const similar = nearest(
        name,
        inputs.map((each) => each.name),
      )
      throw invalidInput([name], `${verb} has no such input${similar ? `. Did you mean ${similar}?` : ''}`)
    }
    ;(known.isField ? fields : variables)[name] = value
  }
  return inputs.some(({ isField }) => isField) ? { ...variables, input: fields } : variables
}

/** graphql-js describes a wrong variable as `Variable "$input" got invalid value …; PROBLEM`. */
const WRONG_VALUE = /^Variable "\$\w+" got invalid value [^]*?(?: at "[\w.[\]]+")?; /

const ownIssue = ({ path, message }: InputIssue): InputIssue => ({
  path: path[0] === 'input' ? path.slice(1) : path,
  message: message.replace(WRONG_VALUE, ''),
})

/** Returns the error of a result's errors: the first, with the issues of all. @internal */
export function failureOf(errors: readonly GraphQLError[]): VerbFailed {
  const [{ message, extensions }] = errors as readonly [GraphQLError]
  const { code = 'INTERNAL_SERVER_ERROR', http: _, ...details } = extensions as { code?: string; http?: unknown }
  if (code !== 'INVALID_INPUT') return new VerbFailed(code, message, details)
  const issues = errors.flatMap((error) => (error.extensions.issues ?? []) as InputIssue[]).map(ownIssue)
  return new VerbFailed(code, textOf(issues), { ...details, issues })
}

type UserError = { __typename: string; code: string; message: string; issues?: InputIssue[] }
const isUserError = (value: object): value is UserError => 'code' in value && '__typename' in value

const words = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

/** Names of the input fields that name the object of a field; for other fields, the first text does. */
const NAMED_BY: Readonly<Record<string, readonly string[]>> = {
  conversation: ['conversationId', 'conversationKey'],
  sharedState: ['key'],
}

/** Returns the error of a field without a value: the object does not exist, or the viewer does not see it. */
function missing(field: string, input: Readonly<Record<string, unknown>>): VerbFailed {
  const given = Object.entries(input).filter(([name, value]) => name !== 'as' && typeof value === 'string')
  const [, id] = given.find(([name]) => NAMED_BY[field]?.includes(name)) ?? given[0] ?? []
  return new VerbFailed('NOT_FOUND', `There is no ${words(field)} ${JSON.stringify(id)} that you can see.`)
}

/** Returns the answer in a result. @throws VerbFailed */
export function answerOf(
  verb: VerbName,
  input: Readonly<Record<string, unknown>>,
  { data, errors }: ExecutionResult,
): object {
  if (errors?.length) throw failureOf(errors)
  let value: any = data
  for (const key of operationOf(verb).path) {
    value = value[key]
    if (value === null) throw missing(key, input)
  }
  if (!isUserError(value)) return value
  const { __typename: _, code, message, ...details } = value
  throw new VerbFailed(code, message, details)
}

/** Executes a query or mutation as the caller. */
export type Execute = (
  document: DocumentNode,
  text: string,
  variables: Record<string, unknown>,
) => Promise<ExecutionResult>

/**
 * Calls a query or mutation, and returns its answer.
 * @throws VerbFailed @throws unexpected errors of `execute`
 */
export async function callVerb(
  verb: VerbName,
  input: Readonly<Record<string, unknown>>,
  execute: Execute,
): Promise<object> {
  const { document } = operationOf(verb)
  return answerOf(verb, input, await execute(document, VERBS[verb].document, variablesOf(verb, input)))
}

export const isSubscription = (verb: VerbName): boolean => operationOf(verb).kind === OperationTypeNode.SUBSCRIPTION
