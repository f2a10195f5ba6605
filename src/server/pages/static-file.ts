// Files of the pages that the server sends to browsers: each is compressed once, when it is first requested, and has a
// tag by which a browser asks whether its copy is current.

import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

type Encoding = 'br' | 'gzip'
type Content = string | Buffer

/** A file in memory. `compressed` has the encodings that were requested. */
export type StaticFile = {
  type: string
  cacheControl: string
  etag: string
  content: Content
  compressed: Map<Encoding, Promise<Buffer>>
}

/** For a file whose name contains a digest of its content. */
export const IMMUTABLE = 'public, max-age=31536000, immutable'

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** The files of a page, by their paths. */
export type Files = ReadonlyMap<string, StaticFile>

/**
 * Returns a function that reads the files once, and again when `versionOf` returns another version. A failed read is
 * repeated by the next call.
 */
export function cachedFiles(
  read: () => Promise<Files>,
  versionOf: () => Promise<unknown> = async () => null,
): () => Promise<Files> {
  let known: { version: unknown; files: Promise<Files> } | null = null
  return async () => {
    const version = await versionOf()
    if (known && known.version === version) return known.files
    const reading = { version, files: read() }
    known = reading
    reading.files.catch(() => {
      if (known === reading) known = null
    })
    return reading.files
  }
}

/** Headers of every file. */
export const HEADERS = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }

/** Returns the first 96 bits of the SHA-256 hash of the texts, in base64url. */
export const digestOf = (...contents: Content[]): string =>
  contents
    .reduce((hash, content) => hash.update(content).update('\0'), createHash('sha256'))
    .digest('base64url')
    .slice(0, 16)

/** Creates a file. Its type follows from the extension of the name. */
export function createStaticFile(name: string, content: Content, cacheControl: string): StaticFile {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)]
  if (type === undefined) throw new Error(`There is no media type for ${name}.`)
  // The tag is weak, because the compressed and the plain file have the same tag.
  return { type, cacheControl, etag: `W/"${digestOf(content)}"`, content, compressed: new Map() }
}

/** Compresses text of several MB in a second; a higher quality saves 5 % and takes eight times as long. */
const BROTLI_QUALITY = 9

const compress = (encoding: Encoding, content: Content): Promise<Buffer> =>
  encoding === 'br'
    ? promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } })
    : promisify(gzip)(content, { level: 9 })

/** Returns the best encoding that the client accepts; null for none. */
function encodingOf({ headers }: IncomingMessage): Encoding | null {
  const weights = new Map(
    String(headers['accept-encoding'] ?? '')
      .split(',')
      .map((each) => each.toLowerCase().replace(/\s/g, '').split(';q='))
      .map(([name, weight = '1']) => [name, Number(weight)]),
  )
  return (['br', 'gzip'] as const).find((encoding) => (weights.get(encoding) ?? 0) > 0) ?? null
}

async function bodyOf({ content, compressed }: StaticFile, encoding: Encoding | null): Promise<Content> {
  if (encoding === null) return content
  const known = compressed.get(encoding) ?? compress(encoding, content)
  compressed.set(encoding, known)
  return known
}

/** Whether the client already has the file, according to the tags in If-None-Match. */
const hasFile = (tags: string | undefined, { etag }: StaticFile) =>
  tags?.split(',').some((tag) => tag.trim() === '*' || tag.trim() === etag) === true

/** Responds with the file, or with 304 if the client has it. `headers` are those of this file alone. */
export async function answerFile(
  request: IncomingMessage,
  response: ServerResponse,
  file: StaticFile,
  headers: Record<string, string> = {},
): Promise<void> {
  const cached = {
    ...HEADERS,
    etag: file.etag,
    vary: 'accept-encoding',
    'cache-control': file.cacheControl,
    ...headers,
  }
  if (hasFile(request.headers['if-none-match'], file)) return void response.writeHead(304, cached).end()
  const encoding = encodingOf(request)
  const body = await bodyOf(file, encoding)
  response.writeHead(200, {
    ...cached,
    'content-type': file.type,
    'content-length': Buffer.byteLength(body),
    ...(encoding === null ? {} : { 'content-encoding': encoding }),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/**
 * Returns a content security policy that allows no other origin. The WebSocket URLs of the same origin are listed for
 * older browsers, in which 'self' does not include them.
 * @param host the Host header of the request
 * @param directives those of this page alone
 */
export function policyOf(host: string | undefined, directives: Record<string, string>): string {
  const { host: own } = new URL(`http://${host}`)
  const all = {
    'default-src': "'none'",
    'script-src': "'self'",
    'connect-src': `'self' ws://${own} wss://${own}`,
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    ...directives,
  }
  return Object.entries(all)
    .map(([name, value]) => `${name} ${value}`)
    .join('; ')
}
