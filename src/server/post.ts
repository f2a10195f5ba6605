// The short way of a POST to /graphql: a query or mutation as JSON, in a document that yoga has found sound before. It
// spares yoga's Request and Response, which cost more than most answers do. All that is not plainly so is left to yoga,
// with the body; so is every answer that tells of an error, so that what clients are told of it is said in one place.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { getOperationAST, OperationTypeNode, type ExecutionResult, type GraphQLError } from 'graphql'
import { viewerFrom } from './auth.ts'
import type { Answered, KnownDocuments } from './known-documents.ts'
import type { Yoga } from './yoga.ts'

const BODIES = new Set(['application/json', 'application/json; charset=utf-8', 'application/json;charset=utf-8'])
/** What the answer is, by what is asked for first. Yoga does not look at weights either. */
const ANSWERS = new Map([
  ['*/*', 'application/json; charset=utf-8'],
  ['application/json', 'application/json; charset=utf-8'],
  ['application/graphql-response+json', 'application/graphql-response+json; charset=utf-8'],
])
const PARAMETERS = new Set(['query', 'variables', 'operationName', 'extensions'])

/** The answer's media type, or undefined where the short way is not for that request. */
function wayOf({ url, headers }: IncomingMessage): string | undefined {
  if (url !== '/graphql' || headers['content-length'] === '0' || !BODIES.has(headers['content-type'] ?? '')) return
  // Answers to pages of other origins carry headers of their own.
  if (headers.origin !== undefined) return
  return ANSWERS.get((headers.accept ?? '*/*').split(',', 1)[0]!)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** How to execute it; null where yoga has to look at it. */
function prepare(yoga: Yoga, known: KnownDocuments, headers: IncomingMessage['headers'], body: string) {
  const params: unknown = JSON.parse(body)
  if (!isObject(params)) return null
  for (const name in params) if (!PARAMETERS.has(name)) return null
  const { query, variables, operationName, extensions } = params
  if (typeof query !== 'string' || (operationName != null && typeof operationName !== 'string')) return null
  if ((variables != null && !isObject(variables)) || (extensions != null && !isObject(extensions))) return null
  const document = known.get(query)
  const operation = document && getOperationAST(document, operationName)
  if (!operation || operation.operation === OperationTypeNode.SUBSCRIPTION) return null
  const viewer = viewerFrom((header) => headers[header])
  return async (): Promise<ExecutionResult> => {
    const { schema, contextFactory, execute } = yoga.getEnveloped({ viewer, params })
    return execute({
      schema,
      document,
      operationName,
      variableValues: variables,
      contextValue: await contextFactory(),
    }) as Promise<ExecutionResult>
  }
}

/** Answers a POST whose Content-Length was looked at: node takes no more than that. */
export function answerPost(
  yoga: Yoga,
  known: KnownDocuments,
  mask: (error: unknown) => GraphQLError,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const type = wayOf(request)
  if (!type) return void yoga(request, response)
  const parts: Buffer[] = []

  /** Where servers hand on a body that was read, yoga finds it as `body`. */
  const leave = (answered: Answered) =>
    void yoga(Object.assign(request, { body: Readable.from([Buffer.concat(parts)]) }), response, answered)

  async function answer(): Promise<void> {
    let execute: ReturnType<typeof prepare> = null
    try {
      execute = prepare(yoga, known, request.headers, String(parts.length === 1 ? parts[0] : Buffer.concat(parts)))
    } catch {
      // Broken JSON, a header that names nobody: yoga says what is wrong with it.
    }
    if (!execute) return leave({})
    let result: ExecutionResult
    try {
      result = await execute()
    } catch (error) {
      result = { errors: [mask(error)] }
    }
    if (!result.data || result.errors || result.extensions) return leave({ answer: result })
    const bytes = Buffer.from(JSON.stringify(result))
    response.writeHead(200, { 'content-type': type, 'content-length': bytes.length }).end(bytes)
  }
  request.on('data', (part: Buffer) => void parts.push(part))
  request.on('end', () => void answer())
}
