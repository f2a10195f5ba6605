// The headers of a file: what a browser may do with it, its name, its tag, and the range that a request asks for. Pure.

import type { IncomingHttpHeaders } from 'node:http'
import type { Attachment, ByteRange } from '../../../domain/conversation/attachment/attachment.ts'

/**
 * The types that browsers show inside a page, without interpreting markup. No PDF: browsers do not open one under the
 * sandbox of Content-Security-Policy.
 */
const INLINE = new Set([
  ...['image/png', 'image/jpeg', 'image/gif', 'image/webp'],
  ...['audio/mpeg', 'audio/wav', 'video/mp4', 'video/webm'],
])

/** Returns the name as a parameter of Content-Disposition (RFC 6266): in ASCII, and in UTF-8 if that differs. */
function nameParameters(fileName: string): string {
  const ascii = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  if (ascii === fileName) return `; filename="${ascii}"`
  const encoded = encodeURIComponent(fileName.toWellFormed()).replaceAll(
    /['()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `; filename="${ascii}"; filename*=UTF-8''${encoded}`
}

/**
 * Returns the headers of the file without those of its length.
 * @param maxAge time for which the client may use the file without asking again, in seconds
 */
export function fileHeaders({ mediaType, fileName, sha256 }: Attachment, maxAge: number) {
  const disposition = INLINE.has(mediaType) ? 'inline' : 'attachment'
  return {
    'content-type': mediaType.startsWith('text/') ? `${mediaType}; charset=utf-8` : mediaType,
    'content-disposition': disposition + (fileName === null ? '' : nameParameters(fileName)),
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'cross-origin',
    'referrer-policy': 'no-referrer',
    'cache-control': `private, max-age=${maxAge}`,
    'accept-ranges': 'bytes',
    etag: `"${sha256}"`,
  }
}

/** Whether the client has the file already. */
export const isUnchanged = (headers: IncomingHttpHeaders, etag: string): boolean =>
  headers['if-none-match']?.split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim())) === true

/**
 * Returns the range of bytes (RFC 9110 §14.2) of the request. Null for the whole file: the request has no range, several
 * ranges or an invalid one, or the client has another file.
 */
export function rangeOf(
  { range, 'if-range': condition }: IncomingHttpHeaders,
  bytes: number,
  etag: string,
): ByteRange | 'unsatisfiable' | null {
  if (condition !== undefined && condition !== etag) return null
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range ?? '') ?? []
  if (first === '' && last === '') return null
  if (first === '') {
    const length = Math.min(Number(last), bytes)
    return length === 0 ? 'unsatisfiable' : { start: bytes - length, end: bytes - 1 }
  }
  if (last !== '' && Number(last) < Number(first)) return null
  if (Number(first) >= bytes) return 'unsatisfiable'
  return { start: Number(first), end: Math.min(last === '' ? bytes - 1 : Number(last), bytes - 1) }
}
