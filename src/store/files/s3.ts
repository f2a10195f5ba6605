// The file store in an S3-compatible object store. A PUT of an object is atomic, so nothing unfinished is left.

import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { AwsClient } from 'aws4fetch'
import { checkKey, type FileStore } from './file-store.ts'

export type S3Settings = {
  /** URL of the service; the bucket is the first part of the path. */
  endpoint: string
  region: string
  bucket: string
  accessKeyId: string
  secretAccessKey: string
}

/** Maximum time until the service answers, repetitions included, in ms. */
const TIMEOUTS_MS = { PUT: 60_000, GET: 30_000, DELETE: 10_000 }
/** Number of repetitions after an answer of the class 5xx or 429. */
const RETRIES = 3

/** The object store refused a request. The message contains neither the key of the file nor credentials. */
class ObjectStoreFailed extends Error {
  override readonly name = 'ObjectStoreFailed'
}

/** Maximum size of the document of an error that is read, in bytes. */
const ERROR_BYTES = 16_384

/**
 * Returns the code in the document of an error; null if it has none. A missing bucket is a 404, too, so the status alone
 * does not say that there is no such object.
 */
async function codeOf(response: Response): Promise<string | null> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of response.body ?? []) {
    parts.push(part)
    size += part.length
    if (size >= ERROR_BYTES) break
  }
  return /<Code>(\w{1,64})<\/Code>/.exec(String(Buffer.concat(parts)))?.[1] ?? null
}

export function createS3Files({ endpoint, bucket, region, ...credentials }: S3Settings): FileStore {
  const client = new AwsClient({ ...credentials, region, service: 's3', retries: RETRIES, initRetryMs: 100 })
  const base = `${endpoint.replace(/\/+$/, '')}/${encodeURIComponent(bucket)}`

  /** Returns the response; null if the bucket has no such object. */
  async function send(method: 'PUT' | 'GET' | 'DELETE', key: string, init: RequestInit = {}): Promise<Response | null> {
    const abort = new AbortController()
    const timer = setTimeout(() => abort.abort(), TIMEOUTS_MS[method])
    let response: Response
    try {
      response = await client.fetch(`${base}/${checkKey(key)}`, { ...init, method, signal: abort.signal })
    } finally {
      clearTimeout(timer)
    }
    if (response.ok) return response
    const code = await codeOf(response)
    if (method !== 'PUT' && code === 'NoSuchKey') return null
    throw new ObjectStoreFailed(
      `The object store answered ${method} with the status ${response.status}${code === null ? '' : ` (${code})`}.`,
    )
  }

  return {
    async put(key, bytes) {
      // Signed, so that the service refuses bytes that were changed on the way.
      const headers = { 'x-amz-content-sha256': createHash('sha256').update(bytes).digest('hex') }
      const response = await send('PUT', key, { headers, body: bytes as Buffer<ArrayBuffer> })
      await response?.body?.cancel()
    },
    async get(key, range) {
      const response = await send('GET', key, range && { headers: { range: `bytes=${range.start}-${range.end}` } })
      if (!response) return null
      return response.body ? Readable.fromWeb(response.body as ReadableStream) : Readable.from([])
    },
    async delete(key) {
      const response = await send('DELETE', key)
      await response?.body?.cancel()
    },
    deleteUnfinished: async () => 0,
  }
}
