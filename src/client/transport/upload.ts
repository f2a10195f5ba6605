// Uploads a file to a conversation by the REST API, whose path is beside that of the GraphQL endpoint.

import type { Attachment } from '../generated.ts'
import type { ConversationName } from '../verbs/calls.ts'
import { ColloquyError, networkError, type Issue } from './errors.ts'
import type { Endpoint } from './http.ts'
import { linkedSignal } from './retry.ts'

/** A file to upload: a `File` or `Blob`, with its type. */
export type UploadedFile = Blob & { readonly name?: string }

/** Fields of an upload. `as`: see Connection. */
export type Upload = {
  name: ConversationName
  file: UploadedFile
  fileName: string | undefined
  clientId: string
  as: string | undefined
  timeoutMs: number
}

/** The path of the files, beside the last part of the endpoint's path. */
const PATH = 'api/v1/files'

/** Returns the URL of the files for that of the endpoint, which may be a path. @internal */
export const filesUrl = (endpoint: string): string => endpoint.replace(/[^/]*\/?(?:[?#].*)?$/, PATH)

type Answer = { attachment?: Attachment; code?: string; detail?: string; issues?: Issue[] }

/** Returns the attachment of an answer. @throws ColloquyError */
async function attachmentOf(response: Response): Promise<Attachment> {
  const text = await response.text().catch((error: unknown) => {
    throw networkError(error)
  })
  let answer: Answer = {}
  try {
    answer = JSON.parse(text) as Answer
  } catch {
    // An answer of a proxy, for example.
  }
  if (response.ok && answer.attachment) return answer.attachment
  const code = answer.code ?? (response.status >= 500 || response.status === 429 ? 'UNAVAILABLE' : 'BAD_RESPONSE')
  const message = answer.detail ?? `The answer of ${response.url} has the status ${response.status}.`
  throw new ColloquyError(code, message, { issues: answer.issues ?? [] })
}

/** Uploads the file once. @throws ColloquyError */
export async function upload(
  endpoint: Endpoint,
  { name, file, fileName = file.name, clientId, as, timeoutMs }: Upload,
  given?: AbortSignal | null,
): Promise<Attachment> {
  const { token, ...names } = await endpoint.credentials()
  const query = new URLSearchParams({ conversation: 'id' in name ? name.id : `key:${name.key}`, clientId })
  if (fileName) query.set('fileName', fileName)
  if (as !== undefined) query.set('as', as)
  // The header shows that no page of another site sends the request.
  const headers: Record<string, string> = { ...names, 'apollo-require-preflight': '1' }
  if (file.type !== '') headers['content-type'] = file.type
  if (token !== undefined) headers.authorization = `Bearer ${token}`
  const { signal, abort, release } = linkedSignal(given)
  const late = new ColloquyError('TIMEOUT', `The server did not accept the file within ${timeoutMs / 1000} s.`)
  const timer = setTimeout(() => abort(late), timeoutMs)
  try {
    const url = `${filesUrl(endpoint.url)}?${query}`
    return await attachmentOf(await endpoint.fetch(url, { method: 'POST', headers, body: file, signal }))
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw error instanceof ColloquyError ? error : networkError(error)
  } finally {
    clearTimeout(timer)
    release()
  }
}
