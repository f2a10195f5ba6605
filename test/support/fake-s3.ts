// A small S3-compatible object store. It checks the Signature Version 4 of each request with an implementation of its own,
// made from https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.

import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll } from 'vitest'

export const S3_KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a secret of the test', region: 'test-1' }

/** The only bucket. */
const BUCKET = 'files'

const errorOf = (code: string) => `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code></Error>`

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')

/** Returns the reason to refuse the request; null if its signature is right. */
function problemOf({ method, url, headers }: IncomingMessage, body: Buffer): string | null {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)$/
  const [, id, day, region, signed, signature] = pattern.exec(headers.authorization ?? '') ?? []
  if (id !== S3_KEY.accessKeyId || region !== S3_KEY.region) return 'credential'
  const time = String(headers['x-amz-date'])
  if (
    !time.startsWith(day!)
    || Math.abs(Date.parse(time.replace(/(....)(..)(..)T(..)(..)(..)Z/, '$1-$2-$3T$4:$5:$6Z')) - Date.now()) > 60_000
  )
    return 'time'
  const names = signed!.split(';')
  if (!names.includes('host') || !names.includes('x-amz-content-sha256')) return 'signed headers'
  const payload = String(headers['x-amz-content-sha256'])
  if (payload !== 'UNSIGNED-PAYLOAD' && payload !== sha256(body)) return 'payload'
  const lines = names.map((name) => `${name}:${String(headers[name]).trim()}\n`).join('')
  const canonical = [method, url, '', lines, signed, payload].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  const key = [region, 's3', 'aws4_request'].reduce(hmac, hmac(`AWS4${S3_KEY.secretAccessKey}`, day!))
  return hmac(key, text).toString('hex') === signature ? null : 'signature'
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

/** Starts the object store before the tests, and stops it afterwards. `failures`: number of next requests to fail. */
export function useFakeS3() {
  const objects = new Map<string, Buffer>()
  const state = { failures: 0, url: '', refused: [] as string[] }
  const server = createServer((request, response) => {
    void (async () => {
      const body = await bodyOf(request)
      const problem = problemOf(request, body)
      if (problem !== null) {
        state.refused.push(problem)
        return response.writeHead(403).end()
      }
      if (state.failures > 0) {
        state.failures -= 1
        return response.writeHead(503).end()
      }
      const path = request.url!
      if (!path.startsWith(`/${BUCKET}/`)) return response.writeHead(404).end(errorOf('NoSuchBucket'))
      if (request.method === 'PUT') objects.set(path, body)
      if (request.method === 'PUT') return response.writeHead(200).end()
      const object = objects.get(path)
      if (request.method === 'DELETE') objects.delete(path)
      if (request.method === 'DELETE') return response.writeHead(204).end()
      if (!object) return response.writeHead(404).end(errorOf('NoSuchKey'))
      const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
      if (start === undefined) return response.writeHead(200).end(object)
      response.writeHead(206).end(object.subarray(Number(start), Number(end) + 1))
    })()
  })
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => new Promise((resolve) => server.close(resolve)))
  return { state, objects }
}
