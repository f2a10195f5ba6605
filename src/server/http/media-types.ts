// The methods, media types and content encodings that /graphql accepts, and whether a client asks for an event stream.

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
/**
 * Media types of responses. STREAM is first (see `isStreamOnly`): yoga sends a result that is not a stream as an event
 * stream only if the client accepts none of the other types.
 */
const RESPONSE_TYPES = [STREAM, 'multipart/mixed', 'application/graphql-response+json', 'application/json']

/** Whether an accepted media type, which may contain wildcards, includes the type. */
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

/** Results of `parseAccept` by header, cached because clients send few different headers. */
const cached = new Map<string, string[]>()
/** Maximum number of cached Accept headers. */
const MAX_CACHED = 100
/** Maximum length of a cached Accept header, in characters. */
const MAX_CACHED_LENGTH = 200

function acceptedTypes(header: string | undefined): string[] {
  const accept = header || '*/*'
  let types = cached.get(accept)
  if (!types) {
    types = parseAccept(accept)
    if (cached.size < MAX_CACHED && accept.length <= MAX_CACHED_LENGTH) cached.set(accept, types)
  }
  return types
}

/** Whether the client accepts only an event stream, so that any result is sent as an event. */
export const isStreamOnly = (accept: string | undefined) => acceptedTypes(accept).at(-1) === STREAM

/**
 * Whether to answer a subscription with an event stream: the Accept header names the media type of event streams, or
 * includes no other type of response.
 */
export const asksForStream = (accept: string | undefined): boolean =>
  acceptedTypes(accept).includes(STREAM) && (accept?.toLowerCase().includes(STREAM) === true || isStreamOnly(accept))

/** Returns the media type of a Content-Type header, without parameters. */
const mediaTypeOf = (type = '') => type.split(';', 1)[0]!.trim().toLowerCase()

/** Whether the Content-Type is JSON. */
export const isJson = (headers: IncomingHttpHeaders) =>
  ['application/json', 'application/graphql+json'].includes(mediaTypeOf(headers['content-type']))

/** Whether the Content-Encoding says that the body is not encoded. */
const isIdentity = (encoding = '') => encoding.split(',').every((each) => /^\s*(identity)?\s*$/i.test(each))

function encodingRefusal({ 'content-encoding': encoding }: IncomingHttpHeaders): Refusal | null {
  if (isIdentity(encoding)) return null
  const message = `The content encoding ${JSON.stringify(encoding)} is not supported. Send the body without encoding.`
  return { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', message, acceptEncoding: 'identity' }
}

/** Returns the refusal of a body that is not JSON, or is encoded; null for others, and for a request without a body. */
export function jsonBodyRefusal(headers: IncomingHttpHeaders): Refusal | null {
  const type = headers['content-type']
  if (type !== undefined && mediaTypeOf(type) !== 'application/json') {
    const message = `The media type ${JSON.stringify(type)} is not supported. Send the body as application/json.`
    return { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', message }
  }
  return encodingRefusal(headers)
}

/** Returns the refusal of a request to the MCP server because of its method or media types; null for others. */
export function mcpMediaRefusal(method: string | undefined, headers: IncomingHttpHeaders): Refusal | null {
  if (!['GET', 'POST', 'DELETE'].includes(method ?? '')) {
    const message = `The method ${method} is not supported. Send messages of MCP by POST.`
    return { status: 405, code: 'METHOD_NOT_ALLOWED', message, allow: 'GET, POST, DELETE' }
  }
  if (method === 'GET' && !asksForStream(headers.accept)) {
    const message = `This is an MCP server: send messages by POST, or accept ${STREAM}.`
    return { status: 406, code: 'NOT_ACCEPTABLE', message }
  }
  if (method !== 'POST') return null
  return jsonBodyRefusal({ ...headers, 'content-type': headers['content-type'] ?? '' })
}

/** Returns the refusal of a request to AG-UI because of its method or media types; null for others. */
export function aguiMediaRefusal(method: string | undefined, headers: IncomingHttpHeaders): Refusal | null {
  if (method !== 'POST') {
    const message = `The method ${method} is not supported. Send the input of a run by POST.`
    return { status: 405, code: 'METHOD_NOT_ALLOWED', message, allow: 'POST' }
  }
  if (!acceptedTypes(headers.accept).includes(STREAM)) {
    return { status: 406, code: 'NOT_ACCEPTABLE', message: `The events of a run are sent as ${STREAM}. Accept it.` }
  }
  return jsonBodyRefusal({ ...headers, 'content-type': headers['content-type'] ?? '' })
}

/**
 * Returns the refusal of a request whose method, media types or content encoding are not supported; null for other
 * requests.
 */
export function mediaRefusal(method: string | undefined, headers: IncomingHttpHeaders): Refusal | null {
  if (method === 'OPTIONS') return null
  if (method !== 'GET' && method !== 'POST') {
    const message = `The method ${method} is not supported. Send the operation by POST, or a query by GET.`
    return { status: 405, code: 'METHOD_NOT_ALLOWED', message, allow: 'GET, POST' }
  }
  const type = mediaTypeOf(headers['content-type'])
  if (method === 'POST' && !BODY_TYPES.has(type)) {
    const message = `The media type ${JSON.stringify(type)} is not supported. Send the operation as application/json.`
    return { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', message }
  }
  const encoded = encodingRefusal(headers)
  if (encoded) return encoded
  if (acceptedTypes(headers.accept).length > 0) return null
  const message =
    `The server cannot answer with ${JSON.stringify(headers.accept)}. `
    + `Accept ${RESPONSE_TYPES.slice(2).join(' or ')}, or ${STREAM} for a subscription.`
  return { status: 406, code: 'NOT_ACCEPTABLE', message }
}
