// The door of attachments: uploads by POST, and their bytes by GET and HEAD, with the signed URL of the API or with the
// credentials of a viewer who sees the turn. Bytes of users are never interpreted as a page of this origin.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { Deps } from '../../../domain/deps.ts'
import {
  getAttachment,
  keyOf,
  readLinked,
  type Attachment,
} from '../../../domain/conversation/attachment/attachment.ts'
import { FILES_PATH } from '../../../domain/conversation/attachment/file-links.ts'
import { uploadFile, type UploadedFile } from '../../../domain/conversation/attachment/upload-file.ts'
import { getConversationByKey } from '../../../domain/conversation/conversation.ts'
import { authorizeActing } from '../../../domain/kernel/rights/authorize.ts'
import { name, parse } from '../../../domain/kernel/input.ts'
import { actAs, type Viewer } from '../../../domain/kernel/view.ts'
import { noteRefusal } from '../../../graphql/kernel/rights/rights.ts'
import { DomainError, InvalidInput, NotFound } from '../../../errors.ts'
import { VerbFailed } from '../../../faces/call.ts'
import { problemOf } from '../../../faces/rest/problem.ts'
import { failureResponse, noMatchResponse, problemResponse, type RestResponse } from '../../../faces/rest/respond.ts'
import { restForgeryRefusal } from '../guard.ts'
import { searchOf } from '../parameters.ts'
import { sendJson } from '../send-json.ts'
import type { Door } from './door.ts'
import { fileBodyBytes, fileOf } from './file-body.ts'
import { fileHeaders, isUnchanged, rangeOf } from './file-headers.ts'

export const isFilePath = (path: string): boolean => path === FILES_PATH || path.startsWith(`${FILES_PATH}/`)

/** The inputs of an upload, which are parameters of the URL. */
const PARAMETERS = ['conversation', 'fileName', 'clientId', 'as']
const KEY = 'key:'
const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }
/** Size of a file for which an upload costs another point of the rate limit, in bytes. */
const BYTES_PER_POINT = 100_000

/** Returns the problem of an expected error. @throws any other error */
function failureOf(error: unknown): RestResponse {
  if (!(error instanceof DomainError)) return failureResponse(error, {})
  const { code, message, ...details } = error
  return failureResponse(new VerbFailed(code, message, details), {})
}

async function send(response: ServerResponse, answer: RestResponse): Promise<void> {
  if (!response.destroyed) await sendJson(response, answer, answer.body, 0)
}

/** Returns the viewer of the request, or the actor in `as`. @throws InvalidInput @throws NotAllowed */
function viewerOf(viewer: Viewer, query: URLSearchParams): Viewer {
  const as = query.get('as')
  const actor = as === null ? null : parse(name, as)
  if (actor !== null && actor !== viewer.actor) authorizeActing(viewer)
  return actAs(viewer, actor)
}

/** Returns the id of the conversation, which is given by id or as `key:NAME`. @throws InvalidInput @throws NotFound */
async function conversationOf(deps: Deps, viewer: Viewer, given: string | null): Promise<string> {
  if (given === null) throw InvalidInput.at('conversation', 'is required: give the id, or key: and the key')
  if (!given.startsWith(KEY)) return given
  const found = await getConversationByKey(deps, viewer, given.slice(KEY.length))
  if (!found) throw new NotFound('conversation', given)
  return found.id
}

/** Returns the JSON of an attachment, as the API has it. */
function answerOf({ files }: Deps, tenant: string, { id, sha256, bytes, mediaType, ...rest }: Attachment) {
  const { fileName, width, height } = rest
  const { url, expiresAt } = files.links.sign(tenant, id)
  return { id, mediaType, bytes, fileName, width, height, sha256, url, expiresAt }
}

/** @throws VerbFailed if the viewer has used the points of the rate limit */
async function takePoints({ rates }: Deps, { tenant, actor }: Viewer, bytes: number): Promise<void> {
  const retryAfterMs = await rates?.take(`${tenant}\0${actor}`, 1 + Math.floor(bytes / BYTES_PER_POINT))
  if (retryAfterMs == null) return
  const retryAfterSeconds = Math.ceil(retryAfterMs / 1000)
  const message = `You have used the ${rates!.points} points of a minute. Try again after ${retryAfterSeconds} s.`
  throw new VerbFailed('RATE_LIMITED', message, { retryAfterSeconds })
}

/** A request to upload a file. */
export type UploadRequest = { viewer: Viewer; url: string | undefined; contentType: string | undefined; body: Buffer }

async function upload(deps: Deps, given: UploadRequest): Promise<UploadedFile & { viewer: Viewer }> {
  const { url, contentType, body } = given
  const query = searchOf(url)
  const unknown = [...query.keys()].find((each) => !PARAMETERS.includes(each))
  if (unknown !== undefined) throw InvalidInput.at(unknown, `is no parameter. There are ${PARAMETERS.join(', ')}`)
  const viewer = viewerOf(given.viewer, query)
  await takePoints(deps, given.viewer, body.length)
  const file = fileOf(body, contentType)
  const conversationId = await conversationOf(deps, viewer, query.get('conversation'))
  const uploaded = await uploadFile(deps, viewer, {
    conversationId,
    fileName: query.get('fileName') ?? file.fileName,
    clientId: query.get('clientId'),
    mediaType: file.mediaType,
    bytes: file.bytes,
  })
  return { ...uploaded, viewer }
}

