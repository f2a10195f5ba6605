// The OpenAPI document (3.1) of the REST API, made from the table of verbs and the GraphQL schema. Pure.

import { schema } from '../../graphql/schema.ts'
import { isSubscription, operationOf } from '../call.ts'
import { createJsonSchemas, isRequired, type JsonSchema, type JsonSchemas } from '../json-schema.ts'
import type { Input } from '../operation.ts'
import { VERBS, verbEntries, type Verb, type VerbName } from '../verbs.ts'
import { CONVERSATION, hasBody, isJsonInQuery, otherInputs } from './input.ts'
import { STATUS } from './problem.ts'
import { API } from '../paths.ts'
import { ROUTES } from './route.ts'

const REFERENCES = '#/components/schemas/'

const PROBLEM: JsonSchema = {
  description: 'Problem details (RFC 9457), with the code of the error.',
  type: 'object',
  properties: {
    title: { type: 'string', description: 'Name of the status.' },
    status: { type: 'integer', description: 'HTTP status.' },
    detail: { type: 'string', description: 'Cause and next step, for developers and logs.' },
    code: { type: 'string', description: 'Stable machine-readable code, for example `NOT_FOUND`.' },
    issues: {
      type: 'array',
      description: 'All problems of the input, for the code `INVALID_INPUT`.',
      items: {
        type: 'object',
        properties: {
          path: {
            type: 'array',
            items: { type: 'string' },
            description: 'Path from the root of the input to the value. Empty for the input as a whole.',
          },
          message: { type: 'string', description: 'Problem with the value.' },
        },
        required: ['path', 'message'],
      },
    },
  },
  required: ['title', 'status', 'detail', 'code'],
}

const ACTOR_HEADER = {
  name: 'x-actor',
  in: 'header',
  description: 'Percent-encoded name of the actor. Only for a server without authentication.',
  schema: { type: 'string' },
}
const TENANT_HEADER = {
  name: 'x-tenant',
  in: 'header',
  description: 'Percent-encoded name of the tenant. Only for a server without authentication.',
  schema: { type: 'string' },
}
const IDEMPOTENCY_HEADER = { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } }
const IF_MATCH_HEADER = {
  name: 'If-Match',
  in: 'header',
  description: 'ETag of the conversation that the caller has read. The status is 412 if it has changed since then.',
  schema: { type: 'string' },
}
const LAST_EVENT_HEADER = {
  name: 'Last-Event-ID',
  in: 'header',
  description:
    'Id of the newest event that the client has: its `seq`. An EventSource sends it after a lost connection.',
  schema: { type: 'string' },
}

/** Returns the parameters in the path of a verb. */
const pathParameters = (verb: VerbName, { inputOf }: JsonSchemas): JsonSchema[] =>
  [...VERBS[verb].route.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    if (name === CONVERSATION) {
      const description = 'Id of the conversation, or `key:` followed by its key.'
      return { name, in: 'path', required: true, description, schema: { type: 'string' } }
    }
    const { definition } = operationOf(verb).inputs.find((each) => each.name === name)!
    const { description, ...value } = inputOf(definition)
    return { name, in: 'path', required: true, description, schema: value }
  })

function queryParameter({ name, definition }: Input, { inputOf }: JsonSchemas): JsonSchema {
  const { description, anyOf, ...rest } = inputOf(definition)
  // A URL has no null: an absent parameter means the same.
  const value = { ...rest, ...(anyOf as JsonSchema[] | undefined)?.[0] }
  const own = isJsonInQuery(definition.type)
    ? { content: { 'application/json': { schema: value } } }
    : { schema: value }
  return { name, in: 'query', required: isRequired(definition), description, ...own }
}

function bodyOf(inputs: readonly Input[], { inputOf }: JsonSchemas): JsonSchema {
  const required = inputs.filter(({ definition }) => isRequired(definition)).map(({ name }) => name)
  const body = {
    type: 'object',
    properties: Object.fromEntries(inputs.map(({ name, definition }) => [name, inputOf(definition)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
  return { required: required.length > 0, content: { 'application/json': { schema: body } } }
}

const statuses = [...new Set([400, 401, 412, ...Object.values(STATUS)])].toSorted((a, b) => a - b)

/** Returns the responses of a verb: its answer, and the problems. */
function responsesOf(verb: VerbName, schemas: JsonSchemas): JsonSchema {
  const { type, selection } = operationOf(verb)
  const value = schemas.outputOf(type, selection)
  const ok = isSubscription(verb)
    ? {
        description: 'An event stream. The data of each event is this object; its id, if any, is its `seq`.',
        content: { 'text/event-stream': { schema: value } },
      }
    : { description: 'The answer.', content: { 'application/json': { schema: value } } }
  return { 200: ok, default: { $ref: '#/components/responses/Problem' } }
}

function operationFor(verb: VerbName, schemas: JsonSchemas): JsonSchema {
  const { tag, idempotencyKey, expectedVersion }: Verb = VERBS[verb]
  const { description } = operationOf(verb)
  const inputs = otherInputs(verb)
  const headers = [
    ...(idempotencyKey
      ? [{ ...IDEMPOTENCY_HEADER, description: `The input \`${idempotencyKey.join('.')}\` as a header.` }]
      : []),
    ...(expectedVersion ? [IF_MATCH_HEADER] : []),
    ...(isSubscription(verb) && verb === 'conversationEvents' ? [LAST_EVENT_HEADER] : []),
  ]
  const query = hasBody(verb) ? [] : inputs.map((input) => queryParameter(input, schemas))
  return {
    operationId: verb,
    tags: [tag],
    summary: description.split(/(?<=\.) /, 1)[0],
    description,
    parameters: [...pathParameters(verb, schemas), ...query, ...headers, ACTOR_HEADER, TENANT_HEADER],
    ...(hasBody(verb) && { requestBody: bodyOf(inputs, schemas) }),
    responses: responsesOf(verb, schemas),
  }
}

/** Returns the OpenAPI document of the REST API. */
export function openApiDocument(): JsonSchema {
  const documents = verbEntries().map(([verb]) => operationOf(verb).document)
  const schemas = createJsonSchemas(schema, documents, REFERENCES)
  const paths: Record<string, Record<string, JsonSchema>> = {}
  for (const { verb, method, segments } of ROUTES) {
    const path = `/${segments.join('/')}`
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationFor(verb, schemas) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Colloquy',
      version: '1',
      description: 'Conversations of AI agents and people. Each operation is a verb of the GraphQL API.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: API }],
    tags: [...new Set(verbEntries().map(([, { tag }]) => tag))].map((name) => ({ name })),
    security: [{ token: [] }, {}],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'An API key or a JWT.' } },
      responses: {
        Problem: {
          description: `An error. The status is one of ${statuses.join(', ')}.`,
          content: { 'application/problem+json': { schema: { $ref: `${REFERENCES}Problem` } } },
        },
      },
      schemas: { Problem: PROBLEM, ...schemas.definitions },
    },
  }
}
