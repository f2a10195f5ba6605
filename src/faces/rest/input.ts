// Returns the input of a verb from a request to the REST API: the parameters of the path, those of the query (GET,
// DELETE) or the fields of the JSON body (POST, PATCH), and headers. Pure. The verb itself checks the values.

import type { IncomingHttpHeaders } from 'node:http'
import { getNamedType, getNullableType, isInputObjectType, isListType, type GraphQLInputType } from 'graphql'
import { invalidInput, operationOf } from '../call.ts'
import type { Input } from '../operation.ts'
import { VERBS, type Verb, type VerbName } from '../verbs.ts'
import type { Match } from './route.ts'

type Values = Record<string, unknown>

/** The parameter of a path that names a conversation. */
export const CONVERSATION = 'conversation'
const KEY_PREFIX = 'key:'

/** Whether requests of the verb have a body. */
export const hasBody = (verb: VerbName): boolean => /^(POST|PATCH) /.test(VERBS[verb].route)

const pathInputs = (verb: VerbName): string[] =>
  [...VERBS[verb].route.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) =>
    name === CONVERSATION ? ['conversationId', 'conversationKey'] : [name!],
  )

/** Returns the inputs that the query or the body of a request may have: all except those in the path. */
export function otherInputs(verb: VerbName): Input[] {
  const inPath = new Set(pathInputs(verb))
  return operationOf(verb).inputs.filter(({ name }) => !inPath.has(name))
}

/** Whether a value of the type is JSON in the query of a URL. */
export const isJsonInQuery = (type: GraphQLInputType): boolean => {
  const named = getNamedType(type)
  return isInputObjectType(named) || named.name === 'JSON'
}

/** Returns the value of a parameter in a URL. @throws VerbFailed (INVALID_INPUT) */
function valueOf(name: string, texts: readonly string[], given: GraphQLInputType): unknown {
  const type = getNullableType(given)
  if (isJsonInQuery(type)) {
    try {
      return JSON.parse(texts[0]!)
    } catch {
      throw invalidInput([name], 'is not JSON')
    }
  }
  if (isListType(type)) return texts.map((text) => valueOf(name, [text], type.ofType))
  if (texts.length > 1) throw invalidInput([name], 'must not be given more than once')
  const [text] = texts as [string]
  switch (getNamedType(type).name) {
    case 'Int':
    case 'Float':
      if (text.trim() === '' || !Number.isFinite(Number(text))) throw invalidInput([name], 'is not a number')
      return Number(text)
    case 'Boolean':
      if (text !== 'true' && text !== 'false') throw invalidInput([name], 'must be true or false')
      return text === 'true'
    default:
      return text
  }
}

/** Returns the values of the query. Names without an input are kept, so that the verb reports them. */
function ofQuery(verb: VerbName, query: URLSearchParams): Values {
  const inputs = otherInputs(verb)
  const values: Values = {}
  for (const name of new Set(query.keys())) {
    const type = inputs.find((each) => each.name === name)?.definition.type
    values[name] = type ? valueOf(name, query.getAll(name), type) : query.get(name)
  }
  return values
}

/** Returns the values with the value at the path. @throws VerbFailed if there is another value */
function assign(values: Values, [key, ...rest]: readonly string[], value: unknown, header: string): Values {
  const own = values[key!]
  if (rest.length > 0) {
    const inner = typeof own === 'object' && own !== null && !Array.isArray(own) ? (own as Values) : {}
    return { ...values, [key!]: assign(inner, rest, value, header) }
  }
  if (own != null && own !== value) throw invalidInput([key!], `is not the value of the header ${header}`)
  return { ...values, [key!]: value }
}

/** Returns the version of an entity tag: a quoted number. @throws VerbFailed */
function versionOf(tag: string): number {
  const [, digits] = /^"(\d{1,10})"$/.exec(tag) ?? []
  if (digits === undefined) throw invalidInput([], `The header If-Match must be an ETag of this API, such as "3".`)
  return Number(digits)
}

const ofPath = ({ [CONVERSATION]: conversation, ...others }: Match['parameters']): Values => {
  if (conversation === undefined) return others
  return conversation.startsWith(KEY_PREFIX)
    ? { conversationKey: conversation.slice(KEY_PREFIX.length), ...others }
    : { conversationId: conversation, ...others }
}

/**
 * Returns the input of the verb.
 * @param body the parsed body; undefined if there is none
 * @throws VerbFailed with the code INVALID_INPUT
 */
export function inputOf(
  { verb, parameters }: Match,
  query: URLSearchParams,
  body: unknown,
  headers: IncomingHttpHeaders,
): Values {
  const { idempotencyKey, expectedVersion }: Verb = VERBS[verb]
  let values: Values
  if (hasBody(verb)) {
    const [parameter] = query.keys()
    if (parameter !== undefined) throw invalidInput([parameter], 'must be given in the body, not in the URL')
    if (typeof (body ?? {}) !== 'object' || Array.isArray(body))
      throw invalidInput([], 'The body must be a JSON object.')
    values = { ...(body as object) }
  } else {
    if (body !== undefined) throw invalidInput([], 'This request must not have a body.')
    values = ofQuery(verb, query)
  }
  const key = headers['idempotency-key']
  if (key !== undefined) {
    if (!idempotencyKey) throw invalidInput([], `${verb} does not accept the header Idempotency-Key.`)
    values = assign(values, idempotencyKey, String(key), 'Idempotency-Key')
  }
  const tag = headers['if-match']
  if (tag !== undefined) {
    if (!expectedVersion) throw invalidInput([], `${verb} does not accept the header If-Match.`)
    values = assign(values, [expectedVersion], versionOf(tag), 'If-Match')
  }
  const inPath = ofPath(parameters)
  const repeated = pathInputs(verb).find((name) => name in values)
  if (repeated !== undefined) throw invalidInput([repeated], 'is given in the path')
  return { ...values, ...inPath }
}