/** Returns the answer to an upload: the attachment, or a problem. @throws any unexpected error */
export async function answerUpload(deps: Deps, given: UploadRequest): Promise<RestResponse> {
  try {
    const { attachment, deduplicated, viewer } = await upload(deps, given)
    const body = { attachment: answerOf(deps, viewer.tenant, attachment), deduplicated }
    return { status: deduplicated ? 200 : 201, headers: JSON_HEADERS, body }
  } catch (error) {
    noteRefusal({ deps, viewer: given.viewer }, 'uploadFile', error)
    return failureOf(error)
  }
}

const uploadDoor = (deps: Deps): Door => ({
  bodyBytes: fileBodyBytes(deps.files.limits),
  refusalOf: ({ method, headers }) => restForgeryRefusal(method, headers),
  hasBody: () => true,
  async answer(visit) {
    const { request, response, identity, body, leave } = visit
    const { url, headers } = request
    const given = { viewer: identity.viewer, url, contentType: headers['content-type'], body: body ?? Buffer.alloc(0) }
    await send(response, await answerUpload(deps, given).finally(leave))
  },
})

/** Sends the bytes of the file, or those of the range that the request asks for. */
async function sendFile(
  deps: Deps,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  { tenant, attachment, maxAge }: { tenant: string; attachment: Attachment; maxAge: number },
): Promise<void> {
  const headers = fileHeaders(attachment, maxAge)
  if (isUnchanged(request.headers, headers.etag)) return void response.writeHead(304, headers).end()
  const range = rangeOf(request.headers, attachment.bytes, headers.etag)
  if (range === 'unsatisfiable') {
    const more = { ...headers, 'content-range': `bytes */${attachment.bytes}`, 'content-length': '0' }
    return void response.writeHead(416, more).end()
  }
  const { start, end } = range ?? { start: 0, end: attachment.bytes - 1 }
  const more = {
    ...headers,
    'content-length': String(end - start + 1),
    ...(range && { 'content-range': `bytes ${start}-${end}/${attachment.bytes}` }),
  }
  if (request.method === 'HEAD') return void response.writeHead(range ? 206 : 200, more).end()
  const bytes = await deps.files.store.get(keyOf(tenant, attachment.sha256), range ?? undefined)
  if (!bytes) {
    deps.log.error({ attachmentId: attachment.id }, 'the file store has no file of an attachment')
    return send(response, problemResponse(problemOf(404, 'NOT_FOUND', 'The file store does not have this file.')))
  }
  response.writeHead(range ? 206 : 200, more)
  // A client that closes the connection is no failure. After the head, a failure can only close the connection.
  await pipeline(bytes, response).catch((err: unknown) => {
    if (!response.destroyed) response.destroy()
    deps.log.debug({ err }, 'the transfer of a file was interrupted')
  })
}

const fileDoor = (deps: Deps, id: string): Door => ({
  refusalOf: ({ method, headers }) => restForgeryRefusal(method === 'HEAD' ? 'GET' : method, headers),
  hasBody: () => false,
  async answer({ request, response, identity, leave }) {
    try {
      const viewer = viewerOf(identity.viewer, searchOf(request.url))
      const attachment = await getAttachment(deps, viewer, id).finally(leave)
      if (!attachment) throw new NotFound('attachment', id)
      await sendFile(deps, { request, response }, { tenant: viewer.tenant, attachment, maxAge: 0 })
    } catch (error) {
      await send(response, failureOf(error))
    } finally {
      leave()
    }
  },
})

/** Answers a request with a signed URL, which needs no credentials. */
async function answerLinked(deps: Deps, request: IncomingMessage, response: ServerResponse, id: string) {
  const link = deps.files.links.verify(id, searchOf(request.url))
  if (!link) {
    const detail = 'The signature of the URL is wrong, or the URL has expired. Read the attachment again for a new URL.'
    return send(response, problemResponse(problemOf(403, 'NOT_ALLOWED', detail)))
  }
  const attachment = await readLinked(deps, link)
  if (!attachment) return send(response, problemResponse(problemOf(404, 'NOT_FOUND', 'The file was deleted.')))
  const maxAge = Math.max(0, link.expires - Math.ceil(deps.clock.Date.now() / 1000))
  await sendFile(deps, { request, response }, { tenant: link.tenant, attachment, maxAge })
}

export function createFiles(deps: Deps) {
  const uploads = uploadDoor(deps)
  return {
    /** Returns the door of the request. Answers it, and returns null, if its URL is signed, or its method wrong. */
    async enter(request: IncomingMessage, response: ServerResponse, path: string): Promise<Door | null> {
      const { method = '' } = request
      const id = path.slice(FILES_PATH.length + 1)
      const allowed = path === FILES_PATH ? (['POST'] as const) : (['GET'] as const)
      const isRead = method === 'GET' || method === 'HEAD'
      if (isRead !== (path !== FILES_PATH) || (!isRead && method !== 'POST')) {
        response.shouldKeepAlive = false
        await send(response, noMatchResponse(path, { problem: 'method', allowed }))
        return null
      }
      if (!isRead) return uploads
      if (!searchOf(request.url).has('signature')) return fileDoor(deps, id)
      await answerLinked(deps, request, response, id)
      return null
    },
  }
}
