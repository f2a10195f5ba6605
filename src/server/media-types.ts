// The methods and media types that /graphql accepts, and whether a response is an event stream, as yoga decides it.

import type { IncomingHttpHeaders } from 'node:http'
import type { Refusal } from './refuse.ts'

/** Media types of request bodies that yoga parses. guard.ts rejects forms that a page of another origin could send. */
const BODY_TYPES = new Set([
  'application/json',
  'application/graphql+json',
  'application/graphql',
  'application/x-www-form-urlencoded',
])
const STREAM = 'text/event-stream'
/** Media types of responses. For a result that is not a stream, yoga selects the last one that the client accepts. */
const RESPONSE_TYPES = [STREAM, 'multipart/mixed', 'application/graphql-response+json', 'application/json']

/** Whether an accepted media type, which may have wildcards, includes the media type. */
function includes(accepted: string, type: string): boolean {
  const [[main, sub], [ownMain, ownSub]] = [accepted.split('/'), type.split('/')]
  return (main === '*' || main === ownMain) && (sub === '*' || sub === ownSub)
}

/** Returns the media types of responses that the Accept header includes. Like yoga, this ignores weights. */
function parseAccept(accept: string): string[] {
  const ranges = accept.replaceAll(/\s/g, '').toLowerCase().split(',')
  const accepted = ranges.flatMap((range) => {
    const [type = '', ...parameters] = range.split(';')
    const charset = parameters.find((each) => each.startsWith('charset='))
    return charset === undefined || charset === 'charset=utf-8' ? [type] : []
  })
  return RESPONSE_TYPES.filter((type) => accepted.some((each) => includes(each, type)))
}

/** Results of `parseAccept`, by header. Clients send few different headers. */
const cached = new Map<string, string[]>()
/** Maximum number of cached Accept headers. */
const MAX_CACHED = 100
/** Maximum length of a cached Accept header, in characters. */
const MAX_CACHED_LENGTH = 200

function acceptedTypes(header: string | null | undefined): string[] {
  const accept = header || '*/*'
  let types = cached.get(accept)
  if (!types) {
    types = parseAccept(accept)
    if (cached.size < MAX_CACHED && accept.length <= MAX_CACHED_LENGTH) cached.set(accept, types)
  }
  return types
}

/** Whether the client accepts an event stream, in which the results of a subscription are sent. */
export const acceptsStream = (accept: string | null | undefined) => acceptedTypes(accept).includes(STREAM)

/** Whether the client accepts only an event stream, so that any result is sent as an event. */
export const isStreamOnly = (accept: string | null | undefined) => acceptedTypes(accept).at(-1) === STREAM

/** Returns the refusal of a request by its method and media types, or null. */
export function mediaRefusal(method: string | undefined, headers: IncomingHttpHeaders): Refusal | null {
  if (method === 'OPTIONS') return null
  if (method !== 'GET' && method !== 'POST') {
    const message = `The method ${method} is not supported. Send the operation by POST, or a query by GET.`
    return { status: 405, code: 'METHOD_NOT_ALLOWED', message, allow: 'GET, POST' }
  }
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1)
  if (method === 'POST' && !BODY_TYPES.has(type.trim().toLowerCase())) {
    const message = `The media type ${JSON.stringify(type)} is not supported. Send the operation as application/json.`
    return { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', message }
  }
  if (acceptedTypes(headers.accept).length > 0) return null
  const message =
    `The server cannot answer with ${JSON.stringify(headers.accept)}. `
    + `Accept ${RESPONSE_TYPES.slice(2).join(' or ')}, or ${STREAM} for a subscription.`
  return { status: 406, code: 'NOT_ACCEPTABLE', message }
}
